package provision

import (
	"errors"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/redfish"
)

// Only a retest touches a machine that is well; the word that hands were there does
// so for one that waits.
func TestDoneLeavesAPassedMachineAlone(t *testing.T) {
	for _, test := range []struct {
		result  string
		kind    Kind
		attempt int
		state   State
	}{
		{"passed", HandsDone, 1, StatePassed},
		{"passed_with_deviations", HandsDone, 1, StateDeviations},
		{"passed", Retested, 2, StateRun},
		{"failed", HandsDone, 2, StateRun},
		{"incomplete", HandsDone, 2, StateRun},
	} {
		s := newStory(t, "m1").ends("one", nil).ends("two", nil).ends("report", Facts{FactResult: test.result})
		m := s.add("m1", 1, MachineOver, nil).add("m1", 0, test.kind, Repaired{Note: "x"}).fold().Machines[0]
		if m.Attempt != test.attempt || m.State != test.state || len(m.Repairs) != test.attempt-1 {
			t.Errorf("%s after %s: attempt %d, %s, %d repairs", test.kind, test.result, m.Attempt, m.State, len(m.Repairs))
		}
	}
}

// A machine that is stuck tells people what to look at, and how it goes on.
func TestStuckSaysWhatToDo(t *testing.T) {
	do := bmcChore(redfish.ErrUnreachable)
	r := newStory(t, "m1").add("m1", 1, GotStuck, Stuck{Why: "silent", Do: do}).fold()
	chores := Chores(r, Selector{})
	if len(chores) != 1 || len(chores[0].Hands.Do) != 1 || !strings.Contains(chores[0].Hands.Do[0].Do, "VLAN") || chores[0].Hands.Next != "rackproof resume job" {
		t.Errorf("%+v", chores)
	}
	if m := newStory(t, "m1").add("m1", 1, GotStuck, Stuck{Why: "silent", Do: do}).add("", 0, Resumed, nil).fold().Machines[0]; m.Do != "" {
		t.Errorf("still to do after it went on: %q", m.Do)
	}
}

// A plan has no run that could be resumed.
func TestProblemOfAPlanNamesNoRun(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{&Stuck{Why: "silent", Do: "Check the cable.", Next: "rackproof resume job"}, "silent. Check the cable."},
		{wrongMachine(Machine{Name: "m1"}, "another serial"), "another serial. To do: compare the sticker with the batch file and the BMC cable with its label; correct the one that is wrong"},
		{errors.New("plain"), "plain"},
	} {
		if got := problem(test.err); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
