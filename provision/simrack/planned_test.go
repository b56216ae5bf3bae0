package simrack_test

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/simrack"
)

// A run by its plan goes to the end where the machine is as planned, and leaves a machine
// alone whose BIOS is another than when it was planned.
func TestRunByPlan(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole run takes half a minute")
	}
	rack, batch := changedRack(t, "", "", simrack.MachineSpec{Name: "good"}, simrack.MachineSpec{Name: "other"})
	state := t.TempDir()
	bench := &provision.Bench{State: state, Workflows: provision.Workflows(), Secrets: &provision.Secrets{}, Log: slog.New(slog.DiscardHandler)}
	w, err := batch.Flow()
	if err != nil {
		t.Fatal(err)
	}
	plan, err := provision.NewPlanFile(batch, w, filepath.Join(state, "batch.yaml"), "test", bench.PlanBatch(t.Context(), batch, w, provision.Selector{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := bench.Close(); err != nil {
		t.Fatal(err)
	}
	batch.Planned = plan.Held()
	for i, c := range batch.Planned["other"] {
		if c.Step == "bios" && c.What != "reset" {
			batch.Planned["other"][i].Now = "as it was once"
			break
		}
	}
	run := carryIn(t, state, batch, nil)
	if m := run.Find("good"); m.State != provision.StatePassed {
		t.Errorf("as planned: %s at %s: %s", m.State, m.Step, m.Why)
	}
	m := run.Find("other")
	if m.State != provision.StateStuck || m.Step != "bios" || !strings.HasPrefix(m.Why, "not as planned: needed now, and not in the plan of this run: bios: ") {
		t.Errorf("other: %s at %s: %s", m.State, m.Step, m.Why)
	}
	for act, n := range rack.Acts()["other"] {
		if act != "session.create" && act != "session.delete" {
			t.Errorf("other was changed: %s %d times", act, n)
		}
	}
}
