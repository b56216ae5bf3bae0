package enginetest

import (
	"context"
	"sync"
	"testing"

	"github.com/rackproof/rackproof/provision"
)

// failing is a worker whose change fails on every machine for one cause. It keeps
// what it was told of the changes before.
type failing struct {
	mu       sync.Mutex
	rollouts map[string]provision.Rollout
	released int
}

func (f *failing) Step(ctx context.Context, t provision.Task, rec provision.Recorder) (provision.Facts, error) {
	f.mu.Lock()
	f.rollouts, f.released = t.Rollouts, t.Released
	f.mu.Unlock()
	if err := rec.Record(ctx, provision.ChangeEnded, provision.ChangeResult{Model: "model", Cause: "no such attribute"}); err != nil {
		return nil, err
	}
	return nil, &provision.Stuck{Why: "no such attribute"}
}

func (f *failing) told() (failed, released int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rollouts["model"].Causes["no such attribute"], f.released
}

// testRollouts: what one process learned of a change reaches the worker of the
// next, so that a brake stays on; and that a person let it go reaches it too.
func testRollouts(t *testing.T, open Open) {
	t.Helper()
	state, w := t.TempDir(), NewWorld()
	var id provision.RunID
	for round, want := range []struct{ failed, released int }{{0, 0}, {1, 0}, {0, 1}} {
		work := &failing{}
		e := open(t, state, work, Hooks{})
		ctx, stop := context.WithTimeout(t.Context(), patience)
		done := make(chan error, 1)
		id = submit(t, e, w, Batch(t, "job", 1)) // resumes it
		if round == 2 {
			tell(t, e, id, "", provision.Resumed, provision.Resume{Release: true})
		}
		go func() { done <- e.Serve(ctx) }()
		stuck := 0 // events of GotStuck, those of earlier processes included
		for ev, err := range e.Watch(ctx, id, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Kind == provision.GotStuck {
				stuck++
			}
			if stuck > round {
				break
			}
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if failed, released := work.told(); failed != want.failed || released != want.released {
			t.Errorf("process %d was told of %d failures and %d releases, want %d and %d", round+1, failed, released, want.failed, want.released)
		}
	}
}
