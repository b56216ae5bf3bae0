package journal

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/rackproof/rackproof/provision"
)

// A place that a step gives away is another's, and is waited for again.
func TestPlaceIsGivenAwayAndTakenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := provision.NewGate(&provision.Batch{Limits: provision.Limits{Parallel: 1}})
		mine, other := &place{gate: gate}, &place{gate: gate}
		if err := mine.take(t.Context()); err != nil {
			t.Fatal(err)
		}
		back := recorder{power: func() {}, slot: mine}.Yield()
		if err := other.take(t.Context()); err != nil { // it would wait for ever
			t.Fatal(err)
		}
		again := make(chan error, 1)
		go func() { again <- back(t.Context()) }()
		synctest.Wait()
		if len(again) != 0 {
			t.Error("two hold the only place")
		}
		other.release()
		other.release() // once is enough
		if err := <-again; err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := other.take(ctx); err == nil {
			t.Error("the place was given twice")
		}
		mine.release()
		if err := other.take(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
