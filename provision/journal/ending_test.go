package journal

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/enginetest"
)

// acts is a worker whose first machine is in the middle of an act and whose second waits,
// when the engine is told to end.
type acts struct {
	begun   sync.WaitGroup // both
	left    chan struct{}  // closed when the second has ended
	happens chan struct{}  // closed when the act of the first is over
	waited  error          // why the second ended
	next    error          // what the second act of the first was answered
	cut     error          // of the first's context while the act went on
}

func (w *acts) Step(ctx context.Context, t provision.Task, rec provision.Recorder) (provision.Facts, error) {
	if t.Machine.Name != "m1" {
		w.begun.Done()
		<-ctx.Done()
		w.waited = context.Cause(ctx)
		close(w.left)
		return nil, w.waited
	}
	if err := rec.Record(ctx, provision.Intended, provision.Intent{Act: "flash", Mark: "1"}); err != nil {
		return nil, err
	}
	w.begun.Done()
	<-w.happens
	w.cut = ctx.Err()
	if err := rec.Record(ctx, provision.Acted, provision.Intent{Act: "flash", Mark: "1", Acted: true}); err != nil {
		return nil, err
	}
	w.next = rec.Record(ctx, provision.Intended, provision.Intent{Act: "reset", Mark: "1"})
	return nil, w.next
}

// An engine that is to end lets an act that has begun come to its end, begins no other,
// and ends everything else at once; a cancelled run likewise, and its loads come down.
func TestEndsAtASafePoint(t *testing.T) {
	for _, how := range []string{"ending", "cancelled"} {
		t.Run(how, func(t *testing.T) {
			w := &acts{left: make(chan struct{}), happens: make(chan struct{})}
			w.begun.Add(2)
			ending := make(chan struct{})
			e, err := Open(t.Context(), t.TempDir(), Options{Worker: w, Backoff: time.Millisecond, Ending: ending})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = e.Close() }()
			id, err := e.Submit(t.Context(), enginetest.Batch(t, "job", 2), enginetest.NewWorld().Workflow())
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			served := make(chan error, 1)
			go func() { served <- e.Serve(ctx) }()
			w.begun.Wait()
			want := context.Canceled
			if how == "ending" {
				close(ending)
			} else {
				want = provision.ErrStopped
				if err := e.Cancel(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
			<-w.left
			close(w.happens)
			for ev, err := range e.Watch(ctx, id, 0) {
				if err != nil || ev.Kind == provision.Acted {
					break
				}
			}
			if how == "cancelled" {
				close(ending)
			}
			if err := <-served; err != nil || ctx.Err() != nil {
				t.Fatalf("served: %v, %v", err, ctx.Err())
			}
			run, err := e.Run(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			m := run.Find("m1")
			if w.cut != nil || len(m.Intents) != 1 || !m.Intents["flash"].Acted || len(m.Steps) != 0 || m.Failed != 0 {
				t.Errorf("the act was cut (%v), or more happened: %+v, %d tries failed", w.cut, m.Intents, m.Failed)
			}
			if !errors.Is(w.next, context.Canceled) && !errors.Is(w.next, provision.ErrStopped) {
				t.Errorf("another act was answered %v", w.next)
			}
			if !errors.Is(w.waited, want) {
				t.Errorf("a machine without an act ended with %v, want %v", w.waited, want)
			}
		})
	}
}
