package enginetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/provision"
)

// testUntil: before a deadline nothing is begun that could not end by then, what is under
// way at its time is put down, and the next resume goes on without one.
func testUntil(t *testing.T, open Open) {
	t.Helper()
	w := NewWorld()
	w.SetFault("m1", "blocks")
	s := serve(t, open, t.TempDir(), w, Hooks{})
	b := Batch(t, "job", 2)
	b.Until = time.Now().Add(30 * time.Second) // each step may take a minute
	id := submit(t, s, w, b)
	held := func(r *provision.Run) bool {
		return !slices.ContainsFunc(r.Machines, func(m provision.MachineRun) bool { return m.Late == nil })
	}
	run := until(t, s, id, "both held back", held)
	for _, m := range run.Machines {
		if !m.Late.Untouched || m.Step != "first" || !strings.Contains(m.Why, "first was not begun: it may take 1 min 0 s") {
			t.Errorf("%s: %s in %s, untouched %v", m.Machine.Name, m.Why, m.Step, m.Late.Untouched)
		}
	}
	if acts := w.Acts(); !run.Settled() || run.ExitCode(provision.Selector{}) != 5 || len(acts) != 0 {
		t.Errorf("settled %v, exit %d, acts %v", run.Settled(), run.ExitCode(provision.Selector{}), acts)
	}

	tell(t, s, id, "", provision.Resumed, provision.Resume{})
	until(t, s, id, "m2 passed, m1 in the middle", func(r *provision.Run) bool {
		m := r.Find("m1")
		return r.Find("m2").Passed() && m.Step == "middle" && m.Try == 1
	})
	w.SetFault("m1", "")
	until(t, s, id, "m1 passed", in("m1", provision.StatePassed))
	once(t, w, "m1#1", "m2#1")
}

// testUntilComes: at its time a step under way ends, and its machine waits.
func testUntilComes(t *testing.T, open Open) {
	t.Helper()
	w := NewWorld()
	w.SetFault("m1", "blocks")
	w.Takes = time.Millisecond
	s := serve(t, open, t.TempDir(), w, Hooks{})
	b := Batch(t, "job", 1)
	b.Until = time.Now().Add(15 * time.Second)
	id := submit(t, s, w, b)
	run := until(t, s, id, "put down", func(r *provision.Run) bool { return r.Find("m1").Late != nil })
	m := run.Find("m1")
	if m.Step != "middle" || m.Late.Untouched || m.Failed != 0 || !strings.Contains(m.Why, "its load is down") || !run.Settled() {
		t.Errorf("%s in %s, untouched %v, %d tries failed", m.Why, m.Step, m.Late.Untouched, m.Failed)
	}
	w.SetFault("m1", "")
	submit(t, s, w, Batch(t, "job", 1)) // the same batch again resumes it
	until(t, s, id, "passed", in("m1", provision.StatePassed))
	once(t, w, "m1#1")
}
