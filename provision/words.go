package provision

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// youFirst is the order in which people want to read machines: first what waits
// for them, last what is well.
var youFirst = []State{StateHands, StateStuck, StateFailed, StateIncomplete, StateRun, StateDeviations, StatePassed}

// Sorted returns the machines that sel chooses, you first, then by rack and from
// the top down.
func (r *Run) Sorted(sel Selector) []*MachineRun {
	var out []*MachineRun
	for i := range r.Machines {
		if sel.Match(&r.Machines[i]) {
			out = append(out, &r.Machines[i])
		}
	}
	slices.SortStableFunc(out, func(a, b *MachineRun) int {
		return cmp.Or(
			cmp.Compare(slices.Index(youFirst, a.State), slices.Index(youFirst, b.State)),
			cmp.Compare(a.Machine.Rack, b.Machine.Rack), cmp.Compare(b.Machine.U, a.Machine.U),
			cmp.Compare(a.Machine.Name, b.Machine.Name))
	})
	return out
}

// Summary is the last line of a batch: "400 machines: 371 PASSED · 6 FAILED · 3
// INCOMPLETE · 20 need you (rackproof hands) · 7 h 12 min · exit 5".
func (r *Run) Summary(sel Selector) string {
	count := map[State]int{}
	total, need, paused := 0, 0, 0
	for i := range r.Machines {
		m := &r.Machines[i]
		if !sel.Match(m) {
			continue
		}
		total++
		switch {
		case m.State == StateHands || m.State == StateStuck:
			need++
		case m.State == StateRun && (m.Stopped || r.Cancelled):
			paused++
		default:
			count[m.State]++
		}
	}
	noun := "machines"
	if total == 1 {
		noun = "machine"
	}
	var parts []string
	for _, s := range []State{StatePassed, StateDeviations, StateFailed, StateIncomplete} {
		if n := count[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if n := count[StateRun]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d under way", n))
	}
	if need > 0 {
		parts = append(parts, fmt.Sprintf("%d need you (rackproof hands)", need))
	}
	if paused > 0 {
		parts = append(parts, fmt.Sprintf("%d stopped (rackproof resume %s)", paused, r.ID))
	}
	parts = append(parts, Took(r.Last.Sub(r.Started)), fmt.Sprintf("exit %d", r.ExitCode(sel)))
	return fmt.Sprintf("%d %s: %s", total, noun, strings.Join(parts, " · "))
}

// Took is a duration as people say it: "7 h 12 min", "4 min 10 s", "8 s".
func Took(d time.Duration) string {
	d = d.Round(time.Second)
	h, m, s := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	switch {
	case h > 0:
		return fmt.Sprintf("%d h %d min", h, m)
	case m > 0:
		return fmt.Sprintf("%d min %d s", m, s)
	default:
		return fmt.Sprintf("%d s", s)
	}
}

// Loaded is the power in kW that machines of the run draw under load now, by
// their profiles, and the sum of the racks' budgets (0 = none stated).
func (r *Run) Loaded() (kw, budget float64) {
	loads := map[string]bool{}
	for _, s := range r.Plan.Steps {
		loads[s.Name] = s.Loads
	}
	for i := range r.Machines {
		if m := &r.Machines[i]; m.State == StateRun && !m.Stopped && m.Try > 0 && loads[m.Step] {
			kw += m.Machine.LoadedWatts / 1000
		}
	}
	for _, rack := range r.Batch.Racks {
		budget += rack.KW
	}
	return kw, budget
}

// Line is what matters of a machine, in one line.
func (m *MachineRun) Line() string {
	if !m.Over() {
		return m.Why
	}
	if m.Hands != nil {
		return m.Hands.Why
	}
	return m.said()
}

// said is the result's line without what a table says beside it: word, name and
// place.
func (m *MachineRun) said() string {
	line := m.Facts[FactLine]
	for _, word := range []string{string(StateDeviations), string(StatePassed), string(StateIncomplete), "FAIL"} {
		if rest, ok := strings.CutPrefix(line, word+" "+m.Machine.Name); ok {
			rest = strings.TrimPrefix(strings.TrimSpace(rest), "("+m.Machine.Where()+")")
			return strings.TrimSpace(rest)
		}
	}
	return line
}
