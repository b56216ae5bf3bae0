package simrack_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

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
	rebooting(t, batch, "cold", 0)
	rebooting(t, batch, "warm", 1)
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
	if line := run.Find("sometimes").Facts[provision.FactLine]; !strings.Contains(line, "NVLink 7 down, 17 of 18 up in boot 2") {
		t.Errorf("line %q", line)
	}
}

// rebooting makes a machine of the batch one that is restarted three times.
func rebooting(t *testing.T, batch *provision.Batch, kind string, machine int) {
	t.Helper()
	m := &batch.Machines[machine]
	text := string(batch.Resolved[m.SpecSHA256])
	asked := strings.Replace(text, "reboots:\n  kind: cold\n", "reboots: {count: 3, kind: "+kind+"}\n", 1)
	spec, err := profiles.ParseResolvedSpec([]byte(asked))
	if err != nil || spec.Reboots != (profiles.Reboots{Count: 3, Kind: profiles.RebootKind(kind)}) {
		t.Fatalf("%v: %v in\n%s", err, spec, asked)
	}
	batch.Resolved[spec.SHA256()] = spec.Bytes()
	m.SpecSHA256 = spec.SHA256()
}

// An engine that dies amid restarts, and BMCs that lose answers and effects: each machine
// is restarted three times, no more, and what is owed of each start is on record.
func TestCutAmidReboots(t *testing.T) {
	if testing.Short() {
		t.Skip("many lives take a minute")
	}
	rack, err := simrack.Start(t.Context(), simrack.Options{Seed: 6, Machines: []simrack.MachineSpec{
		{Name: "cold"},
		{Name: "warm"},
		{Name: "off-unanswered", Fault: "lost-response=power.off*1"},
		{Name: "on-in-vain", Fault: "lost-effect=power.on*2"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rack.Close() }()
	for name, value := range rack.Credentials() {
		t.Setenv(name, value)
	}
	batch, err := provision.ParseBatch("batch.yaml", rack.BatchYAML("cut"), profiles.Open())
	if err != nil {
		t.Fatal(err)
	}
	batch.Limits.Poll = provision.Duration(50 * time.Millisecond)
	for i := range batch.Machines {
		batch.Machines[i].LoadedWatts, batch.Machines[i].Poll = 1, batch.Limits.Poll
		kind := "cold"
		if batch.Machines[i].Name == "warm" {
			kind = "warm"
		}
		rebooting(t, batch, kind, i)
	}
	c := &cutter{t: t, state: t.TempDir(), batch: batch, login: rack.Login(), moments: rand.New(rand.NewPCG(2026, 6))}
	run := c.carry()
	for _, m := range run.Machines {
		acts := rack.Acts()[m.Machine.Name]
		if m.State != provision.StatePassed {
			t.Errorf("%s is %s: %s %s", m.Machine.Name, m.State, m.Why, m.Facts[provision.FactLine])
		}
		off, ordered := 3, 0
		if m.Machine.Name == "warm" {
			off, ordered = 0, 3
		}
		// The first boot, which the burn-in had, is one more.
		if acts["host.boot.http"] != 4 || acts["host.reboot"] != ordered || acts["power.off"] != off {
			t.Errorf("%s: %d boots, %d ordered by its system, %d times off: %v", m.Machine.Name, acts["host.boot.http"], acts["host.reboot"], acts["power.off"], acts)
		}
	}
}
