package burnin

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// bmcRecord is a record of a run with what its BMC said, by phase and probe.
func bmcRecord(parts map[string]string) *Record {
	rec := &Record{Meta: Meta{Coverage: CoverFull, Started: time.Date(2026, 2, 1, 9, 0, 0, 0, time.UTC)}}
	for _, ref := range sortedKeys(parts) {
		phase, probe, _ := strings.Cut(ref, "/")
		rec.Evidence = append(rec.Evidence, &Evidence{Probe: probe, Phase: Phase(phase), Source: FromBMC, Ended: EndedExit, Exit: new(int), Out: []byte(parts[ref])})
	}
	return rec
}

// rows writes readings of sensors in our own form.
func rows(sensors ...map[string]any) string {
	b, err := json.Marshal(map[string]any{"ipmi:/sdr": map[string]any{"sensors": sensors}})
	if err != nil {
		panic(err)
	}
	return string(b)
}

func row(name, kind string, reading any, more ...any) map[string]any {
	s := map[string]any{"name": name, "kind": kind, "reading": reading, "health": "OK", "state": "Enabled"}
	switch kind {
	case sensorTemperature:
		s["thresholds"] = map[string]any{"upper_caution": 90, "upper_critical": 95, "lower_critical": 5}
	case sensorFan:
		s["thresholds"], s["unit"] = map[string]any{"lower_critical": 420}, "RPM"
	}
	for i := 0; i+1 < len(more); i += 2 {
		s[more[i].(string)] = more[i+1]
	}
	return s
}

// answers are the findings of a check as "quantity/part" → verdict, what was not run
// as "not_run".
func answers(fs []Finding) map[string]string {
	out := map[string]string{}
	for _, f := range fs {
		answer := f.Verdict.String()
		if f.NotRun != "" {
			answer = "not_run"
		}
		out[f.Quantity+"/"+f.Part] = answer
	}
	return out
}

func wantOnly(t *testing.T, fs []Finding, want map[string]string, says string) {
	t.Helper()
	got := answers(fs)
	for id, answer := range want {
		if got[id] != answer {
			t.Errorf("%s is %q, want %q: %v", id, got[id], answer, got)
		}
	}
	for id, answer := range got {
		if want[id] == "" && answer != "pass" {
			t.Errorf("%s is %q, and nothing of it was expected", id, answer)
		}
	}
	said := slices.ContainsFunc(fs, func(f Finding) bool { return strings.Contains(f.Why+f.NotRun, says) })
	if !said {
		t.Errorf("nothing says %q: %+v", says, fs)
	}
}

// TestBMCSensors: what a BMC can show before, under and after load, and the part that
// is named for it.
func TestBMCSensors(t *testing.T) {
	cpu := func(reading any, more ...any) map[string]any {
		return row("CPU1 Temp", sensorTemperature, reading, more...)
	}
	fan := func(reading any, more ...any) map[string]any { return row("FAN4", sensorFan, reading, more...) }
	psu := func(more ...any) map[string]any {
		return row("PSU2", sensorState, nil, append([]any{"context", "PowerSupply"}, more...)...)
	}
	good := rows(cpu(61), fan(5320), psu())
	for _, c := range []struct {
		name                string
		before, load, after string
		want                map[string]string
		says                string
	}{
		{"healthy", good, good, good, nil, "CPU1 Temp at 61 of 95"},
		{"hot under load", good, rows(cpu(96), fan(5320), psu()), good, map[string]string{"temperature/CPU1": "fail", "temperature/machine": ""}, "96 Cel, at or over the BMC's critical limit of 95"},
		{"warm under load", good, rows(cpu(91), fan(5320), psu()), good, map[string]string{"temperature/CPU1": "warn", "temperature/machine": ""}, "warning limit of 90"},
		{"the BMC rates it critical below the limit", good, rows(cpu(80, "health", "Critical"), fan(5320), psu()), good, map[string]string{"temperature/CPU1": "fail", "temperature/machine": ""}, "rates CPU1 Temp as Critical at 80"},
		{"too cold", good, rows(cpu(4), fan(5320), psu()), good, map[string]string{"temperature/CPU1": "fail", "temperature/machine": ""}, "at or under"},
		{"fan stands still", good, rows(cpu(61), fan(0), psu()), good, map[string]string{"fan/FAN4": "fail", "fan/machine": ""}, "0 RPM"},
		{"fan without limit stands still", good, rows(cpu(61), fan(0, "thresholds", nil), psu()), good, map[string]string{"fan/FAN4": "fail", "fan/machine": ""}, "stands still"},
		{"fan too slow", good, rows(cpu(61), fan(400), psu()), good, map[string]string{"fan/FAN4": "fail", "fan/machine": ""}, "critical limit of 420"},
		{"fan in percent", rows(cpu(61), fan(51, "unit", "%", "thresholds", nil)), "", "", nil, ""},
		{"limits that are not set read 0", rows(cpu(61, "thresholds", map[string]any{"upper_critical": 0, "lower_critical": 0, "upper_fatal": 0, "lower_fatal": 0}), fan(5320)), "", "", nil, ""},
		{
			"nothing to hold temperatures against", rows(cpu(61, "health", "", "thresholds", nil), fan(5320), psu()), "", "",
			map[string]string{"temperature/machine": "not_run"},
			"without a limit of any",
		},
		{"nothing to hold one temperature against", rows(cpu(61, "health", "", "thresholds", nil), row("VR Temp", sensorTemperature, 41), fan(5320), psu()), "", "", nil, "1 of 1 in order over 1 readings; nearest to its limit: VR Temp at 41"},
		{
			"nothing to hold power against", rows(cpu(61), fan(5320), psu(), row("Total Power", sensorPower, 900, "health", "")), "", "",
			map[string]string{"power/machine": "not_applicable"},
			"recorded",
		},
		{
			"upper limits that are not set read 0", rows(cpu(61, "thresholds", map[string]any{"upper_critical": 0, "upper_caution": 0, "upper_fatal": 0}),
				fan(5320, "thresholds", map[string]any{"upper_critical": 0, "lower_caution": 500}), psu(), row("Total Power", sensorPower, 900, "thresholds", map[string]any{"upper_critical": 0})), "", "", nil, "",
		},
		{
			"the nearest of those in order", good, rows(cpu(96), row("VR Temp", sensorTemperature, 41), fan(5320), psu()), rows(cpu(61), row("VR Temp", sensorTemperature, 41), fan(5320), psu()),
			map[string]string{"temperature/CPU1": "fail", "temperature/machine": ""},
			"nearest to its limit: VR Temp at 41",
		},
		{"states that are no faults", rows(
			row("SEL", sensorState, nil, "health", "", "states", []string{"Log area reset/cleared"}), row("ACPI State", sensorState, nil, "states", []string{"S0/G0: working"}),
			row("PS Redundancy", sensorState, nil, "states", []string{"Fully Redundant"}), row("OS Boot", sensorState, nil, "states", []string{"boot completed - device not specified"}), cpu(61),
		), "", "", nil, ""},
		{"supply without input", good, rows(cpu(61), fan(5320), psu("states", []string{"Presence detected", "Power Supply input lost (AC/DC)"})), good, map[string]string{"supply/PSU2": "fail", "supply/machine": ""}, "input lost"},
		{"supply off and critical", good, rows(cpu(61), fan(5320), psu("state", "UnavailableOffline", "health", "Critical")), good, map[string]string{"supply/PSU2": "fail", "supply/machine": ""}, "Critical"},
		{"supply announces its failure", good, rows(cpu(61), fan(5320), psu("states", []string{"Predictive failure"})), good, map[string]string{"supply/PSU2": "fail", "supply/machine": ""}, "Predictive"},
		{"supply pulled", good, good, rows(cpu(61), fan(5320), psu("state", "Absent", "health", "")), map[string]string{"supply/PSU2": "fail", "supply/machine": ""}, "gone at the end"},
		{
			"redundancy lost", good, rows(cpu(61), fan(5320), psu(), row("PSU Redundancy", sensorState, nil, "context", "PowerSupply", "health", "Warning")), good,
			map[string]string{"redundancy/PSU Redundancy": "fail", "readable/PSU Redundancy": ""},
			"Warning",
		},
		{"host off: sensors sleep", rows(cpu(nil, "state", "UnavailableOffline", "health", ""), fan(5320), psu()), good, good, nil, ""},
		{"sensor vanishes", good, good, rows(fan(5320), psu()), map[string]string{"readable/CPU1": "not_run"}, "is not listed at the end"},
		{"sensor gives no reading any more", good, good, rows(cpu(nil), fan(5320), psu()), map[string]string{"readable/CPU1": "not_run"}, "no reading"},
		{
			"reading not whole", good, good, `{"ipmi:/sdr":{"sensors":[{"name":"CPU1 Temp","kind":"temperature","reading":61},{"name":"FAN4","kind":"fan","reading":5320},{"name":"PSU2","kind":"discrete","health":"OK","context":"PowerSupply"}]},"rackproof:reading":{"skew_seconds":1,"missing":["/redfish/v1/Chassis/1/Power: 503"]}}`,
			map[string]string{"temperature/machine": "not_run", "fan/machine": "not_run", "supply/machine": "not_run"},
			"503",
		},
		{"nothing readable", rows(cpu(nil)), rows(cpu(nil)), rows(cpu(nil)), map[string]string{"all/machine": "not_run"}, "none of them can be read"},
		{"never read", "", "", "", map[string]string{"all/machine": "not_run"}, "not run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parts := map[string]string{}
			for phase, out := range map[string]string{"before": c.before, "load": c.load, "after": c.after} {
				if out != "" {
					parts[phase+"/bmc-sensors"] = out
				}
			}
			fs := judgeBMCSensors(NewReadings(bmcRecord(parts)), gpuProfile(t, "hgx-h100-8"), &profiles.Spec{})
			want := map[string]string{}
			for id, answer := range c.want {
				if answer != "" {
					want[id] = answer
				}
			}
			wantOnly(t, fs, want, c.says)
		})
	}
}

// TestWorstSampleCounts: one reading among many.
func TestWorstSampleCounts(t *testing.T) {
	good, hot := rows(row("CPU1 Temp", sensorTemperature, 61)), rows(row("CPU1 Temp", sensorTemperature, 97))
	rec := bmcRecord(map[string]string{"before/bmc-sensors": good, "load/bmc-sensors": good, "after/bmc-sensors": good})
	load := rec.find(PhaseLoad, "bmc-sensors", "")
	for i, out := range []string{good, hot, "", good} {
		load.Samples = append(load.Samples, Sample{At: time.Unix(int64(60*i), 0), Out: []byte(out)})
	}
	fs := judgeBMCSensors(NewReadings(rec), gpuProfile(t, "hgx-h100-8"), &profiles.Spec{})
	wantOnly(t, fs, map[string]string{"temperature/CPU1": "fail"}, "97 Cel")
}

// TestInletOfTheProfile: an order may state the air that the machine takes in.
func TestInletOfTheProfile(t *testing.T) {
	p := *gpuProfile(t, "hgx-h100-8")
	p.Air.Inlet = &profiles.Limit{Relation: profiles.Max, Value: profiles.Quantity{Value: 27, Unit: profiles.Celsius}, Provenance: profiles.FromAgreed, Source: "order"}
	for _, c := range []struct {
		name  string
		temps []map[string]any
		want  string
	}{
		{"cool", []map[string]any{row("01-Inlet Ambient", sensorTemperature, 25), row("15-Board Inlet", sensorTemperature, 35)}, "pass"},
		{"warm", []map[string]any{row("Inlet Temp", sensorTemperature, 29), row("GPU Inlet Temp", sensorTemperature, 26)}, "fail"},
		{"not shown", []map[string]any{row("CPU1 Temp", sensorTemperature, 60)}, "not_run"},
	} {
		fs := judgeBMCSensors(NewReadings(bmcRecord(map[string]string{"before/bmc-sensors": rows(c.temps...)})), &p, &profiles.Spec{})
		if got := answers(fs)["inlet/inlet"]; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestHealthyTrees: nothing of a captured machine is a fault: not the readings of 0 of
// absent sensors, not the disabled ones, not margins below zero.
func TestHealthyTrees(t *testing.T) {
	for _, vendor := range []string{"dell", "hpe", "lenovo", "nvidia_viking", "supermicro"} {
		t.Run(vendor, func(t *testing.T) {
			out := string(capturedBodies(t, vendor, func(uri string) bool { return strings.Contains(uri, "/Chassis/") }))
			rec := bmcRecord(map[string]string{"before/bmc-sensors": out, "load/bmc-sensors": out, "after/bmc-sensors": out})
			fs := judgeBMCSensors(NewReadings(rec), gpuProfile(t, "hgx-h100-8"), &profiles.Spec{})
			want := map[string]string{"temperature/machine": "pass", "fan/machine": "pass", "supply/machine": "pass", "redundancy/machine": "pass"}
			if vendor == "hpe" { // has neither limits nor ratings of these
				want["voltage/machine"], want["power/machine"] = "not_applicable", "not_applicable"
			}
			wantOnly(t, fs, want, "in order over 3 readings")
		})
	}
}
