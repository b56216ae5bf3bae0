package provision

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
)

// story makes events of one machine in order, a minute apart.
type story struct {
	t      *testing.T
	events []Event
	step   string
	at     time.Time
}

func newStory(t *testing.T, machines ...string) *story {
	t.Helper()
	s := &story{t: t, at: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)}
	b := &Batch{Name: "job"}
	for i, m := range machines {
		b.Machines = append(b.Machines, Machine{Name: m, BMC: m, Rack: "R1", U: i + 1, Serial: "S" + m, Spec: "standard"})
	}
	s.add("", 0, Submitted, Submission{Batch: b, Plan: Plan{Name: "test", Version: 1, Steps: []PlanStep{
		{Name: "one"}, {Name: "two", Loads: true}, {Name: "report", Always: true},
	}}})
	return s
}

func (s *story) add(machine string, attempt int, kind Kind, data any) *story {
	s.t.Helper()
	e, err := NewEvent("job", machine, kind, data)
	if err != nil {
		s.t.Fatal(err)
	}
	s.at = s.at.Add(time.Minute)
	e.Seq, e.At, e.Attempt, e.Step = Seq(len(s.events)+1), s.at, attempt, s.step
	s.events = append(s.events, e)
	return s
}

// ends starts and ends a step of m1.
func (s *story) ends(step string, facts Facts) *story {
	s.t.Helper()
	s.step = step
	s.add("m1", 1, StepStarted, Try{Try: 1})
	return s.add("m1", 1, StepEnded, StepDone{Facts: facts})
}

func (s *story) fold() *Run {
	s.t.Helper()
	r, err := Fold(s.events)
	if err != nil {
		s.t.Fatal(err)
	}
	return &r
}

func TestFoldToAResult(t *testing.T) {
	for _, test := range []struct {
		facts Facts
		state State
		exit  int
	}{
		{Facts{FactResult: "passed"}, StatePassed, 0},
		{Facts{FactResult: "passed_with_deviations"}, StateDeviations, 0},
		{Facts{FactResult: "failed"}, StateFailed, 3},
		{Facts{FactResult: "incomplete"}, StateIncomplete, 4},
		{Facts{}, StateIncomplete, 4},                         // no word is never a pass
		{Facts{FactResult: "PASSED?"}, StateIncomplete, 4},    // nor is another word
		{Facts{FactResult: "", "x": "y"}, StateIncomplete, 4}, // nor an empty one
	} {
		s := newStory(t, "m1").ends("one", nil).ends("two", nil).ends("report", test.facts)
		if r := s.fold(); r.Finished() || !r.Machines[0].Runnable() || r.Machines[0].Step != "" {
			t.Errorf("over before its end: %+v", r.Machines[0])
		}
		r := s.add("m1", 1, MachineOver, nil).fold()
		if m := r.Machines[0]; m.State != test.state || r.ExitCode(Selector{}) != test.exit || !r.Finished() {
			t.Errorf("%v: %s, exit %d", test.facts, m.State, r.ExitCode(Selector{}))
		}
	}
}

func TestFaultIsNeverAPass(t *testing.T) {
	s := newStory(t, "m1").ends("one", nil)
	s.step = "two"
	s.add("m1", 1, StepStarted, Try{Try: 1}).add("m1", 1, StepFailed, Failure{Error: "smoke", Line: "it burns", Fault: true, Do: "put it out"})
	if m := s.fold().Machines[0]; m.Step != "report" || !m.Runnable() {
		t.Fatalf("after a fault: step %q, %s", m.Step, m.State)
	}
	m := s.ends("report", Facts{FactResult: "passed"}).add("m1", 1, MachineOver, nil).fold().Machines[0]
	if m.State != StateFailed || m.Facts[FactFault] != "it burns" || m.Facts[FactFaultDo] != "put it out" {
		t.Errorf("a machine at fault is %s: %v", m.State, m.Facts)
	}
}

func TestIntentsOutliveWhatIsNotDecided(t *testing.T) {
	s := newStory(t, "m1")
	s.step = "one"
	s.add("m1", 1, StepStarted, Try{Try: 1})
	s.add("m1", 1, Intended, Intent{Act: "settings", Mark: "a"}).add("m1", 1, Acted, Intent{Act: "settings", Mark: "a"})
	s.add("m1", 1, Intended, Intent{Act: "reset", Mark: "b"})
	if in := s.fold().Machines[0].Intents; !in["settings"].Acted || in["reset"].Acted || in["reset"].Mark != "b" {
		t.Errorf("intents %v", in)
	}
	in := s.add("m1", 1, StepFailed, Failure{Error: "x"}).fold().Machines[0].Intents
	if _, kept := in["settings"]; kept || in["reset"].Mark != "b" {
		t.Errorf("after a failed try: %v; want the act that happened gone and the open one kept", in)
	}
	if in := s.ends("one", nil).fold().Machines[0].Intents; len(in) != 0 {
		t.Errorf("after the step: %v", in)
	}
}

func TestRetestKeepsTheChain(t *testing.T) {
	s := newStory(t, "m1", "m2").ends("one", Facts{FactBIOSFound: `{"a":1}`, FactBootID: "b1"}).ends("two", nil).ends("report", Facts{FactResult: "failed"})
	s.add("m1", 1, MachineOver, nil)
	s.add("m1", 0, HandsDone, Repaired{Note: "cords out 60 s"})
	m := s.fold().Machines[0]
	if m.Attempt != 2 || m.State != StateRun || m.Step != "one" || len(m.Repairs) != 1 || m.Repairs[0].Note != "cords out 60 s" {
		t.Errorf("after done: %+v", m)
	}
	if m.Facts[FactBIOSFound] == "" || m.Facts[FactBootID] != "" {
		t.Errorf("facts of the new attempt: %v; want what was found on arrival, nothing else", m.Facts)
	}
	s.step = "one"
	if m := s.add("m1", 1, StepEnded, StepDone{Facts: Facts{"late": "x"}}).fold().Machines[0]; m.Step != "one" || m.Facts["late"] != "" {
		t.Errorf("an event of the attempt before moved the new one: %+v", m)
	}
	if m := s.add("m1", 0, Retested, Repaired{}).fold().Machines[0]; m.Attempt != 2 {
		t.Errorf("a retest of a machine under way made attempt %d", m.Attempt)
	}
}

func TestUnknownKindsPassAndBrokenEventsDoNot(t *testing.T) {
	s := newStory(t, "m1").add("m1", 1, "something-of-later", map[string]int{"x": 1})
	if m := s.fold().Machines[0]; m.State != StateRun {
		t.Errorf("state %s", m.State)
	}
	s.events[0].Data = json.RawMessage(`{"batch":7}`)
	if _, err := Fold(s.events); err == nil || !strings.Contains(err.Error(), "event 1 (submitted)") {
		t.Errorf("a broken event: %v", err)
	}
}

func TestExitPrecedence(t *testing.T) {
	run := func(ms ...MachineRun) *Run { return &Run{Machines: ms} }
	passed := MachineRun{State: StatePassed, Result: burnin.Passed}
	failed := MachineRun{State: StateFailed, Result: burnin.Failed}
	open := MachineRun{State: StateIncomplete, Result: burnin.Incomplete}
	hands, stuck := MachineRun{State: StateHands}, MachineRun{State: StateStuck}
	broken := MachineRun{State: StateStuck, Broken: true}
	for _, test := range []struct {
		run  *Run
		want int
	}{
		{run(passed), 0},
		{run(passed, open), 4},
		{run(open, failed, passed), 3},
		{run(failed, hands), 5},
		{run(failed, stuck), 5},
		{run(hands, broken, failed), 1},
		{run(MachineRun{State: StateRun}), 5},
	} {
		if got := test.run.ExitCode(Selector{}); got != test.want {
			t.Errorf("%v: exit %d, want %d", test.run.Machines, got, test.want)
		}
	}
}

func TestSummary(t *testing.T) {
	r := &Run{ID: "job", Started: time.Unix(0, 0), Last: time.Unix(7*3600+12*60, 0)}
	add := func(n int, m MachineRun) {
		for range n {
			r.Machines = append(r.Machines, m)
		}
	}
	add(371, MachineRun{State: StatePassed, Result: burnin.Passed})
	add(6, MachineRun{State: StateFailed, Result: burnin.Failed})
	add(3, MachineRun{State: StateIncomplete, Result: burnin.Incomplete})
	add(12, MachineRun{State: StateHands})
	add(8, MachineRun{State: StateStuck})
	want := "400 machines: 371 PASSED · 6 FAILED · 3 INCOMPLETE · 20 need you (rackproof hands) · 7 h 12 min · exit 5"
	if got := r.Summary(Selector{}); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestSortedYouFirst(t *testing.T) {
	r := &Run{}
	for _, m := range []struct {
		name  string
		u     int
		state State
	}{{"ok", 40, StatePassed}, {"run", 39, StateRun}, {"low", 1, StateStuck}, {"high", 30, StateStuck}, {"bad", 2, StateFailed}, {"wait", 3, StateHands}} {
		r.Machines = append(r.Machines, MachineRun{Machine: Machine{Name: m.name, Rack: "R1", U: m.u}, State: m.state})
	}
	var names []string
	for _, m := range r.Sorted(Selector{}) {
		names = append(names, m.Machine.Name)
	}
	if want := []string{"wait", "high", "low", "bad", "run", "ok"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

func TestSelector(t *testing.T) {
	b := &Batch{Name: "job", Machines: []Machine{{Name: "a", Rack: "R1"}, {Name: "b", Rack: "R2"}}}
	run := []MachineRun{{Machine: b.Machines[0], State: StateFailed, Hands: &Hands{}}, {Machine: b.Machines[1], State: StateStuck}}
	for _, test := range []struct {
		sel  Selector
		want string
	}{
		{Selector{}, "ab"},
		{Selector{Machines: []string{"a"}}, "a"},
		{Selector{Racks: []string{"R2"}}, "b"},
		{Selector{Exclude: []string{"b"}}, "a"},
		{Selector{Only: "failed"}, "a"},
		{Selector{Only: "stuck"}, "b"},
		{Selector{Only: "hands"}, "a"},
		{Selector{Machines: []string{"a"}, Exclude: []string{"a"}}, ""},
	} {
		got := ""
		for i := range run {
			if test.sel.Match(&run[i]) {
				got += run[i].Machine.Name
			}
		}
		if got != test.want {
			t.Errorf("%+v chooses %q, want %q", test.sel, got, test.want)
		}
		if err := test.sel.Check(b); err != nil {
			t.Errorf("%+v: %v", test.sel, err)
		}
	}
	for _, bad := range []Selector{{Machines: []string{"c"}}, {Racks: []string{"R3"}}, {Only: "broken"}, {Exclude: []string{"z"}}} {
		if err := bad.Check(b); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// Acts that happened are not done again when a person resumes, but for those that
// were in vain; an act of which nobody knows is asked for first, unless the person has
// looked.
func TestResumeKnowsWhatHappened(t *testing.T) {
	for _, test := range []struct {
		anew, looked bool
		want         []string
	}{{false, false, []string{"reset", "set"}}, {true, false, []string{"reset"}}, {false, true, nil}} {
		s := newStory(t, "m1")
		s.step = "one"
		s.add("m1", 1, StepStarted, Try{Try: 1})
		s.add("m1", 1, Acted, Intent{Act: "set", Mark: "1"})
		s.add("m1", 1, Intended, Intent{Act: "reset", Mark: "2"})
		s.add("m1", 1, GotStuck, Stuck{Why: "silent", Anew: test.anew, Looked: test.looked})
		s.add("", 0, Resumed, nil)
		if got := slices.Sorted(maps.Keys(s.fold().Find("m1").Intents)); !slices.Equal(got, test.want) {
			t.Errorf("anew %v, looked %v: acts still known %v, want %v", test.anew, test.looked, got, test.want)
		}
	}
}
