package simrack_test

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/simrack"
)

// flowRack is a rack with a batch of another workflow than qualify.
func flowRack(t *testing.T, workflow string, machines ...simrack.MachineSpec) (*simrack.Rack, *provision.Batch) {
	t.Helper()
	return changedRack(t, "workflow: qualify", "workflow: "+workflow, machines...)
}

// changedRack is a rack whose batch says something else in one place.
func changedRack(t *testing.T, said, says string, machines ...simrack.MachineSpec) (*simrack.Rack, *provision.Batch) {
	t.Helper()
	if testing.Short() {
		t.Skip("a whole run takes half a minute")
	}
	rack, err := simrack.Start(t.Context(), simrack.Options{Seed: 5, Machines: machines})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rack.Close() })
	for name, value := range rack.Credentials() {
		t.Setenv(name, value)
	}
	text := strings.Replace(string(rack.BatchYAML("flow")), said, says, 1)
	batch, err := provision.ParseBatch("batch.yaml", []byte(text), profiles.Open())
	if err != nil {
		t.Fatal(err)
	}
	return rack, batch
}

// A workflow of the batch's own, whose conditions choose among its machines: only one has
// its BIOS set, and only the other is loaded.
func TestOwnWorkflow(t *testing.T) {
	rack, batch := flowRack(t, `{name: night, steps: [preflight, verify-bmc,
  {step: bios, when: {name: set}}, boot, wait-ssh,
  {step: burn-in, tries: 1, when: {fact: boot_method, is: uefi-http, name: load*}}, handover, report]}`,
		simrack.MachineSpec{Name: "set"}, simrack.MachineSpec{Name: "loaded"})
	run := carry(t, batch)
	for _, test := range []struct {
		name          string
		state         provision.State
		left          string
		staged, loads int
	}{
		{"set", provision.StateIncomplete, `burn-in: name is "set", not "load*"`, 2, 0}, // to and fro
		{"loaded", provision.StateIncomplete, `bios: name is "loaded", not "set"`, 0, 1},
	} {
		m, acts := run.Find(test.name), rack.Acts()[test.name]
		if m.State != test.state || m.Facts[provision.FactLeftOut] != test.left {
			t.Errorf("%s is %s: %s; left out %q, want %s and %q", test.name, m.State, m.Why, m.Facts[provision.FactLeftOut], test.state, test.left)
		}
		if acts["bios.stage"] != test.staged || acts["host.load.gpu-burn"] != test.loads {
			t.Errorf("%s: BIOS staged %d times, loaded %d times; want %d and %d: %v", test.name, acts["bios.stage"], acts["host.load.gpu-burn"], test.staged, test.loads, acts)
		}
	}
}

// Burn-in alone changes no setting, and takes its image down.
func TestBurnInAlone(t *testing.T) {
	rack, batch := flowRack(t, "burnin", simrack.MachineSpec{Name: "good"})
	run := carry(t, batch)
	m, acts := run.Find("good"), rack.Acts()["good"]
	if acts["bios.stage"] != 0 || acts["host.load.gpu-burn"] != 1 || !strings.Contains(m.Facts[provision.FactHandover], "BIOS untouched; powered off") {
		t.Errorf("%s: %s; %q, acts %v", m.State, m.Why, m.Facts[provision.FactHandover], acts)
	}
}

// A machine that failed is put back by a run of workflow handover, which knows from the
// run before how it was found.
func TestHandoverOfAFailedMachine(t *testing.T) {
	rack, batch := flowRack(t, "qualify", simrack.MachineSpec{Name: "narrow", Fault: "gpu-x8"})
	state := t.TempDir()
	first := carryIn(t, state, batch, nil)
	if m := first.Find("narrow"); m.State != provision.StateFailed || !strings.Contains(m.Facts[provision.FactHandover], "not handed over") {
		t.Fatalf("%s: %s; %q", m.State, m.Why, m.Facts[provision.FactHandover])
	}
	before := rack.Acts()["narrow"]
	batch.Again, batch.Workflow, batch.Arrived = true, "handover", first.Arrived(batch)
	m := carryIn(t, state, batch, nil).Find("narrow")
	acts := rack.Acts()["narrow"]
	if !strings.Contains(m.Facts[provision.FactHandover], "BIOS as found; powered off") || acts["bios.stage"] != before["bios.stage"]+1 {
		t.Errorf("%s: %s; %q, acts %v", m.State, m.Why, m.Facts[provision.FactHandover], acts)
	}
	if acts["host.load.gpu-burn"] != before["host.load.gpu-burn"] {
		t.Errorf("a handover has loaded the machine: %v", acts)
	}
}
