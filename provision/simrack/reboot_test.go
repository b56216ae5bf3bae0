package simrack_test

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/simrack"
)

// A machine is restarted as often as was asked and passes; one whose link comes up only
// sometimes fails, and the start is named.
func TestReboots(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole run with restarts takes a minute")
	}
	rack, err := simrack.Start(t.Context(), simrack.Options{Seed: 5, Machines: []simrack.MachineSpec{
		{Name: "good"}, {Name: "warm"}, {Name: "sometimes", Fault: "nvlink-sometimes"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rack.Close() }()
	for name, value := range rack.Credentials() {
		t.Setenv(name, value)
	}
	text := strings.Replace(string(rack.BatchYAML("po3")), "poll: 300ms", "poll: 100ms", 1)
	batch, err := provision.ParseBatch("batch.yaml", []byte(text), profiles.Open())
	if err != nil {
		t.Fatal(err)
	}
	warm := strings.Replace(string(batch.Resolved[batch.Machines[1].SpecSHA256]), "kind: cold", "kind: warm", 1)
	spec, err := profiles.ParseResolvedSpec([]byte(warm))
	if err != nil || spec.Reboots.Kind != profiles.Warm {
		t.Fatal(err, spec.Reboots)
	}
	batch.Resolved[spec.SHA256()] = spec.Bytes()
	batch.Machines[0].Reboots, batch.Machines[1].Reboots = 3, 3
	batch.Machines[1].SpecSHA256 = spec.SHA256()
	run := carry(t, batch)
	for name, want := range map[string]provision.State{"good": provision.StatePassed, "warm": provision.StatePassed, "sometimes": provision.StateFailed} {
		m, acts := run.Find(name), rack.Acts()[name]
		if m.State != want {
			t.Errorf("%s is %s: %s %s", name, m.State, m.Why, m.Facts[provision.FactLine])
		}
		if ordered := acts["host.reboot"]; acts["host.boot.http"] != 4 || (name == "warm") != (ordered == 3) || name != "warm" && acts["power.on"] < 3 {
			t.Errorf("%s: %v", name, acts)
		}
	}
	if line := run.Find("sometimes").Facts[provision.FactLine]; !strings.Contains(line, "NVLink 7 down, 17 of 18 up behind boot 2") {
		t.Errorf("line %q", line)
	}
}
