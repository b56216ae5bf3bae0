package enginetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rackproof/rackproof/provision"
)

func testFinishes(t *testing.T, open Open) {
	t.Helper()
	w, state := NewWorld(), t.TempDir()
	s := serve(t, open, state, w, Hooks{})
	id := submit(t, s, w, Batch(t, "job", 3))
	run := until(t, s, id, "finished", finished)
	if id != "job" {
		t.Errorf("run is called %s", id)
	}
	for _, m := range run.Machines {
		if m.State != provision.StatePassed || m.Why != "PASSED "+m.Machine.Name {
			t.Errorf("%s is %s (%s)", m.Machine.Name, m.State, m.Why)
		}
		if m.Facts["seen_first"] != m.Machine.Name || m.Facts["did_last"] != "yes" {
			t.Errorf("%s: facts %v", m.Machine.Name, m.Facts)
		}
		if len(m.Steps) != 4 {
			t.Errorf("%s: %d steps ended, want 4", m.Machine.Name, len(m.Steps))
		}
	}
	once(t, w, "m1#1", "m2#1", "m3#1")
	if again := submit(t, s, w, Batch(t, "job", 3)); again != id {
		t.Errorf("the same batch again is run %s", again)
	}
	b := Batch(t, "job", 3)
	b.Again = true
	if again := submit(t, s, w, b); again != "job.2" {
		t.Errorf("a new run of the same batch is %s, want job.2", again)
	}
}

func testLostResponse(t *testing.T, open Open) {
	t.Helper()
	w := NewWorld()
	w.SetFault("m1", "lost-response")
	s := serve(t, open, t.TempDir(), w, Hooks{})
	until(t, s, submit(t, s, w, Batch(t, "job", 1)), "passed", in("m1", provision.StatePassed))
	once(t, w, "m1#1")
}

func testRefusal(t *testing.T, open Open) {
	t.Helper()
	w := NewWorld()
	w.SetFault("m1", "refuses")
	s := serve(t, open, t.TempDir(), w, Hooks{})
	id := submit(t, s, w, Batch(t, "job", 1))
	run := until(t, s, id, "stuck", in("m1", provision.StateStuck))
	if m := run.Find("m1"); m.Failed != 2 || m.Next == "" {
		t.Errorf("after %d tries, next %q", m.Failed, m.Next)
	}
	if n := len(w.Acts()); n != 0 {
		t.Errorf("%d acts happened on a machine that refused", n)
	}
	w.SetFault("m1", "")
	tell(t, s, id, "", provision.Resumed, nil)
	until(t, s, id, "passed", in("m1", provision.StatePassed))
	once(t, w, "m1#1")
}

func testCancel(t *testing.T, open Open) {
	t.Helper()
	w := NewWorld()
	w.SetFault("m1", "blocks")
	s := serve(t, open, t.TempDir(), w, Hooks{})
	id := submit(t, s, w, Batch(t, "job", 1))
	until(t, s, id, "in the middle", func(r *provision.Run) bool { m := r.Find("m1"); return m.Step == "middle" && m.Try == 1 })
	other := open(t, stateOf(t, s), nil, Hooks{})
	defer func() { _ = other.Close() }()
	if err := other.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	run := until(t, s, id, "cancelled", func(r *provision.Run) bool { return r.Cancelled })
	if !run.Settled() || run.ExitCode(provision.Selector{}) != 5 {
		t.Errorf("cancelled: settled %v, exit %d", run.Settled(), run.ExitCode(provision.Selector{}))
	}
	w.SetFault("m1", "")
	submit(t, s, w, Batch(t, "job", 1)) // the same batch again resumes it
	until(t, s, id, "passed", in("m1", provision.StatePassed))
	once(t, w, "m1#1")
}

func testStop(t *testing.T, open Open) {
	t.Helper()
	w := NewWorld()
	w.SetFault("m1", "blocks")
	w.SetFault("m2", "blocks")
	s := serve(t, open, t.TempDir(), w, Hooks{})
	b := Batch(t, "job", 2)
	b.Machines[1].Rack = "R2"
	id := submit(t, s, w, b)
	until(t, s, id, "both in the middle", func(r *provision.Run) bool {
		return !slices.ContainsFunc(r.Machines, func(m provision.MachineRun) bool { return m.Step != "middle" || m.Try == 0 })
	})
	tell(t, s, id, "", provision.Stopped, provision.Selector{Racks: []string{"R1"}})
	run := until(t, s, id, "m1 stopped", func(r *provision.Run) bool { return r.Find("m1").Stopped })
	if run.Find("m2").Stopped {
		t.Error("m2 of another rack was stopped too")
	}
	w.SetFault("m2", "")
	until(t, s, id, "m2 passed", in("m2", provision.StatePassed))
	if n := w.Acts()["m1#1/boot"]; n != 0 {
		t.Errorf("m1 went on after stop: %d boots", n)
	}
	w.SetFault("m1", "")
	tell(t, s, id, "", provision.Resumed, nil)
	until(t, s, id, "finished", finished)
	once(t, w, "m1#1", "m2#1")
}

func testPowerEvent(t *testing.T, open Open) {
	t.Helper()
	w := NewWorld()
	for _, m := range []string{"m1", "m2", "m3"} {
		w.SetFault(m, "blocks")
	}
	s := serve(t, open, t.TempDir(), w, Hooks{})
	b := Batch(t, "job", 3)
	b.Machines[2].Rack = "R2"
	id := submit(t, s, w, b)
	until(t, s, id, "all in the middle", func(r *provision.Run) bool {
		return !slices.ContainsFunc(r.Machines, func(m provision.MachineRun) bool { return m.Step != "middle" || m.Try == 0 })
	})
	tell(t, s, id, "m1", provision.PowerFailed, provision.PowerEvent{Rack: "R1", What: "m1: its power supplies lost their redundancy", Machines: []string{"m1"}})
	run := until(t, s, id, "m1 and m2 stopped", func(r *provision.Run) bool { return r.Find("m1").Stopped && r.Find("m2").Stopped })
	if run.Find("m3").Stopped {
		t.Error("m3 of another rack was stopped too")
	}
	w.SetFault("m3", "")
	run = until(t, s, id, "m3 passed", in("m3", provision.StatePassed))
	if n := w.Acts()["m1#1/boot"] + w.Acts()["m2#1/boot"]; n != 0 || run.ExitCode(provision.Selector{}) != 5 {
		t.Errorf("the rack went on after a power event: %d boots, exit %d", n, run.ExitCode(provision.Selector{}))
	}
	w.SetFault("m1", "")
	w.SetFault("m2", "")
	tell(t, s, id, "", provision.Resumed, nil)
	until(t, s, id, "finished", finished)
	once(t, w, "m1#1", "m2#1", "m3#1")
}

func testHands(t *testing.T, open Open) {
	t.Helper()
	w := NewWorld()
	w.SetFault("m1", "hands")
	s := serve(t, open, t.TempDir(), w, Hooks{})
	id := submit(t, s, w, Batch(t, "job", 2))
	run := until(t, s, id, "m1 waits and m2 passed", func(r *provision.Run) bool {
		return in("m1", provision.StateHands)(r) && in("m2", provision.StatePassed)(r)
	})
	if m := run.Find("m1"); m.Owner != provision.OwnerHands || m.Next != "rackproof done m1" || m.Hands == nil {
		t.Errorf("m1: owner %s, next %q", m.Owner, m.Next)
	}
	if code := run.ExitCode(provision.Selector{}); code != 5 {
		t.Errorf("exit %d while somebody is waited for, want 5", code)
	}
	w.SetFault("m1", "")
	tell(t, s, id, "m1", provision.HandsDone, provision.Repaired{Note: "cable in"})
	run = until(t, s, id, "finished", finished)
	if m := run.Find("m1"); m.Attempt != 1 || len(m.Repairs) != 1 || m.Repairs[0].Note != "cable in" {
		t.Errorf("attempt %d, repairs %v", m.Attempt, m.Repairs)
	}
	once(t, w, "m1#1")
}

func testStuck(t *testing.T, open Open) {
	t.Helper()
	w := NewWorld()
	w.SetFault("m1", "stuck")
	s := serve(t, open, t.TempDir(), w, Hooks{})
	id := submit(t, s, w, Batch(t, "job", 1))
	run := until(t, s, id, "stuck", in("m1", provision.StateStuck))
	if !run.Settled() || run.ExitCode(provision.Selector{}) != 5 {
		t.Errorf("stuck: settled %v, exit %d", run.Settled(), run.ExitCode(provision.Selector{}))
	}
	w.SetFault("m1", "")
	submit(t, s, w, Batch(t, "job", 1))
	until(t, s, id, "finished", finished)
	once(t, w, "m1#1")
}

func testFault(t *testing.T, open Open) {
	t.Helper()
	w := NewWorld()
	w.SetFault("m1", "fault")
	s := serve(t, open, t.TempDir(), w, Hooks{})
	run := until(t, s, submit(t, s, w, Batch(t, "job", 1)), "failed", in("m1", provision.StateFailed))
	if code := run.ExitCode(provision.Selector{}); code != 3 {
		t.Errorf("exit %d, want 3", code)
	}
	if n := w.Acts()["m1#1/handover"]; n != 0 {
		t.Error("a step behind the fault was carried out")
	}
}

func testPanic(t *testing.T, open Open) {
	t.Helper()
	w := NewWorld()
	w.SetFault("m1", "panics")
	s := serve(t, open, t.TempDir(), w, Hooks{})
	run := until(t, s, submit(t, s, w, Batch(t, "job", 1)), "broken", func(r *provision.Run) bool { return r.Find("m1").Broken })
	if code := run.ExitCode(provision.Selector{}); code != 1 {
		t.Errorf("exit %d when rackproof itself failed, want 1", code)
	}
}

func testRetest(t *testing.T, open Open) {
	t.Helper()
	w := NewWorld()
	w.SetFault("m1", "fault")
	s := serve(t, open, t.TempDir(), w, Hooks{})
	id := submit(t, s, w, Batch(t, "job", 2))
	until(t, s, id, "finished", finished)
	w.SetFault("m1", "")
	tell(t, s, id, "m1", provision.Retested, provision.Repaired{Note: "module swapped", Part: "GPU SXM3"})
	run := until(t, s, id, "m1 passed", in("m1", provision.StatePassed))
	m1, m2 := run.Find("m1"), run.Find("m2")
	if m1.Attempt != 2 || len(m1.Repairs) != 1 || m1.Repairs[0].Part != "GPU SXM3" {
		t.Errorf("m1: attempt %d, repairs %v", m1.Attempt, m1.Repairs)
	}
	if m2.Attempt != 1 {
		t.Errorf("m2 was touched: attempt %d", m2.Attempt)
	}
	once(t, w, "m1#2", "m2#1")
}

func testParallel(t *testing.T, open Open) {
	t.Helper()
	w := NewWorld()
	s := serve(t, open, t.TempDir(), w, Hooks{})
	b := Batch(t, "job", 6)
	b.Limits.Parallel = 2
	until(t, s, submit(t, s, w, b), "finished", finished)
	if w.Most() > 2 {
		t.Errorf("%d machines at once, want at most 2", w.Most())
	}
}

// With one place, machines that wait for hands and for somebody to look keep nobody from it.
func testNoPlace(t *testing.T, open Open) {
	t.Helper()
	w := NewWorld()
	w.SetFault("m1", "hands")
	w.SetFault("m2", "stuck")
	s := serve(t, open, t.TempDir(), w, Hooks{})
	b := Batch(t, "job", 4)
	b.Limits.Parallel, b.Racks = 1, nil
	for i := range b.Machines {
		b.Machines[i].LoadedWatts = 10000 // one under load at a time
	}
	id := submit(t, s, w, b)
	until(t, s, id, "the others passed", func(r *provision.Run) bool {
		return in("m1", provision.StateHands)(r) && in("m2", provision.StateStuck)(r) && in("m3", provision.StatePassed)(r) && in("m4", provision.StatePassed)(r)
	})
	w.SetFault("m1", "")
	tell(t, s, id, "m1", provision.HandsDone, provision.Repaired{Note: "cable in"})
	until(t, s, id, "m1 passed", in("m1", provision.StatePassed))
	if w.Most() != 1 {
		t.Errorf("%d machines at once, want one", w.Most())
	}
}

func testEdit(t *testing.T, open Open) {
	t.Helper()
	w := NewWorld()
	w.SetFault("m2", "stuck")
	s := serve(t, open, t.TempDir(), w, Hooks{})
	id := submit(t, s, w, Batch(t, "job", 2))
	until(t, s, id, "m1 passed, m2 stuck", func(r *provision.Run) bool {
		return in("m1", provision.StatePassed)(r) && in("m2", provision.StateStuck)(r)
	})
	b := Batch(t, "job", 3)
	b.Machines[0].Serial, b.Machines[1].Serial = "OTHER1", "OTHER2"
	_, err := s.Submit(t.Context(), b, w.Workflow())
	var edit *provision.EditError
	if !errors.As(err, &edit) || !slices.Equal(edit.Edit.Identity, []string{"m1", "m2"}) || !slices.Equal(edit.Edit.Kept, []string{"m1"}) || !slices.Equal(edit.Edit.Added, []string{"m3"}) {
		t.Fatalf("an edited serial: %v (%+v)", err, edit)
	}
	w.SetFault("m2", "")
	b.Confirmed = true
	submit(t, s, w, b)
	run := until(t, s, id, "three finished", func(r *provision.Run) bool { return len(r.Machines) == 3 && r.Finished() })
	if got := run.Find("m1").Machine.Serial; got != "S1" {
		t.Errorf("finished m1 was tested as S1 and now says %s", got)
	}
	if got := run.Find("m2").Machine.Serial; got != "OTHER2" {
		t.Errorf("m2 has serial %s", got)
	}
	once(t, w, "m1#1", "m2#1", "m3#1")
}

func testOwner(t *testing.T, open Open) {
	t.Helper()
	w, state := NewWorld(), t.TempDir()
	w.SetFault("m1", "blocks")
	first := serve(t, open, state, w, Hooks{})
	id := submit(t, first, w, Batch(t, "job", 1))
	until(t, first, id, "in the middle", func(r *provision.Run) bool { m := r.Find("m1"); return m.Step == "middle" && m.Try == 1 })
	second := serve(t, open, state, w, Hooks{})
	served := 0
	until(t, second, id, "seen by the other", func(r *provision.Run) bool { return r.Find("m1").Step == "middle" })
	w.SetFault("m1", "")
	for ev, err := range second.Watch(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == provision.Served {
			served++
		}
		if ev.Kind == provision.MachineOver {
			break
		}
	}
	if served > 1 { // an engine whose workers own no run says nothing of it
		t.Errorf("%d owners of one run", served)
	}
	once(t, w, "m1#1")
}

func testWatch(t *testing.T, open Open) {
	t.Helper()
	w, state := NewWorld(), t.TempDir()
	s := serve(t, open, state, w, Hooks{})
	id := submit(t, s, w, Batch(t, "job", 1))
	until(t, s, id, "finished", finished)
	other := open(t, state, nil, Hooks{})
	defer func() { _ = other.Close() }()
	var all []provision.Event
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for ev, err := range other.Watch(ctx, id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if n := len(all); n > 0 && ev.Seq <= all[n-1].Seq {
			t.Fatalf("event %d behind %d", ev.Seq, all[n-1].Seq)
		}
		if ev.Run != id || ev.At.Location() != time.UTC || ev.At.IsZero() {
			t.Errorf("event %+v", ev)
		}
		all = append(all, ev)
		if ev.Kind == provision.MachineOver {
			break
		}
	}
	half := all[len(all)/2]
	for ev, err := range other.Watch(ctx, id, half.Seq) {
		if err != nil || ev.Seq != all[len(all)/2+1].Seq {
			t.Errorf("the first event behind %d is %d (%v)", half.Seq, ev.Seq, err)
		}
		break
	}
	runs, err := other.Runs(ctx)
	if err != nil || !slices.Equal(runs, []provision.RunID{id}) {
		t.Errorf("runs %v, %v", runs, err)
	}
}

func stateOf(t *testing.T, s *server) string {
	t.Helper()
	d, ok := s.Engine.(interface{ State() string })
	if !ok {
		t.Skip("this engine keeps no state folder that a second process could open")
	}
	return d.State()
}
