package provision

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
)

// Two machines whose BMC cables are swapped are named as what they are, on both, and
// nothing is changed on either.
func TestSwappedBMCCables(t *testing.T) {
	u19 := Machine{Name: "r12u19", BMC: "192.0.2.19", Serial: "S2", Rack: "R12", U: 19}
	u21 := Machine{Name: "r12u21", BMC: "192.0.2.21", Serial: "S1", Rack: "R12", U: 21}
	f := newFakeBMC() // shows S1
	e, _ := stepEnv(t, f, u19)
	e.Machine, e.Batch.Machines = u19, []Machine{u19, u21}
	var hands *Hands
	if err := carryOut(t, verifyBMC{}, e); !errors.As(err, &hands) {
		t.Fatalf("it ended with %v", err)
	}
	if want := "r12u19 (R12 U19) answers as r12u21 (R12 U21): batch says S/N S2, BMC 192.0.2.19 says "; !strings.HasPrefix(hands.Why, want) {
		t.Errorf("why: %s", hands.Why)
	}
	if strings.Contains(hands.Do[0].Do, "rebind") || !strings.Contains(hands.Do[0].Do, "BMC cables of r12u19 (R12 U19) and r12u21 (R12 U21)") || hands.Next != "rackproof done r12u19" {
		t.Errorf("do: %+v, next %s", hands.Do, hands.Next)
	}
	if e.Facts[factAnswersAs] != "r12u21" || e.Store.Has(burnin.PhaseBMC, probeInventory) {
		t.Errorf("facts %v", e.Facts)
	}

	e.Machine.Serial = "S1" // a person has put it right
	if err := carryOut(t, verifyBMC{}, e); err != nil || e.Facts[factAnswersAs] != "" {
		t.Errorf("put right: %v, facts %v", err, e.Facts)
	}

	e.Batch.Machines = []Machine{u19, {Name: "r12u23", Serial: "S3"}}
	e.Machine = u19
	if err := carryOut(t, verifyBMC{}, freshly(t, e)); !errors.As(err, &hands) || !strings.HasPrefix(hands.Why, "batch says S/N S2") || !strings.Contains(hands.Do[0].Do, "`rackproof rebind r12u19 --as ") {
		t.Errorf("a machine that is in no line of the batch: %v, do %+v", err, hands.Do)
	}
}

// freshly is e behind another attempt's beginning.
func freshly(t *testing.T, e *Env) *Env {
	t.Helper()
	n, _ := stepEnv(t, newFakeBMC(), e.Machine)
	n.Machine, n.Batch = e.Machine, e.Batch
	return n
}

// The batch tells of the two in one sentence, and of a third that answers as one of them
// in its own.
func TestSwappedMachinesAreOneCause(t *testing.T) {
	wrong := func(name string, u int, as string) MachineRun {
		return MachineRun{Machine: Machine{Name: name, Rack: "R12", U: u}, State: StateHands, Step: "verify-bmc", Why: name + " answers as " + as, Facts: Facts{factAnswersAs: as}}
	}
	r := Run{Machines: []MachineRun{wrong("r12u21", 21, "r12u19"), wrong("r12u19", 19, "r12u21"), wrong("r12u23", 23, "r12u19")}}
	var got []string
	for _, c := range r.Causes(Selector{}) {
		got = append(got, c.String())
	}
	want := []string{
		"2 of 3 HANDS in verify-bmc the same way: r12u19 (R12 U19) and r12u21 (R12 U21) answer as each other: their BMC cables are swapped, or their addresses in the batch; nothing was changed on either",
		"1 of 3 HANDS in verify-bmc: answers as r12u19",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A host that is behind another BMC is named, where the batch knows it.
func TestHostOfAnotherMachineIsNamed(t *testing.T) {
	const mine, theirs = "00112233-4455-6677-8899-aabbccddeeff", "00112233-4455-6677-8899-aabbccddee00"
	e, _ := stepEnv(t, newFakeBMC(), Machine{BMC: "192.0.2.19"})
	e.Batch.Machines = append(e.Batch.Machines, Machine{Name: "r12u21", Rack: "R12", U: 21, UUID: theirs})
	e.Facts[FactUUID] = mine
	var fault *Fault
	if err := crossed(e, theirs, "the host at 192.0.2.119"); !errors.As(err, &fault) || !strings.Contains(fault.Why, "the host at 192.0.2.119 has UUID "+theirs+", that of r12u21 (R12 U21), BMC 192.0.2.19 has "+mine) {
		t.Errorf("%v", err)
	}
}
