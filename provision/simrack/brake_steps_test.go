package simrack_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/simrack"
)

// The same fault in every machine stops each change that touches many after two of them,
// with one sentence; the others are as they were.
func TestBrakeOfEachChange(t *testing.T) {
	if testing.Short() {
		t.Skip("three racks")
	}
	const all = 12
	for _, c := range []struct {
		step, fault string
		defaults    string // into the batch's defaults
		firmware    bool
		cause       string
	}{
		{step: "credentials", defaults: "bmc: {new_password: 'env:NEW_PASSWORD', ", cause: "new password"},
		{step: "bmc-network", fault: "patch-ignored", defaults: "bmc_network: {ntp: [192.0.2.123]}\n  bmc: {", cause: "NTP"},
		{step: "firmware", defaults: "bmc: {", firmware: true, cause: "firmware"},
	} {
		t.Run(c.step, func(t *testing.T) {
			t.Setenv("NEW_PASSWORD", "much-longer-than-the-20-that-it-takes-0Aa")
			machines := make([]simrack.MachineSpec, all)
			for i := range machines {
				machines[i] = simrack.MachineSpec{Name: fmt.Sprintf("m%02d", i+1), Fault: c.fault}
			}
			rack, err := simrack.Start(t.Context(), simrack.Options{Seed: 11, Machines: machines})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = rack.Close() }()
			for name, value := range rack.Credentials() {
				t.Setenv(name, value)
			}
			text := strings.NewReplacer("poll: 300ms", "poll: 20ms", "bmc: {user", c.defaults+"user",
				"workflow: qualify", "workflow: {steps: [preflight, verify-bmc, "+c.step+", report]}").Replace(string(rack.BatchYAML("po12")))
			if c.firmware {
				text += "firmware: {update: true, folder: " + images(t, rack.Machines()[0].Profile) + "}\n"
			}
			batch, err := provision.ParseBatch("batch.yaml", []byte(text), profiles.Open())
			if err != nil {
				t.Fatal(err)
			}
			run := carry(t, batch)
			said := map[string]int{}
			for name, acts := range rack.Acts() {
				m := run.Find(name)
				if m.State != provision.StateStuck || m.Step != c.step {
					t.Errorf("%s is %s at %s: %s", name, m.State, m.Step, m.Why)
				}
				braked := strings.HasPrefix(m.Why, "Stopped after ")
				if braked {
					said[m.Why]++
				}
				for act := range acts {
					if act != "session.create" && act != "session.delete" && braked {
						t.Errorf("%s was not begun and was changed: %v", name, acts)
					}
				}
			}
			if len(said) != 1 {
				t.Errorf("sentences: %v, want one", said)
			}
			for text, n := range said {
				if n < all-2 || !strings.HasPrefix(text, "Stopped after 2 of 12: same cause (") || !strings.Contains(text, c.cause) || !strings.HasSuffix(text, "Nothing changed on the other 10.") {
					t.Errorf("%d machines say %q", n, text)
				}
			}
		})
	}
}

// images is a firmware folder with a newer BIOS for the profile.
func images(t *testing.T, profile string) string {
	t.Helper()
	dir := t.TempDir()
	at := filepath.Join(dir, profile, "BIOS", "99.0")
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(at, "bios.bin"), []byte("image"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
