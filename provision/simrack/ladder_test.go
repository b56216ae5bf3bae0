package simrack_test

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/simrack"
)

// A BMC whose services die in the middle of a run is reset once, by Redfish, and the run
// goes on; one that is dead behind its reset is STUCK and says what was tried.
func TestSickBMC(t *testing.T) {
	for _, test := range []struct {
		name, fault string
		back        bool
	}{{"comes back", "sick", true}, {"never comes back", "sick-for-good", false}} {
		t.Run(test.name, func(t *testing.T) {
			rack, batch := flowRack(t, `{name: around, steps: [preflight, verify-bmc, {step: hands, say: plug the cables}, locate, locate-off, power-off, report]}`,
				simrack.MachineSpec{Name: "good"})
			batch.Limits.BMCReset = provision.Duration(5e9)
			state := t.TempDir()
			if m := carryIn(t, state, batch, nil).Find("good"); m.State != provision.StateHands {
				t.Fatalf("%s: %s", m.State, m.Why)
			}
			if err := rack.SetFault("good", test.fault); err != nil {
				t.Fatal(err)
			}
			run := carryWord(t, state, batch, "good", provision.Repaired{Note: "plugged"})
			m := run.Find("good")
			acts := rack.Acts()["good"]
			if acts["bmc.reset"] != 1 {
				t.Errorf("the BMC was reset %d times, want once: %v", acts["bmc.reset"], acts)
			}
			if test.back {
				if !m.Over() || acts["power.off"] != 1 || acts["locator.set"] != 2 || !strings.Contains(m.Facts[provision.FactBMCReset], "in step locate") {
					t.Errorf("%s: %s, acts %v, facts %v", m.State, m.Why, acts, m.Facts)
				}
				return
			}
			if m.State != provision.StateStuck || !strings.Contains(m.Why, "was reset and did not come back within 5 s") || acts["power.off"] != 0 {
				t.Errorf("%s: %s, acts %v", m.State, m.Why, acts)
			}
			causes := run.Causes(provision.Selector{})
			if len(causes) != 1 || causes[0].Step != "locate" || !strings.Contains(causes[0].Why, "did not come back") {
				t.Errorf("causes %v", causes)
			}
		})
	}
}
