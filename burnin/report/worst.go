package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

// Line is the worst value of one quantity over all parts: the line of page 1.
type Line struct {
	burnin.Finding
	Parts int  // how many parts were measured
	Bad   int  // how many of them are not Pass
	Same  bool // all of them, and more than one, measured the same
}

// WorstByQuantity condenses findings to one line per check, quantity and class of
// part: each class has limits of its own. It shows the worst verdict, and of equal
// ones the value nearest to its limit; the worst cell, never a mean. Findings of
// the scopes given only; none given is all.
func WorstByQuantity(fs []burnin.Finding, scopes ...profiles.Scope) []Line {
	var order []string
	worst := map[string]*Line{}
	for _, f := range fs {
		if len(scopes) > 0 && !slices.Contains(scopes, f.Scope) {
			continue
		}
		key := f.Check + "/" + f.Quantity + "/" + string(f.Class)
		l, ok := worst[key]
		if !ok {
			l = &Line{Finding: f}
			worst[key] = l
			order = append(order, key)
		}
		l.Parts++
		l.Same = l.Parts > 1 && (l.Same || l.Parts == 2) && f.Measured == l.Measured && f.Verdict == l.Verdict
		if f.Verdict > burnin.Pass {
			l.Bad++
		}
		if worse(f, l.Finding) {
			l.Finding = f
		}
	}
	lines := make([]Line, 0, len(order))
	for _, key := range order {
		lines = append(lines, *worst[key])
	}
	return lines
}

// CheckLine is the worst of one check: the line of page 1.
type CheckLine struct {
	Line
	Findings int // of this check
}

// WorstByCheck condenses findings to one line per check: the worst verdict, and of
// equal ones the first quantity that was measured against a limit.
func WorstByCheck(fs []burnin.Finding, scopes ...profiles.Scope) []CheckLine {
	var out []CheckLine
	at := map[string]int{}
	for _, l := range WorstByQuantity(fs, scopes...) {
		i, ok := at[l.Check]
		if !ok {
			i = len(out)
			at[l.Check] = i
			out = append(out, CheckLine{Line: l})
		}
		c := &out[i]
		c.Findings += l.Parts
		if l.Verdict > c.Verdict || l.Verdict == c.Verdict && c.Limit == nil && l.Limit != nil {
			c.Line = l
		}
	}
	return out
}

// worse reports whether a says more than b about the same quantity.
func worse(a, b burnin.Finding) bool {
	if a.Verdict != b.Verdict {
		return a.Verdict > b.Verdict
	}
	x, okX := a.Measured.(float64)
	y, okY := b.Measured.(float64)
	if !okX || !okY {
		return false
	}
	if a.Relation == string(profiles.Max) {
		return x > y
	}
	return x < y
}

// Cause is one fault as several machines may have it.
type Cause struct {
	Check    string   `json:"check"`
	Quantity string   `json:"quantity"`
	Class    string   `json:"class"`
	Verdict  string   `json:"verdict"`
	Machines []string `json:"machines"`
	Example  string   `json:"example"` // sentence of the first
}

// Causes groups the first finding of each part that decides a machine's result by
// check, quantity and class of part, most machines first: one list for whoever has
// to act. What follows from a part's first finding is no cause of its own.
func Causes(js []burnin.Judgement) []Cause {
	byKey := map[string]*Cause{}
	causes := []*Cause{}
	for i := range js {
		for _, fs := range burnin.Stories(js[i].Worst()) {
			f := fs[0]
			key := strings.Join([]string{f.Check, f.Quantity, string(f.Class), f.Verdict.String()}, "\x00")
			c, ok := byKey[key]
			if !ok {
				c = &Cause{Check: f.Check, Quantity: f.Quantity, Class: string(f.Class), Verdict: f.Verdict.String(), Example: f.Sentence()}
				byKey[key] = c
				causes = append(causes, c)
			}
			if !slices.Contains(c.Machines, js[i].Machine.Name) {
				c.Machines = append(c.Machines, js[i].Machine.Name)
			}
		}
	}
	slices.SortStableFunc(causes, func(a, b *Cause) int { return cmp.Compare(len(b.Machines), len(a.Machines)) })
	out := make([]Cause, 0, len(causes))
	for _, c := range causes {
		out = append(out, *c)
	}
	return out
}
