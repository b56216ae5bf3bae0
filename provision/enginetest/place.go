package enginetest

import (
	"context"
	"sync"
	"testing"

	"github.com/rackproof/rackproof/provision"
)

// yielding is a worker whose first machine in the middle step waits for the others: it
// gives its place to them, as a machine behind a canary does.
type yielding struct {
	mu      sync.Mutex
	waiter  string   // who waits
	order   []string // who had the place in the middle step, in turn
	holders int
	most    int

	others sync.WaitGroup // each in the middle step once, while the first waits
	asked  chan struct{}  // closed when the first wants its place back
}

func (y *yielding) enter(d int, name string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.holders += d
	y.most = max(y.most, y.holders)
	if d > 0 {
		y.order = append(y.order, name)
	}
}

func (y *yielding) first(name string) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.waiter == "" {
		y.waiter = name
	}
	return y.waiter == name
}

func (y *yielding) Step(ctx context.Context, t provision.Task, rec provision.Recorder) (provision.Facts, error) {
	if t.Step.Name != "middle" {
		return provision.Facts{provision.FactResult: "passed"}, nil
	}
	if !y.first(t.Machine.Name) {
		y.enter(1, t.Machine.Name)
		defer y.enter(-1, "")
		y.others.Done()
		select { // it has the place until the first wants it too
		case <-y.asked:
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	back := rec.(provision.Yielder).Yield()
	y.others.Wait()
	close(y.asked)
	if err := back(ctx); err != nil {
		return nil, err
	}
	y.enter(1, t.Machine.Name)
	defer y.enter(-1, "")
	return nil, nil
}

// testYield: with one place, a machine that waits for another in the middle of its step
// keeps nobody from it, and goes on when it has a place again.
func testYield(t *testing.T, open Open) {
	t.Helper()
	y := &yielding{asked: make(chan struct{})}
	y.others.Add(1)
	e := open(t, t.TempDir(), y, Hooks{})
	defer func() { _ = e.Close() }()
	b := Batch(t, "job", 2)
	b.Limits.Parallel = 1
	id := submit(t, e, NewWorld(), b)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- e.Serve(ctx) }()
	until(t, e, id, "finished", finished)
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if y.most != 1 || len(y.order) != 2 || y.order[1] != y.waiter {
		t.Errorf("%d had the only place at once, in the order %v; %s waited", y.most, y.order, y.waiter)
	}
}
