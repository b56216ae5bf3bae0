package simrack_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/simrack"
)

// A fault planted in the BIOS step of every machine stops after two of 36, with one
// sentence, and nothing changed on the others.
func TestBrakeOfBIOS(t *testing.T) {
	if testing.Short() {
		t.Skip("36 simulated machines")
	}
	const all = 36
	machines := make([]simrack.MachineSpec, all)
	for i := range machines {
		machines[i] = simrack.MachineSpec{Name: fmt.Sprintf("m%02d", i+1), Fault: "bios-ignored"}
	}
	rack, err := simrack.Start(t.Context(), simrack.Options{Seed: 11, Machines: machines})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rack.Close() }()
	for name, value := range rack.Credentials() {
		t.Setenv(name, value)
	}
	text := strings.Replace(string(rack.BatchYAML("po36")), "poll: 300ms", "poll: 50ms", 1)
	batch, err := provision.ParseBatch("batch.yaml", []byte(text), profiles.Open())
	if err != nil {
		t.Fatal(err)
	}
	run := carry(t, batch)
	said, changed := map[string]int{}, 0
	for name, acts := range rack.Acts() {
		m := run.Find(name)
		if m.State != provision.StateStuck || m.Step != "bios" {
			t.Errorf("%s is %s at %s: %s", name, m.State, m.Step, m.Why)
		}
		if strings.HasPrefix(m.Why, "Stopped after ") {
			said[m.Why]++
		}
		for act := range acts {
			if act != "session.create" && act != "session.delete" {
				t.Logf("%s: %v", name, acts)
				changed++
				break
			}
		}
	}
	if changed != 2 {
		t.Errorf("%d machines were changed, want 2", changed)
	}
	if len(said) != 1 {
		t.Errorf("sentences: %v, want one", said)
	}
	for text, n := range said {
		if !strings.HasPrefix(text, "Stopped after 2 of 36: same cause (") || !strings.HasSuffix(text, "Nothing changed on the other 34.") || n < 34 {
			t.Errorf("%d machines say %q", n, text)
		}
	}
}
