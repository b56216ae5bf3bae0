package provision

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Cause is one reason why machines of a run wait or failed in a step.
type Cause struct {
	State    State    `json:"state"`
	Step     string   `json:"step"`
	Why      string   `json:"why"`      // without what is one machine's own
	Machines []string `json:"machines"` // in the batch's order
	Of       int      `json:"of"`       // machines chosen
	Racks    []string `json:"racks"`    // of the machines
	Where    string   `json:"where"`    // what the spread of the machines says about where to look
}

func (c Cause) String() string {
	text := fmt.Sprintf("%d of %d %s", len(c.Machines), c.Of, c.State)
	if c.Step != "" {
		text += " in " + c.Step
	}
	if len(c.Machines) > 1 {
		text += " the same way"
	}
	text += ": " + c.Why
	if c.Where != "" {
		text += " (" + c.Where + ")"
	}
	return text
}

// alikeFrom is how many machines must have failed alike before their number says more
// than each of them.
const alikeFrom = 3

// Causes groups the machines that wait, or that a step found at fault, by state, step and
// cause; the largest group first.
func (r *Run) Causes(sel Selector) []Cause {
	byKey := map[string]*Cause{}
	order, total, racks := []*Cause{}, 0, map[string]bool{}
	for i := range r.Machines {
		m := &r.Machines[i]
		if !sel.Match(m) {
			continue
		}
		total++
		racks[m.Machine.Rack] = true
		why := m.Why
		if m.Faulted {
			why = or(m.Facts[FactFault], why)
		} else if m.State != StateStuck && m.State != StateHands {
			continue
		}
		if both := r.swapped(m); both != "" {
			why = both
		} else {
			why = cause(fmt.Errorf("%s", why), m.Machine)
		}
		key := strings.Join([]string{string(m.State), m.Step, why}, "\x00")
		c := byKey[key]
		if c == nil {
			c = &Cause{State: m.State, Step: m.Step, Why: why}
			byKey[key] = c
			order = append(order, c)
		}
		c.Machines = append(c.Machines, m.Machine.Name)
		if !slices.Contains(c.Racks, m.Machine.Rack) {
			c.Racks = append(c.Racks, m.Machine.Rack)
		}
	}
	slices.SortStableFunc(order, func(a, b *Cause) int { return cmp.Compare(len(b.Machines), len(a.Machines)) })
	out := make([]Cause, 0, len(order))
	for _, c := range order {
		c.Of = total
		switch n := len(c.Machines); {
		case n < alikeFrom, c.Step == hands{}.Name(): // a task that was asked for is nobody's fault
		case n == total:
			c.Where = "every machine: firmware, profile or network, not hands"
		case len(c.Racks) == 1 && len(racks) > 1 && c.Racks[0] != "":
			c.Where = "all in rack " + c.Racks[0] + ": look at what they share"
		}
		out = append(out, *c)
	}
	return out
}

// StepTimes is how long a step took on the machines of a run, in the latest attempts.
type StepTimes struct {
	Step     string  `json:"step"`
	Machines int     `json:"machines"`
	Median   float64 `json:"median_seconds"`
	Worst    float64 `json:"worst_seconds"`
	Slowest  string  `json:"slowest"` // machine of Worst
}

func (t StepTimes) String() string {
	text := fmt.Sprintf("%s %s", t.Step, Took(seconds(t.Median)))
	if t.Machines > 1 {
		text += fmt.Sprintf(", longest %s (%s)", Took(seconds(t.Worst)), t.Slowest)
	}
	return text
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// StepTimes measures the steps that have ended, in the order of the plan. The median of an
// even number is the longer of the two in the middle.
func (r *Run) StepTimes(sel Selector) []StepTimes {
	type took struct {
		machine string
		seconds float64
	}
	all := map[string][]took{}
	for i := range r.Machines {
		m := &r.Machines[i]
		if !sel.Match(m) {
			continue
		}
		for _, d := range m.Steps {
			all[d.Step] = append(all[d.Step], took{m.Machine.Name, d.Seconds})
		}
	}
	out := []StepTimes{}
	for _, s := range r.Plan.Steps {
		of := all[s.Name]
		if len(of) == 0 {
			continue
		}
		slices.SortStableFunc(of, func(a, b took) int { return cmp.Compare(a.seconds, b.seconds) })
		last := of[len(of)-1]
		out = append(out, StepTimes{Step: s.Name, Machines: len(of), Median: of[len(of)/2].seconds, Worst: last.seconds, Slowest: last.machine})
	}
	return out
}
