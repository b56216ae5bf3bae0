package provision

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
)

// finishedStory is m1 failed and m2 under way, both by profile p1.
func finishedStory(t *testing.T) *story {
	t.Helper()
	s := newStory(t, "m1", "m2").ends("one", nil).ends("two", Facts{FactBootID: "b1"}).ends("report", Facts{FactResult: "failed", FactLine: "FAIL m1 (R1 U01) it burns", FactLadder: `{"why":"x"}`})
	return s.add("m1", 1, MachineOver, nil)
}

func TestCompareSpeaksOfEachMachine(t *testing.T) {
	r := finishedStory(t).fold()
	edited := func(change func(*Batch)) Edit {
		b := *r.Batch
		b.Machines = append([]Machine(nil), r.Batch.Machines...)
		change(&b)
		return Compare(r, &b)
	}
	for _, test := range []struct {
		name   string
		change func(*Batch)
		want   string
		empty  bool
	}{
		{"nothing", func(*Batch) {}, "2 untouched", true},
		{"added, serial", func(b *Batch) {
			b.Machines[1].Serial = "OTHER"
			b.Machines = append(b.Machines, Machine{Name: "m3"}, Machine{Name: "m4"})
		}, "2 added (m3, m4), 1 serial changed (m2): asks, 1 untouched", false},
		{"BMC", func(b *Batch) { b.Machines[1].BMC = "192.0.2.9" }, "1 BMC changed (m2): asks, 1 untouched", false},
		{"profile of a finished one", func(b *Batch) { b.Machines[0].ProfileSHA256 = "new" }, "1 finished, other profile, spec or cables (m1): judged again, nothing burned in, 1 untouched", false},
		{"cables of a finished one", func(b *Batch) { b.Machines[0].Cables = map[string]string{"eno1": "leaf1 Ethernet7"} }, "1 finished, other profile, spec or cables (m1): judged again, nothing burned in, 1 untouched", false},
		{"profile and more of a finished one", func(b *Batch) { b.Machines[0].SpecSHA256, b.Machines[0].U = "new", 9 }, "1 changed but finished (m1): kept as tested, `rackproof retest` tests anew, 1 untouched", true},
	} {
		if e := edited(test.change); e.String() != test.want || e.Empty() != test.empty {
			t.Errorf("%s: %q (empty %v), want %q", test.name, e, e.Empty(), test.want)
		}
	}
}

func TestJudgedAgainBurnsNothing(t *testing.T) {
	s := finishedStory(t)
	old := s.fold()
	b := *old.Batch
	b.Machines = append([]Machine(nil), old.Batch.Machines...)
	b.Machines[0].ProfileSHA256, b.Machines[1].ProfileSHA256 = "new", "new"
	s.step = ""
	s.add("", 0, Edited, Submission{Batch: &b, Plan: old.Plan})
	if m := s.fold().Machines[0]; m.Machine.ProfileSHA256 == "new" || m.State != StateFailed {
		t.Fatalf("an edit alone touched a finished machine: %+v", m)
	}
	s.add("m1", 0, JudgedAgain, Rejudgement{ProfileSHA256: "new"}).add("m2", 0, JudgedAgain, Rejudgement{ProfileSHA256: "new"})
	r := s.fold()
	m := r.Machines[0]
	if m.State != StateRun || m.Step != "report" || m.Attempt != 1 || m.Machine.ProfileSHA256 != "new" || m.Hands != nil || m.Result != "" {
		t.Errorf("judged again: %+v", m)
	}
	if m.Facts[FactBootID] != "b1" || m.Facts[FactResult] != "" || m.Facts[FactLadder] != "" || !strings.HasPrefix(m.Facts[FactJudged], "was FAILED by profile") {
		t.Errorf("facts %v", m.Facts)
	}
	if m := r.Machines[1]; m.Step != "one" || m.Facts[FactJudged] != "" {
		t.Errorf("a machine under way was judged: %+v", m)
	}
	m = s.ends("report", Facts{FactResult: "passed"}).add("m1", 1, MachineOver, nil).fold().Machines[0]
	if m.State != StatePassed || m.Result != burnin.Passed || m.Attempt != 1 {
		t.Errorf("at the end: %+v", m)
	}
}

func TestRetestRemembersWhatWas(t *testing.T) {
	m := finishedStory(t).add("m1", 0, Retested, Repaired{Note: "swapped"}).fold().Machines[0]
	if len(m.Earlier) != 1 || m.Earlier[0] != (PastAttempt{Attempt: 1, State: StateFailed, Result: burnin.Failed, Line: "it burns"}) {
		t.Errorf("earlier %+v", m.Earlier)
	}
}

func TestResumeOfSome(t *testing.T) {
	s := newStory(t, "m1", "m2")
	s.add("m1", 1, GotStuck, Stuck{Why: "x"}).add("m2", 1, GotStuck, Stuck{Why: "x"})
	sel, err := Selector{Only: "stuck", Exclude: []string{"m2"}}.Named(s.fold())
	if err != nil {
		t.Fatal(err)
	}
	r := s.add("", 0, Resumed, Resume{Selector: sel}).fold()
	if r.Machines[0].State != StateRun || r.Machines[1].State != StateStuck {
		t.Errorf("m1 %s, m2 %s", r.Machines[0].State, r.Machines[1].State)
	}
	if _, err := (Selector{Only: "failed"}).Named(r); err == nil || !strings.Contains(err.Error(), "none is failed") {
		t.Errorf("a choice of nothing chooses: %v", err)
	}
}

func TestDurationInJSONHasItsUnit(t *testing.T) {
	var d Duration
	for text, want := range map[string]Duration{`"10m0s"`: Duration(600e9), `3000000000`: Duration(3e9)} {
		if err := d.UnmarshalJSON([]byte(text)); err != nil || d != want {
			t.Errorf("%s: %d, %v", text, d, err)
		}
	}
	if b, err := Duration(90e9).MarshalJSON(); err != nil || string(b) != `"1m30s"` {
		t.Errorf("%s, %v", b, err)
	}
	if err := d.UnmarshalJSON([]byte(`"ten"`)); err == nil {
		t.Error("a word was taken")
	}
}
