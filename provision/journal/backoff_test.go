package journal

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/enginetest"
)

// refused is a worker whose first machine fails every try.
type refused struct{}

func (refused) Step(_ context.Context, t provision.Task, _ provision.Recorder) (provision.Facts, error) {
	if t.Machine.Name == "m1" {
		return nil, errors.New("the machine refuses")
	}
	return provision.Facts{provision.FactResult: "passed"}, nil
}

// A machine that waits for its next try keeps nobody from the one place.
func TestBackoffHoldsNoPlace(t *testing.T) {
	e, err := Open(t.Context(), t.TempDir(), Options{Worker: refused{}, Backoff: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	b := enginetest.Batch(t, "job", 2)
	b.Limits.Parallel = 1
	id, err := e.Submit(t.Context(), b, enginetest.NewWorld().Workflow())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- e.Serve(ctx) }()
	over := false
	for ev, err := range e.Watch(ctx, id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if over = ev.Kind == provision.MachineOver && ev.Machine == "m2"; over {
			break
		}
	}
	if !over {
		t.Error("m2 waited for m1, which waits an hour for its next try")
	}
	stop()
	if err := errors.Join(<-served, e.Close()); err != nil {
		t.Error(err)
	}
}
