package enginetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision"
)

// World is the machines of a test. It outlives engines, as hardware does.
type World struct {
	Takes time.Duration // of a step, as its workflow says; 0 = not said

	mu     sync.Mutex
	acts   map[string]int // "machine/act": how often it happened
	faults map[string]string
	busy   int
	most   int // machines worked on at once, at most
	gates  map[string]chan struct{}
}

// NewWorld makes machines on which nothing has happened.
func NewWorld() *World {
	return &World{acts: map[string]int{}, faults: map[string]string{}, gates: map[string]chan struct{}{}}
}

// SetFault makes a machine misbehave: "lost-response" (effect, then an error),
// "refuses" (error, no effect), "hands", "stuck", "fault", "panics", "blocks"; ""
// repairs it.
func (w *World) SetFault(machine, fault string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if gate := w.gates[machine]; gate != nil {
		close(gate)
		delete(w.gates, machine)
	}
	w.faults[machine] = fault
	if fault == "blocks" {
		w.gates[machine] = make(chan struct{})
	}
}

// Acts returns how often each act happened, by "machine/act".
func (w *World) Acts() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.acts)
}

// Most returns how many machines were worked on at once, at most.
func (w *World) Most() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most
}

func (w *World) count(key string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.acts[key]
}

func (w *World) fault(machine string) (string, chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.faults[machine], w.gates[machine]
}

func (w *World) enter(d int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy += d
	w.most = max(w.most, w.busy)
}

// step makes one or two acts on a machine. It is done when each has happened once
// more than attempts before.
type step struct {
	world *World
	name  string
	acts  []string
}

func (s step) Name() string { return s.name }

func (s step) key(e *provision.Env, act string) string {
	return fmt.Sprintf("%s#%d/%s", e.Machine.Name, e.Attempt, act)
}

func (s step) Done(_ context.Context, e *provision.Env) (bool, error) {
	for _, a := range s.acts {
		if s.world.count(s.key(e, a)) == 0 {
			return false, nil
		}
	}
	e.Facts["seen_"+s.name] = e.Machine.Name
	return true, nil
}

func (s step) Do(ctx context.Context, e *provision.Env) (provision.Facts, error) {
	s.world.enter(1)
	defer s.world.enter(-1)
	if err := s.misbehave(ctx, e); err != nil {
		return nil, err
	}
	for _, a := range s.acts {
		key := s.key(e, a)
		err := e.Act(ctx, provision.Act{
			Name: a, Poll: time.Millisecond, Deadline: 2 * time.Second,
			Mark: func(context.Context) (string, error) { return fmt.Sprint(s.world.count(key)), nil },
			Seen: func(_ context.Context, mark string) (provision.Sight, error) {
				if fmt.Sprint(s.world.count(key)) == mark {
					return provision.Absent, nil
				}
				return provision.Happened, nil
			},
			Do: func(context.Context) error { return s.world.act(e.Machine.Name, key) },
		})
		if err != nil {
			return nil, err
		}
	}
	return provision.Facts{"did_" + s.name: "yes"}, nil
}

// act changes a machine, or does not, as its fault says.
func (w *World) act(machine, key string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.faults[machine] == "refuses" {
		return errors.New("the machine refuses")
	}
	w.acts[key]++
	if w.faults[machine] == "lost-response" {
		return errors.New("connection reset by peer")
	}
	return nil
}

// misbehave is the fault of a machine in its middle step.
func (s step) misbehave(ctx context.Context, e *provision.Env) error {
	if s.name != "middle" {
		return nil
	}
	fault, gate := s.world.fault(e.Machine.Name)
	switch fault {
	case "hands":
		return &provision.Hands{Why: "a cable is out", Next: "rackproof done " + e.Machine.Name}
	case "stuck":
		return &provision.Stuck{Why: "the BMC is silent", Next: "rackproof resume"}
	case "fault":
		return &provision.Fault{Line: "the machine burns", Why: "smoke was seen"}
	case "panics":
		panic("a step that breaks")
	case "blocks":
		select {
		case <-gate:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// verdict is the last step: it makes the result.
type verdict struct{ world *World }

func (verdict) Name() string { return "verdict" }

func (verdict) Done(_ context.Context, e *provision.Env) (bool, error) {
	return e.Facts[provision.FactResult] != "", nil
}

func (verdict) Do(_ context.Context, e *provision.Env) (provision.Facts, error) {
	f := provision.Facts{provision.FactResult: "passed", provision.FactLine: "PASSED " + e.Machine.Name}
	if e.Facts[provision.FactFault] != "" {
		f[provision.FactResult] = "failed"
	}
	return f, nil
}

// Workflow is what the suite carries out: three steps that act, one that judges.
func (w *World) Workflow() provision.Workflow {
	return provision.Workflow{Name: "test", Steps: []provision.StepInfo{
		{Step: step{w, "first", []string{"settings", "reset"}}, Timeout: time.Minute, Tries: 2, Takes: w.Takes},
		{Step: step{w, "middle", []string{"boot"}}, Timeout: time.Minute, Tries: 2, Takes: w.Takes, Loads: true},
		{Step: step{w, "last", []string{"handover"}}, Timeout: time.Minute, Tries: 2, Takes: w.Takes},
		{Step: verdict{w}, Timeout: time.Minute, Tries: 2, Always: true},
	}}
}

// Batch is n machines, m1, m2 …, all in one rack with power for all.
func Batch(tb testing.TB, name string, n int) *provision.Batch {
	tb.Helper()
	lib := profiles.Open()
	p, err := lib.Profile("a40-4")
	if err != nil {
		tb.Fatal(err)
	}
	s, err := lib.Spec("standard")
	if err != nil {
		tb.Fatal(err)
	}
	b := &provision.Batch{
		Name: name, Profile: p.Name, Spec: s.Name, Workflow: "test",
		Racks:    map[string]provision.Rack{"R1": {KW: 1000}},
		Resolved: map[string][]byte{p.SHA256(): p.Bytes(), s.SHA256(): s.Bytes()},
	}
	for i := range n {
		b.Machines = append(b.Machines, provision.Machine{
			Name: fmt.Sprintf("m%d", i+1), BMC: fmt.Sprintf("192.0.2.%d", i+1), Rack: "R1", U: i + 1, Serial: fmt.Sprintf("S%d", i+1),
			Profile: p.Name, Spec: s.Name, ProfileSHA256: p.SHA256(), SpecSHA256: s.SHA256(), LoadedWatts: 1,
		})
	}
	return b
}
