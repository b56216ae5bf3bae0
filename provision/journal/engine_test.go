package journal

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/enginetest"
)

func TestEngine(t *testing.T) {
	enginetest.Run(t, func(tb testing.TB, state string, w provision.Worker, h enginetest.Hooks) enginetest.Engine {
		tb.Helper()
		e, err := Open(tb.Context(), state, Options{Worker: w, Before: h.Before, After: h.After, Backoff: time.Millisecond})
		if err != nil {
			tb.Fatal(err)
		}
		return e
	})
}

// lingering is a worker whose first load is over and looked into until the second has
// begun.
type lingering struct {
	first  sync.Once
	second chan struct{}
}

func (l *lingering) Step(ctx context.Context, t provision.Task, rec provision.Recorder) (provision.Facts, error) {
	if !t.Step.Loads {
		return provision.Facts{provision.FactResult: "passed"}, nil
	}
	lingers := false
	l.first.Do(func() { lingers = true })
	if !lingers {
		close(l.second)
		return nil, nil
	}
	rec.(provision.Unloader).Unloaded()
	select {
	case <-l.second:
		return nil, nil
	case <-ctx.Done():
		return nil, errors.New("the rack's power was not given back")
	}
}

// A load that is down gives its rack's power to the next, though its step goes on.
func TestUnloaded(t *testing.T) {
	work := &lingering{second: make(chan struct{})}
	e, err := Open(t.Context(), t.TempDir(), Options{Worker: work, Backoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	b := enginetest.Batch(t, "job", 2)
	b.Racks = nil // one big machine at a time
	for i := range b.Machines {
		b.Machines[i].LoadedWatts = 10000
	}
	id, err := e.Submit(t.Context(), b, enginetest.NewWorld().Workflow())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- e.Serve(ctx) }()
	ended := map[string]bool{}
	for ev, err := range e.Watch(ctx, id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == provision.StepEnded && ev.Step == "middle" {
			ended[ev.Machine] = true
		}
		if len(ended) == 2 {
			break
		}
	}
	if len(ended) != 2 {
		t.Error("the second machine waited for the power of the first, whose load was down")
	}
	stop()
	if err := errors.Join(<-served, e.Close()); err != nil {
		t.Error(err)
	}
}

// meeting is a worker whose first machine steps aside until the second has come, though
// both need the one slot and the rack's power.
type meeting struct {
	first  sync.Once
	second chan struct{}
}

func (w *meeting) Step(_ context.Context, t provision.Task, _ provision.Recorder) (provision.Facts, error) {
	if !t.Step.Loads {
		return provision.Facts{provision.FactResult: "passed"}, nil
	}
	waits := false
	w.first.Do(func() { waits = true })
	if waits {
		return nil, &provision.Aside{Why: "waits for the other", Wait: func(ctx context.Context) {
			select {
			case <-w.second:
			case <-ctx.Done():
			}
		}}
	}
	select {
	case <-w.second:
	default:
		close(w.second)
	}
	return nil, nil
}

// A step that steps aside holds neither slot nor power, and is begun again as the same try.
func TestAside(t *testing.T) {
	e, err := Open(t.Context(), t.TempDir(), Options{Worker: &meeting{second: make(chan struct{})}, Backoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	b := enginetest.Batch(t, "job", 2)
	b.Racks, b.Limits.Parallel = nil, 1
	for i := range b.Machines {
		b.Machines[i].LoadedWatts = 10000
	}
	id, err := e.Submit(t.Context(), b, enginetest.NewWorld().Workflow())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- e.Serve(ctx) }()
	told, tries := 0, map[string]int{}
	for ev, err := range e.Watch(ctx, id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == provision.Progressed {
			told++
		}
		if ev.Kind == provision.StepEnded && ev.Step == "middle" {
			var done provision.StepDone
			if err := json.Unmarshal(ev.Data, &done); err != nil {
				t.Fatal(err)
			}
			tries[ev.Machine] = done.Tries
		}
		if len(tries) == 2 {
			break
		}
	}
	for name, n := range tries {
		if n != 1 {
			t.Errorf("%s needed %d tries, want one", name, n)
		}
	}
	if len(tries) != 2 || told == 0 {
		t.Errorf("ended: %v, told of the wait: %d", tries, told)
	}
	stop()
	if err := errors.Join(<-served, e.Close()); err != nil {
		t.Error(err)
	}
}
