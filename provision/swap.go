package provision

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rackproof/rackproof/burnin"
)

// ParseSwap reads what --swapped says: the labels of two places, "A1<->B1".
func ParseSwap(s string) ([]string, error) {
	a, b, ok := strings.Cut(s, "<->")
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	if !ok || a == "" || b == "" || strings.EqualFold(a, b) {
		return nil, fmt.Errorf("swapped %q: write the labels of two places, as 'A1<->B1' in quotes", s)
	}
	return []string{a, b}, nil
}

// swapSaid compares the attempt with the one before it: whether the fault went
// with the part or stayed with its place. "" where the two do not tell.
func swapSaid(e *Env, after *burnin.Judgement) string {
	if e.Attempt < 2 || len(e.Repairs) == 0 {
		return ""
	}
	before, err := ReadReport(filepath.Join(filepath.Dir(e.Store.Dir()), strconv.Itoa(e.Attempt-1)))
	if err != nil {
		return ""
	}
	return swapSentence(before, after, e.Repairs[len(e.Repairs)-1])
}

// swapSentence is the one sentence in which a swap retest ends (PEOPLE.md).
func swapSentence(before, after *burnin.Judgement, r Repaired) string {
	f, ok := swapped(before, r)
	if !ok {
		return ""
	}
	n := again(after, f)
	switch {
	case n.went != nil && n.stayed != nil:
		return "" // both are at fault: a swap cannot tell
	case n.stayed != nil:
		return fmt.Sprintf("fault stays with slot %s: it was there with S/N %s, and is with S/N %s", f.Part, f.Serial, n.stayed.Serial)
	case n.went != nil && n.went.Part != f.Part:
		return fmt.Sprintf("fault follows part S/N %s: it was in %s, and is in %s", f.Serial, f.Part, n.went.Part)
	case n.went != nil && len(r.Swapped) > 0:
		return fmt.Sprintf("the parts did not change places: S/N %s is in %s as before", f.Serial, f.Part)
	case n.went == nil && n.well && (len(r.Swapped) > 0 || strings.Contains(strings.ToLower(r.Note), "reseat")):
		return fmt.Sprintf("gone after reseat: watch %s, S/N %s", f.Part, f.Serial)
	}
	return ""
}

// repeated is what a later attempt says of a finding's question.
type repeated struct {
	went   *burnin.Finding // it failed of the same part
	stayed *burnin.Finding // it failed of another part at the same place
	well   bool            // it passed at the same place
}

func again(j *burnin.Judgement, f burnin.Finding) repeated {
	var n repeated
	for i := range j.Findings {
		g := &j.Findings[i]
		if g.Check != f.Check || g.Quantity != f.Quantity {
			continue
		}
		n.well = n.well || g.Part == f.Part && g.Verdict == burnin.Pass
		switch failed := g.Verdict == burnin.Fail; {
		case failed && g.Serial == f.Serial:
			n.went = g
		case failed && g.Part == f.Part && g.Serial != "":
			n.stayed = g
		}
	}
	return n
}

// swapped is the finding that a swap was to explain: the first that failed with
// a serial, at one of the places named, if places were.
func swapped(j *burnin.Judgement, r Repaired) (burnin.Finding, bool) {
	for _, f := range j.Worst() {
		if f.Verdict != burnin.Fail || f.Serial == "" {
			continue
		}
		if len(r.Swapped) == 0 || slices.ContainsFunc(r.Swapped, func(label string) bool { return hasLabel(f.Part, label) }) {
			return f, true
		}
	}
	return burnin.Finding{}, false
}

// hasLabel reports whether a part is the one at a label: "DIMM P1-DIMMA1" is, at
// "P1-DIMMA1".
func hasLabel(part, label string) bool {
	part, label = strings.ToLower(part), strings.ToLower(label)
	return part == label || strings.HasSuffix(part, " "+label)
}
