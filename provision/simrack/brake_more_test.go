package simrack_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/simrack"
	"github.com/rackproof/rackproof/redfish"
)

// A change that no BMC takes stops after two machines, whatever it changes: nothing is
// asked of the others, and all say why in one sentence.
func TestBrakeOfOtherChanges(t *testing.T) {
	const all = 8
	t.Setenv("NEW", "fr3sh-Passw0rd-9")
	folder := t.TempDir()
	for _, model := range []string{"hgx-h100-8", "l40s-8"} {
		image := filepath.Join(folder, model, "BMC", "99.9", "bmc.bin")
		if err := os.MkdirAll(filepath.Dir(image), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(image, []byte("image"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		step, fault string
		wish        func(*provision.Machine)
	}{
		{"credentials", "lost-effect=account.password", func(m *provision.Machine) { m.Login.New = "env:NEW" }},
		// These BMCs have no host name that could be set.
		{"firmware", "", func(*provision.Machine) {}},
		{"bmc-network", "", func(m *provision.Machine) { m.Network = &redfish.NetworkWish{HostName: m.Name + "-bmc"} }},
	} {
		t.Run(test.step, func(t *testing.T) {
			machines := make([]simrack.MachineSpec, all)
			for i := range machines {
				machines[i] = simrack.MachineSpec{Name: fmt.Sprintf("m%d", i+1), Fault: test.fault}
			}
			rack, batch := flowRack(t, "{name: change, steps: [preflight, verify-bmc, "+test.step+", report]}\nfirmware: {folder: "+folder+", update: true}", machines...)
			for i := range batch.Machines {
				test.wish(&batch.Machines[i])
			}
			run := carry(t, batch)
			said := map[string]int{}
			for name, acts := range rack.Acts() {
				m := run.Find(name)
				if m.State != provision.StateStuck || m.Step != test.step {
					t.Errorf("%s is %s at %s: %s", name, m.State, m.Step, m.Why)
				}
				if strings.HasPrefix(m.Why, "Stopped after ") {
					said[m.Why]++
				}
				for act := range acts {
					if !strings.HasPrefix(act, "session.") {
						t.Errorf("%s: %s happened", name, act)
					}
				}
			}
			asked := 0
			for _, r := range run.Rollouts {
				asked += len(r.FailedOn)
			}
			if asked != 2 || len(said) != 1 {
				t.Errorf("%d machines were asked to change, want 2; they say %v", asked, said)
			}
			for text, n := range said {
				if !strings.HasPrefix(text, "Stopped after 2 of 8: same cause (") || !strings.HasSuffix(text, "Nothing changed on the other 6.") || n < 6 {
					t.Errorf("%d machines say %q", n, text)
				}
			}
		})
	}
}
