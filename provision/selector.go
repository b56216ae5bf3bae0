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
