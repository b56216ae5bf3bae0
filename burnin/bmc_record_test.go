package burnin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/nodetest"
)

// simBMC is what provision reads of a simulated machine's BMC.
type simBMC struct {
	m     *nodetest.Machine
	asked map[burnin.Phase]int
	dead  func(phase burnin.Phase, n int) bool // does not answer the nth time
	took  time.Duration                        // of one reading
}

func (b *simBMC) Collect(ctx context.Context, phase burnin.Phase) ([]*burnin.Evidence, error) {
	if b.asked == nil {
		b.asked = map[burnin.Phase]int{}
	}
	b.asked[phase]++
	if b.took > 0 {
		select {
		case <-time.After(b.took):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	out := []*burnin.Evidence{bmcReading("bmc-sensors", phase, b.sensors())}
	if phase == burnin.PhaseAfter {
		out = append(out, bmcReading("bmc-sel", phase, b.log(true)))
	}
	if b.dead != nil && b.dead(phase, b.asked[phase]) {
		for _, e := range out {
			e.Ended, e.Exit, e.Out, e.Err = burnin.EndedLost, nil, nil, []byte("BMC 192.0.2.1 does not answer\n")
		}
	}
	return out, nil
}

func bmcReading(probe string, phase burnin.Phase, bodies map[string]any) *burnin.Evidence {
	zero := 0
	out, err := json.Marshal(bodies)
	if err != nil {
		panic(err)
	}
	return &burnin.Evidence{
		Probe: probe, Phase: phase, Source: burnin.FromBMC, Started: time.Now(), Exit: &zero, Ended: burnin.EndedExit, Simulated: true, Out: out,
	}
}

type object = map[string]any

func (b *simBMC) sensors() object {
	ok := object{"State": "Enabled", "Health": "OK"}
	var fans, supplies []object
	for _, f := range b.m.Fans {
		fans = append(fans, object{"Name": f.Label, "Reading": f.RPM, "ReadingUnits": "RPM", "LowerThresholdCritical": 420, "Status": ok})
	}
	for _, p := range b.m.PSUs {
		supplies = append(supplies, object{"Name": fmt.Sprintf("Power Supply Bay %d", p.Bay), "SerialNumber": p.Serial, "PowerInputWatts": 361, "Status": ok})
	}
	return object{
		"/redfish/v1/Chassis/1/Thermal": object{
			"@odata.type": "#Thermal.v1_5_1.Thermal", "Fans": fans,
			"Temperatures": []object{
				{"Name": "Inlet Temp", "ReadingCelsius": 23, "UpperThresholdCritical": 42, "Status": ok},
				{"Name": "CPU1 Temp", "ReadingCelsius": 61, "UpperThresholdCritical": 99, "UpperThresholdNonCritical": 95, "Status": ok},
			},
		},
		"/redfish/v1/Chassis/1/Power": object{
			"@odata.type": "#Power.v1_7_0.Power", "PowerSupplies": supplies,
			"Redundancy": []object{{"Name": "PSU Redundancy", "Status": ok}},
		},
		burnin.BMCNoteKey: object{"skew_seconds": 0},
	}
}

// log is the event log at the beginning, or at the end with what the machine logs.
func (b *simBMC) log(end bool) object {
	entry := func(id int, kind, message, severity, created string) object {
		return object{
			"@odata.type": "#LogEntry.v1_7_0.LogEntry", "@odata.id": fmt.Sprintf("/redfish/v1/Systems/1/LogServices/Log1/Entries/%d", id), "Id": fmt.Sprint(id),
			"EntryType": "SEL", "EntryCode": "Assert", "SensorType": kind, "Message": message, "Severity": severity, "Created": created,
		}
	}
	entries := []object{entry(1, "Power Supply", "[PWR-0001] PS5 Status, Power Supply Failure detected", "Critical", "1970-01-01T00:01:38Z")}
	if end {
		entries = append(entries, entry(2, "System Event", "OEM System boot event", "OK", "2026-02-01T10:00:00Z"))
		for i, l := range b.m.Logged {
			entries = append(entries, entry(3+i, l.Sensor, l.Message, l.Severity, "2026-02-01T10:05:00Z"))
		}
	}
	return object{
		"/redfish/v1/Systems/1/LogServices/Log1": object{
			"@odata.type": "#LogService.v1_1_3.LogService", "Id": "Log1", "LogEntryType": "SEL", "OverWritePolicy": "WrapsWhenFull", "MaxNumberOfRecords": 4096,
			"Entries": object{"@odata.id": "/redfish/v1/Systems/1/LogServices/Log1/Entries"},
		},
		"/redfish/v1/Systems/1/LogServices/Log1/Entries": object{
			"@odata.type": "#LogEntryCollection.LogEntryCollection", "Members@odata.count": len(entries), "Members": entries,
		},
		burnin.BMCNoteKey: object{"skew_seconds": 0},
	}
}

// burnWith burns in a simulated machine for a time by a clock that runs ahead, with its
// BMC beside it.
func burnWith(t *testing.T, bmc *simBMC, duration time.Duration) (*burnin.Record, judged) {
	t.Helper()
	to := judgedAs(t, bmc.m)
	dir := storeFolder(t)
	synctest.Test(t, func(t *testing.T) {
		store, err := burnin.OpenStore(dir)
		if err != nil {
			t.Fatal(err)
		}
		node := &burnin.Node{
			Shell:  nodetest.Wire(bmc.m, nodetest.Boot{BootID: "0e3c1c2e-7d0f-4b8e-9a53-6a4f8a5d2f10", Cmdline: "quiet"}),
			Origin: burnin.FromSSH, Probes: burnin.Probes(), Profile: to.profile,
		}
		err = store.Add(bmcReading("bmc-sel", burnin.PhaseBMC, bmc.log(false)))
		if err == nil {
			err = burnin.Burn(t.Context(), burnin.BurnOptions{
				Node: node, Sources: []burnin.Source{bmc}, Store: store, Run: "test", Attempt: 1, Owner: "test@here", Duration: duration, Loads: burnin.Loads(),
				Machine:  burnin.Machine{Name: bmc.m.Name, Wanted: burnin.WantedIdentity{Serial: bmc.m.SystemSerial}},
				Coverage: burnin.CoverFull,
			})
		}
		if err == nil {
			err = store.Add(bmcEvidence(bmc.m))
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	store, err := burnin.OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := store.Record()
	if err != nil {
		t.Fatal(err)
	}
	return rec, to
}

func benchMachine(t *testing.T, faults ...string) *nodetest.Machine {
	t.Helper()
	m, err := nodetest.New("hgx-h100-8", "bench", 11)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		if err := m.Break(f); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// TestSensorsUnderLoad: sensors are read once a minute while the load runs, the first
// reading as it came and the others beside it.
func TestSensorsUnderLoad(t *testing.T) {
	bmc := &simBMC{m: benchMachine(t)}
	rec, to := burnWith(t, bmc, 10*time.Minute)
	if j := to.of(rec); j.Result != burnin.Passed {
		t.Fatal(describe(j))
	}
	e := evidenceOf(t, rec, "load/bmc-sensors")
	if len(e.Samples) != 9 || bmc.asked[burnin.PhaseLoad] != 10 {
		t.Errorf("%d samples, asked %d times in ten minutes; want 9 and 10", len(e.Samples), bmc.asked[burnin.PhaseLoad])
	}
	if f := findingOf(to.of(rec), "bmc.sensors/temperature/machine"); f != "pass: 2 of 2 in order over 12 readings; nearest to its limit: CPU1 Temp at 61 of 99 Cel" {
		t.Error(f)
	}
}

// TestBMCStrains: a BMC that takes long is asked less often, and a long load has a
// bounded number of readings.
func TestBMCStrains(t *testing.T) {
	slow := &simBMC{m: benchMachine(t), took: 30 * time.Second}
	burnWith(t, slow, 20*time.Minute)
	if n := slow.asked[burnin.PhaseLoad]; n < 3 || n > 4 {
		t.Errorf("a BMC that takes 30 s was asked %d times in 20 minutes, want one in 5.5 minutes", n)
	}
}

// TestBMCDies: the burn-in goes on to its end, and what is not known of the BMC is
// unknown, never a fault of the machine.
func TestBMCDies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		dead func(burnin.Phase, int) bool
		want burnin.Result
		why  string
	}{
		{"for a while under load", func(p burnin.Phase, n int) bool { return p == burnin.PhaseLoad && n == 2 }, burnin.Passed, ""},
		{"at the first reading under load", func(p burnin.Phase, n int) bool { return p == burnin.PhaseLoad && n == 1 }, burnin.Passed, ""},
		{"under load, for good", func(p burnin.Phase, n int) bool { return p == burnin.PhaseLoad && n > 2 || p == burnin.PhaseAfter }, burnin.Incomplete, "does not answer"},
		{"before the test", func(p burnin.Phase, _ int) bool { return p == burnin.PhaseBefore }, burnin.Incomplete, "does not answer"},
		{"under load altogether", func(p burnin.Phase, _ int) bool { return p == burnin.PhaseLoad }, burnin.Incomplete, "under load"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rec, to := burnWith(t, &simBMC{m: benchMachine(t), dead: c.dead}, 4*time.Minute)
			j := to.of(rec)
			if j.Result != c.want {
				t.Errorf("%s, want %s", describe(j), c.want)
			}
			if f := findingOf(j, "bmc.sensors/temperature/machine"); !strings.Contains(f, c.why) {
				t.Errorf("%q, want %q", f, c.why)
			}
			for _, f := range j.Findings {
				if f.Verdict == burnin.Fail {
					t.Errorf("blames %s: %s", f.ID, f.Why)
				}
			}
		})
	}
}
