package provision

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rackproof/rackproof/burnin"
)

// worklistEntry is what people are to do about a machine that failed, or nil. Of
// the findings that failed, the first with a ladder leads. The ladder goes on
// where the attempts before left it: each one that failed in the same way has
// used up a rung.
func worklistEntry(m Machine, dir string, attempt int, j *burnin.Judgement) *Hands {
	for _, f := range j.Worst() {
		if f.Verdict != burnin.Fail || len(f.Advice) == 0 {
			continue
		}
		rung := min(sameBefore(dir, attempt, f.ID), len(f.Advice)-1)
		h := &Hands{
			Do: f.Advice[rung:], Where: or(m.Where(), m.Name) + ", " + f.Part,
			Ladder: fmt.Sprintf("%d of %d", rung+1, len(f.Advice)),
			Why:    burnin.OneLine(f.Sentence()),
			Next:   "rackproof done " + m.Name,
			Knows:  fmt.Sprintf("attempt %d measures it again", attempt+1),
		}
		if retest := h.Do[0].Retest; retest != "" {
			h.Knows += ": " + retest
		}
		return h
	}
	return nil
}

// sameBefore counts the attempts right before this one that failed by the same
// finding. dir is the folder of this attempt.
func sameBefore(dir string, attempt int, id string) int {
	n := 0
	for a := attempt - 1; a > 0; a-- {
		j, err := ReadReport(filepath.Join(filepath.Dir(dir), strconv.Itoa(a)))
		if err != nil || !slices.ContainsFunc(j.Findings, func(f burnin.Finding) bool { return f.ID == id && f.Verdict == burnin.Fail }) {
			break
		}
		n++
	}
	return n
}

// faultEntry is the worklist entry of a machine on which a step found a fault.
func faultEntry(e *Env) *Hands {
	return &Hands{
		Where: or(e.Machine.Where(), e.Machine.Name), Why: e.Facts[FactFault], Next: "rackproof done " + e.Machine.Name,
		Do:    []burnin.Advice{{Do: or(e.Facts[FactFaultDo], e.Facts[FactFault]), Minutes: 10, Who: OwnerHands}},
		Knows: "the next attempt asks host and BMC again", Ladder: "1 of 1",
	}
}

// Chore is one line of the worklist.
type Chore struct {
	Run     RunID  `json:"run"`
	Machine string `json:"machine"`
	Rack    string `json:"rack,omitempty"`
	U       int    `json:"u,omitempty"`
	State   State  `json:"state"`
	Hands   Hands  `json:"hands"`
}

// Chores lists what waits for people in a run, of the machines that sel chooses, by
// rack and from the top of the rack to its bottom, as one walks.
func Chores(r *Run, sel Selector) []Chore {
	var out []Chore
	for i := range r.Machines {
		m := &r.Machines[i]
		if !sel.Match(m) {
			continue
		}
		c := Chore{Run: r.ID, Machine: m.Machine.Name, Rack: m.Machine.Rack, U: m.Machine.U, State: m.State}
		switch {
		case m.Hands != nil:
			c.Hands = *m.Hands
		case m.State == StateStuck:
			c.Hands = Hands{Why: m.Why, Next: m.Next, Where: or(m.Machine.Where(), m.Machine.Name), Knows: "it asks again on resume"}
			if m.Do != "" {
				c.Hands.Do = []burnin.Advice{{Do: strings.TrimSuffix(m.Do, "."), Minutes: 5, Who: OwnerHands}}
			}
		default:
			continue
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b Chore) int {
		return cmp.Or(cmp.Compare(a.Rack, b.Rack), cmp.Compare(b.U, a.U), cmp.Compare(a.Machine, b.Machine))
	})
	return out
}
