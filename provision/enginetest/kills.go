package enginetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/rackproof/rackproof/provision"
)

// testKills ends the engine before and after every event in turn, carries on with
// a new one, and wants the result of a run that nobody disturbed.
func testKills(t *testing.T, open Open) {
	t.Helper()
	total := countEvents(t, open)
	for _, when := range []string{"before", "after"} {
		for n := 1; n <= total; n++ {
			t.Run(fmt.Sprintf("%s event %d of %d", when, n, total), func(t *testing.T) {
				t.Parallel()
				killAt(t, open, n, when == "after")
			})
		}
	}
}

func countEvents(t *testing.T, open Open) int {
	t.Helper()
	w := NewWorld()
	n := 0
	s := serve(t, open, t.TempDir(), w, Hooks{})
	until(t, s, submit(t, s, w, Batch(t, "job", 1)), "finished", func(r *provision.Run) bool { n++; return r.Finished() })
	return n
}

// killAt ends the engine at event n, unless the run ended before.
func killAt(t *testing.T, open Open, n int, after bool) {
	t.Helper()
	w, state := NewWorld(), t.TempDir()
	dead := make(chan struct{})
	var count atomic.Int64
	kill := func(provision.Event) error {
		select {
		case <-dead:
			return errKilled
		default:
		}
		if count.Add(1) == int64(n) {
			close(dead)
			return errKilled
		}
		return nil
	}
	h := Hooks{Before: kill}
	if after {
		h = Hooks{After: kill, Before: func(provision.Event) error {
			select {
			case <-dead:
				return errKilled
			default:
				return nil
			}
		}}
	}
	s := serve(t, open, state, w, h)
	_, err := s.Submit(t.Context(), Batch(t, "job", 1), w.Workflow())
	if err == nil {
		select {
		case <-dead:
		case <-overSoon(t, s):
		}
	} else if !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	_ = s.stop(t)
	select {
	case <-dead:
	default:
		return
	}
	second := serve(t, open, state, w, Hooks{})
	run := until(t, second, submit(t, second, w, Batch(t, "job", 1)), "finished after a kill", finished)
	if m := run.Find("m1"); m.State != provision.StatePassed || m.Attempt != 1 {
		t.Errorf("m1 is %s in attempt %d", m.State, m.Attempt)
	}
	once(t, w, "m1#1")
	_ = second.stop(t)
}

// overSoon closes when the run of s has finished.
func overSoon(t *testing.T, s *server) <-chan struct{} {
	t.Helper()
	over := make(chan struct{})
	go func() {
		defer close(over)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		var run provision.Run
		for ev, err := range s.Watch(ctx, "job", 0) {
			if err != nil || run.Apply(ev) != nil || run.Finished() {
				return
			}
		}
	}()
	return over
}
