package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// Fault is something that can be broken from outside.
type Fault struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"` // what may follow the name, and its default
	Does  string `json:"does"`
	Cold  bool   `json:"cold,omitempty"` // shows at the next power on

	// put breaks it. The note says what a person may want to know, often nothing.
	put func(ctx context.Context, l *Lab, m *Machine, value string) (note string, err error)
	// heal undoes it; nil where the event is over, or only a power cycle helps.
	heal func(ctx context.Context, l *Lab, m *Machine) error
}

// Faults are all faults, in the order of the list that --list prints.
func Faults() []Fault {
	return slices.Concat(pcieFaults(), gpuFaults(), memoryFaults(), kernelFaults(), driveFaults(), bmcFaults(), machineFaults())
}

// NoFault heals what can be healed.
const NoFault = "none"

// ErrNoFault is returned for a name that is not in Faults.
var ErrNoFault = errors.New("no such fault")

// faultNamed finds a fault, or says which is near.
func faultNamed(name string) (Fault, error) {
	all := Faults()
	var names []string
	for _, f := range all {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	near := ""
	if n := profiles.Nearest(name, names); n != "" {
		near = "; did you mean " + n + "?"
	}
	return Fault{}, fmt.Errorf("%w: %s%s (rackproof-lab fault --list)", ErrNoFault, name, near)
}

// Fault puts a fault into a machine, or heals it with NoFault. It returns what a
// person may want to know.
func (l *Lab) Fault(ctx context.Context, machine, name, value string) (string, error) {
	m, err := l.Machine(machine)
	if err != nil {
		return "", err
	}
	if name == NoFault {
		return l.heal(ctx, m)
	}
	f, err := faultNamed(name)
	if err != nil {
		return "", err
	}
	note, err := f.put(ctx, l, m, value)
	if err != nil {
		return "", fmt.Errorf("fault %s: %w", name, err)
	}
	m.note("fault %s", strings.TrimSpace(name+" "+value))
	m.setFault(name)
	m.bmc.wake()
	if f.Cold {
		note = strings.TrimSpace(note + " " + coldNote(m))
	}
	return note, nil
}

// coldNote says when a change of what is plugged in shows.
func coldNote(m *Machine) string {
	if m.On() {
		return "It shows after a power cycle (a reset is enough)."
	}
	return "It shows when the machine is powered on."
}

// heal undoes the faults of a machine, the last one first.
func (l *Lab) heal(ctx context.Context, m *Machine) (string, error) {
	active := m.Faults()
	slices.Reverse(active)
	var errs []error
	var stay []string
	cold := false
	for _, name := range active {
		f, err := faultNamed(name)
		switch {
		case err != nil:
			errs = append(errs, err)
			continue
		case f.heal == nil:
			stay = append(stay, name)
		default:
			if err := f.heal(ctx, l, m); err != nil {
				errs = append(errs, fmt.Errorf("heal %s: %w", name, err))
				continue
			}
			cold = cold || f.Cold
		}
		m.clearFault(name)
	}
	m.note("fault none")
	m.bmc.wake()
	var note []string
	if len(stay) > 0 {
		note = append(note, "What happened stays in counters and logs: "+strings.Join(stay, ", ")+".")
	}
	if cold {
		note = append(note, coldNote(m))
	}
	return strings.Join(note, " "), errors.Join(errs...)
}

// Faults are the names of the faults in the machine, in the order in which they
// came.
func (m *Machine) Faults() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.faults)
}

func (m *Machine) setFault(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.faults, name) {
		m.faults = append(m.faults, name)
	}
}

func (m *Machine) clearFault(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = slices.DeleteFunc(m.faults, func(f string) bool { return f == name })
}
