package enginetest

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rackproof/rackproof/provision"
)

// Engine is what the suite tests.
type Engine interface {
	provision.Engine
	provision.Teller
	Close() error
}

// Hooks are called around every event that an engine writes. An error of Before
// keeps the event from being written; after an error of either, the engine is as
// good as killed.
type Hooks struct {
	Before, After func(provision.Event) error
}

// Open opens an engine on a state folder. A nil worker only asks and looks.
type Open func(tb testing.TB, state string, w provision.Worker, h Hooks) Engine

// errKilled is what a killed engine gets for every event.
var errKilled = errors.New("killed by the test")

// patience is how long the suite waits for anything.
const patience = 3 * time.Minute

// Run tests an engine.
func Run(t *testing.T, open Open) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(*testing.T, Open)
	}{
		{"finishes", testFinishes},
		{"killed between every event", testKills},
		{"lost response is not repeated", testLostResponse},
		{"refusal is tried again and then stuck", testRefusal},
		{"cancel and resume", testCancel},
		{"stop takes down what it selects", testStop},
		{"a power event stops the loads of its rack", testPowerEvent},
		{"a deadline holds back, puts down, and is lifted", testUntil},
		{"a deadline ends what is under way", testUntilComes},
		{"hands, then done", testHands},
		{"stuck, then resumed", testStuck},
		{"fault skips to the verdict", testFault},
		{"panic is ours", testPanic},
		{"retest makes a new attempt", testRetest},
		{"parallel", testParallel},
		{"who waits for people holds no place", testNoPlace},
		{"who waits for another holds no place", testYield},
		{"edited batch", testEdit},
		{"brake outlives the process", testRollouts},
		{"one owner", testOwner},
		{"watch", testWatch},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, open)
		})
	}
}

// bench is a worker over a world.
func bench(tb testing.TB, state string, w *World) *provision.Bench {
	tb.Helper()
	b := &provision.Bench{
		State: state, Workflows: []provision.Workflow{w.Workflow()}, Secrets: &provision.Secrets{},
		Log: slog.New(slog.DiscardHandler), Version: "test",
	}
	tb.Cleanup(func() { _ = b.Close() })
	return b
}

// server is an engine that serves until it is stopped.
type server struct {
	Engine
	cancel context.CancelFunc
	done   chan error
	once   sync.Once
	err    error
}

func serve(tb testing.TB, open Open, state string, w *World, h Hooks) *server {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	s := &server{Engine: open(tb, state, bench(tb, state, w), h), cancel: cancel, done: make(chan error, 1)}
	go func() { s.done <- s.Serve(ctx) }()
	tb.Cleanup(func() { _ = s.stop(tb) })
	return s
}

// stop ends serving and returns what Serve returned.
func (s *server) stop(tb testing.TB) error {
	tb.Helper()
	s.once.Do(func() {
		s.cancel()
		select {
		case s.err = <-s.done:
		case <-time.After(patience):
			tb.Error("Serve does not end")
		}
		_ = s.Close()
	})
	return s.err
}

// until waits until the run is as wanted, as a reader of its events sees it.
func until(tb testing.TB, e provision.Engine, id provision.RunID, what string, ok func(*provision.Run) bool) *provision.Run {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	var run provision.Run
	for ev, err := range e.Watch(ctx, id, 0) {
		if err != nil {
			tb.Fatal(err)
		}
		if err := run.Apply(ev); err != nil {
			tb.Fatal(err)
		}
		if ok(&run) {
			return &run
		}
	}
	tb.Fatalf("run %s never came to: %s; it stands at %s", id, what, states(&run))
	return nil
}

func states(r *provision.Run) string {
	var out strings.Builder
	for _, m := range r.Machines {
		out.WriteString(m.Machine.Name + " " + string(m.State) + " at " + m.Step + " (" + m.Why + "); ")
	}
	return out.String()
}

func finished(r *provision.Run) bool { return r.Finished() }

func in(machine string, s provision.State) func(*provision.Run) bool {
	return func(r *provision.Run) bool { m := r.Find(machine); return m != nil && m.State == s }
}

func submit(tb testing.TB, e provision.Engine, w *World, b *provision.Batch) provision.RunID {
	tb.Helper()
	id, err := e.Submit(tb.Context(), b, w.Workflow())
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

func tell(tb testing.TB, e provision.Teller, id provision.RunID, machine string, kind provision.Kind, data any) {
	tb.Helper()
	ev, err := provision.NewEvent(id, machine, kind, data)
	if err != nil {
		tb.Fatal(err)
	}
	if err := e.Tell(tb.Context(), ev); err != nil {
		tb.Fatal(err)
	}
}

// once checks that every act of the given attempt happened exactly once on every
// machine.
func once(tb testing.TB, w *World, machines ...string) {
	tb.Helper()
	acts := w.Acts()
	for _, m := range machines {
		for _, act := range []string{"settings", "reset", "boot", "handover"} {
			if n := acts[m+"/"+act]; n != 1 {
				tb.Errorf("%s/%s happened %d times, want once", m, act, n)
			}
		}
	}
}
