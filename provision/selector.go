package provision

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Selector chooses machines of a run. The zero Selector chooses all.
type Selector struct {
	Machines []string `json:"machines,omitempty"`
	Racks    []string `json:"racks,omitempty"`
	Only     string   `json:"only,omitempty"` // failed, stuck, hands or incomplete
	Exclude  []string `json:"exclude,omitempty"`
}

// onlyStates are the words of --only.
var onlyStates = map[string]State{
	"failed": StateFailed, "stuck": StateStuck, "hands": StateHands, "incomplete": StateIncomplete,
}

// Check reports a selector that chooses by a word or a name that does not exist.
func (s Selector) Check(b *Batch) error {
	if s.Only != "" {
		if _, ok := onlyStates[s.Only]; !ok {
			return fmt.Errorf("--only %s: choose failed, stuck, hands or incomplete", s.Only)
		}
	}
	names := make([]string, 0, len(b.Machines))
	racks := map[string]bool{}
	for _, m := range b.Machines {
		names = append(names, m.Name)
		racks[m.Rack] = true
	}
	for _, n := range slices.Concat(s.Machines, s.Exclude) {
		if !slices.Contains(names, n) {
			return fmt.Errorf("no machine %q in %s%s", n, b.Name, didYouMean(n, names))
		}
	}
	for _, r := range s.Racks {
		if !racks[r] {
			return fmt.Errorf("no machine in rack %q in %s", r, b.Name)
		}
	}
	return nil
}

// Match reports whether s chooses m.
func (s Selector) Match(m *MachineRun) bool {
	name := m.Machine.Name
	switch {
	case slices.Contains(s.Exclude, name):
		return false
	case len(s.Machines) > 0 && !slices.Contains(s.Machines, name):
		return false
	case len(s.Racks) > 0 && !slices.Contains(s.Racks, m.Machine.Rack):
		return false
	case s.Only == "hands":
		return m.Hands != nil || m.State == StateHands
	case s.Only != "":
		return m.State == onlyStates[s.Only]
	}
	return true
}

// Named is s as the names of the machines of r that it chooses now, so that the
// choice stays when their states change. No machine chosen is an error.
func (s Selector) Named(r *Run) (Selector, error) {
	if s.All() {
		return s, nil
	}
	var names []string
	for i := range r.Machines {
		if s.Match(&r.Machines[i]) {
			names = append(names, r.Machines[i].Machine.Name)
		}
	}
	if len(names) == 0 {
		return s, fmt.Errorf("no machine of %s is chosen%s", r.ID, onlyText(s.Only))
	}
	return Selector{Machines: names}, nil
}

func onlyText(only string) string {
	if only == "" {
		return ""
	}
	return ": none is " + only
}

// All reports whether s chooses everything.
func (s Selector) All() bool {
	return len(s.Machines)+len(s.Racks)+len(s.Exclude) == 0 && s.Only == ""
}

var zeroTime time.Time

func or(s, fallback string) string {
	if strings.TrimSpace(s) == "" {
		return fallback
	}
	return s
}
