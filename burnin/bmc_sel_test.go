package burnin

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

// entry is one row of a log in our own form. at is minutes after ten.
func entry(id int, at int, kind, sensor, event string, more ...any) map[string]any {
	e := map[string]any{"id": fmt.Sprint(id), "log": "sel", "time": fmt.Sprintf("2026-02-01T10:%02d:00Z", at), "kind": kind, "sensor": sensor, "event": event, "asserted": true}
	for i := 0; i+1 < len(more); i += 2 {
		e[more[i].(string)] = more[i+1]
	}
	return e
}

func selOf(entries ...map[string]any) string {
	if entries == nil {
		entries = []map[string]any{}
	}
	b, err := json.Marshal(map[string]any{"ipmi:/sel": map[string]any{"entries": entries}, BMCNoteKey: BMCNote{}})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestBMCSEL: what is new in the log since the test began, whose part it is, and what
// is older.
func TestBMCSEL(t *testing.T) {
	old := entry(1, 0, "Power Supply", "PS5 Status", "Failure detected")
	oldDamage := entry(1, 0, "Memory", "DIMM P1-DIMMB1", "Uncorrectable ECC")
	boot := entry(2, 5, "System Event", "#0x83", "OEM System boot event")
	cleared := entry(9, 9, "Event Logging Disabled", "#0x72", "Log area reset/cleared")
	for _, c := range []struct {
		name          string
		before, after []map[string]any
		want          map[string]string
		says          string
	}{
		{"quiet", nil, nil, nil, "0 new entries"},
		{"our own acts", nil, []map[string]any{
			boot, entry(3, 6, "System ACPI Power State", "", "S0/G0: working"), entry(4, 7, "OS Stop/Shutdown", "", "OS graceful shutdown"),
			entry(5, 8, "Power Unit", "", "Power off/down"), entry(6, 8, "Session Audit", "", "Session activated", "severity", "OK"),
		}, nil, "5 new entries"},
		{"an old failure is recorded", []map[string]any{old}, []map[string]any{old, boot}, nil, "1 entries are older"},
		{"old damage on a new machine", []map[string]any{oldDamage}, []map[string]any{oldDamage}, map[string]string{"earlier_memory_uncorrected/DIMM P1-DIMMB1": "warn"}, "from before the test"},
		{
			"uncorrectable memory error", nil,
			[]map[string]any{entry(3, 5, "Memory", "Memory #0x53", "Uncorrectable ECC @DIMM P1-DIMMA1")},
			map[string]string{"memory_uncorrected/DIMM P1-DIMMA1": "fail"},
			"lost data",
		},
		{"uncorrectable memory error that is deasserted", nil, []map[string]any{
			entry(3, 5, "Memory", "DIMM_A1", "Uncorrectable ECC"), entry(4, 6, "Memory", "DIMM_A1", "Uncorrectable ECC", "asserted", false),
		}, map[string]string{"memory_uncorrected/DIMM_A1": "fail"}, ""},
		{"corrected memory error", nil, []map[string]any{entry(3, 5, "Memory", "DIMM P1-DIMMA1", "Correctable ECC")}, map[string]string{"memory_corrected/DIMM P1-DIMMA1": "fail"}, "corrected"},
		{"correction gave up counting", nil, []map[string]any{entry(3, 5, "Memory", "", "Correctable ECC logging limit reached")}, map[string]string{"memory_corrected_limit/memory": "fail"}, ""},
		{"internal error", nil, []map[string]any{entry(3, 5, "Processor", "CPU1 Status", "IERR")}, map[string]string{"cpu_internal_error/CPU1": "fail"}, ""},
		{
			"PCIe fatal", nil,
			[]map[string]any{entry(3, 5, "Critical Interrupt", "", "A fatal error was detected on a component at bus 23 device 0 function 0.")},
			map[string]string{"bus_fatal/PCIe device 0000:17:00.0": "fail"},
			"",
		},
		{"supply without input", nil, []map[string]any{entry(3, 5, "Power Supply", "PS2 Status", "Power Supply AC lost")}, map[string]string{"supply_input_lost/PS2": "fail"}, ""},
		{"supply without input for a moment", nil, []map[string]any{
			entry(3, 5, "Power Supply", "PS2 Status", "Power Supply AC lost"), entry(4, 6, "Power Supply", "PS2 Status", "Power Supply AC lost", "asserted", false),
		}, map[string]string{"supply_input_lost/PS2": "warn"}, "over by the end"},
		{"a supply comes back that was lost before", []map[string]any{entry(1, 0, "Power Supply", "PS2 Status", "Power Supply AC lost")}, []map[string]any{
			entry(1, 0, "Power Supply", "PS2 Status", "Power Supply AC lost"), entry(4, 6, "Power Supply", "PS2 Status", "Power Supply AC lost", "asserted", false),
		}, nil, "none of them a fault"},
		{"fan with readings in the words", nil, []map[string]any{
			entry(3, 5, "Fan", "FAN4", "Lower Critical - going low (reading 0 RPM, threshold 420 RPM)"), entry(4, 6, "Fan", "FAN4", "Lower Critical - going low (reading 5000 RPM, threshold 420 RPM)", "asserted", false),
		}, map[string]string{"fan_failed/FAN4": "warn"}, ""},
		{"fan dead", nil, []map[string]any{entry(3, 5, "Fan", "FAN4", "Lower Critical going low")}, map[string]string{"fan_failed/FAN4": "fail"}, ""},
		{"too hot", nil, []map[string]any{entry(3, 5, "Temperature", "CPU2 Temp", "Upper Critical going high")}, map[string]string{"limit_critical/CPU2": "fail"}, ""},
		{"thermal trip", nil, []map[string]any{entry(3, 5, "Processor", "CPU2", "Thermal Trip")}, map[string]string{"thermal_trip/CPU2": "fail"}, ""},
		{"watchdog", nil, []map[string]any{entry(3, 5, "Watchdog2", "", "Hard reset")}, map[string]string{"watchdog/machine": "fail"}, ""},
		{"panic", nil, []map[string]any{entry(3, 5, "OS Stop/Shutdown", "", "Run-time critical stop")}, map[string]string{"os_crash/machine": "fail"}, "panic"},
		{"cleared", nil, []map[string]any{cleared}, map[string]string{"events/machine": "not_run"}, "cleared"},
		{"cleared in silence", []map[string]any{old}, []map[string]any{boot}, map[string]string{"events/machine": "not_run"}, "is gone"},
		{"full", nil, []map[string]any{entry(3, 5, "Event Logging Disabled", "", "Log full")}, map[string]string{"events/machine": "not_run"}, "no more entries"},
		{"critical and unknown", nil, []map[string]any{entry(3, 5, "OEM", "", "Flux capacitor", "severity", "Critical")}, map[string]string{"unknown_event/machine": "not_run"}, "Flux"},
		{"warning and unknown", nil, []map[string]any{entry(3, 5, "OEM", "", "Flux capacitor", "severity", "Warning")}, map[string]string{"unknown_event/machine": "warn"}, "Flux"},
		{"before the clock was set", nil, []map[string]any{entry(3, 5, "Memory", "DIMM_A1", "Uncorrectable ECC", "time", "1970-01-01T00:00:20Z")}, map[string]string{"memory_uncorrected/DIMM_A1": "fail"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := bmcRecord(map[string]string{"bmc/bmc-sel": selOf(c.before...), "after/bmc-sel": selOf(c.after...)})
			fs := judgeBMCSEL(NewReadings(rec), gpuProfile(t, "hgx-h100-8"), &profiles.Spec{Condition: profiles.New})
			want := map[string]string{"earlier_events/machine": "not_applicable"}
			maps.Copy(want, c.want)
			wantOnly(t, fs, want, c.says)
		})
	}
}

// TestBMCSELProof: silence proves nothing where the log was not read at both ends.
func TestBMCSELProof(t *testing.T) {
	quiet := selOf()
	for _, c := range []struct {
		name  string
		parts map[string]string
		says  string
	}{
		{"not read", nil, "not run"},
		{"not read at the end", map[string]string{"bmc/bmc-sel": quiet}, "not run"},
		{"not read at the beginning", map[string]string{"after/bmc-sel": quiet}, "not known"},
		{"beginning unreadable", map[string]string{"bmc/bmc-sel": "{", "after/bmc-sel": quiet}, "not known"},
		{"end not whole", map[string]string{"bmc/bmc-sel": quiet, "after/bmc-sel": `{"ipmi:/sel":{"entries":[]},"rackproof:reading":{"skew_seconds":0,"missing":["/x: 503"]}}`}, "503"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := judgeBMCSEL(NewReadings(bmcRecord(c.parts)), gpuProfile(t, "hgx-h100-8"), &profiles.Spec{})
			if got := answers(fs)["events/machine"]; got != "not_run" || !strings.Contains(fmt.Sprint(fs), c.says) {
				t.Errorf("%q, want not_run because of %q: %+v", got, c.says, fs)
			}
		})
	}
}

// TestEventsWithoutABeginning: by the BMC's clock what is older is told, and nobody is
// blamed for what has no time.
func TestEventsWithoutABeginning(t *testing.T) {
	skew := 3600.0
	note := BMCNote{Skew: &skew}
	b, err := json.Marshal(map[string]any{"ipmi:/sel": map[string]any{"entries": []map[string]any{
		entry(1, 0, "Processor", "CPU1", "IERR", "time", "2026-02-01T09:59:00Z"), // the test began at ten by the BMC's clock
		entry(2, 0, "Processor", "CPU2", "IERR", "time", ""),
		entry(3, 1, "Fan", "FAN4", "Lower Critical going low"),
	}}, BMCNoteKey: note})
	if err != nil {
		t.Fatal(err)
	}
	fs := judgeBMCSEL(NewReadings(bmcRecord(map[string]string{"after/bmc-sel": string(b)})), gpuProfile(t, "hgx-h100-8"), &profiles.Spec{})
	wantOnly(t, fs, map[string]string{"fan_failed/FAN4": "fail", "events/machine": "not_run", "earlier_events/machine": "not_applicable"}, "2 entries are older")
}

// TestLooseSEL: a log alone shows damage, whenever it was; what may be over is a remark.
func TestLooseSEL(t *testing.T) {
	rec := &Record{Meta: Meta{Coverage: CoverPartial}, Evidence: []*Evidence{{
		Probe: "bmc-sel", Phase: PhaseBefore, Source: FromLoose, Ended: EndedUnknown,
		Out: []byte("1 | 02/01/2026 | 10:00:00 | Event Logging Disabled #0x72 | Log area reset/cleared | Asserted\n" +
			"2 | 02/01/2026 | 10:01:00 | Power Supply #0xc8 | Failure detected | Asserted\n" +
			"3 | 02/01/2026 | 10:02:00 | Memory #0x53 | Correctable ECC | Asserted\n" +
			"4 | 02/01/2026 | 10:03:00 | Processor CPU1 | IERR | Asserted\n"),
	}}}
	fs := judgeBMCSEL(NewReadings(rec), gpuProfile(t, "hgx-h100-8"), &profiles.Spec{Condition: profiles.New})
	wantOnly(t, fs, map[string]string{
		"supply_failed/power supplies": "warn", "memory_corrected/memory": "warn", "cpu_internal_error/CPU1": "fail",
	}, "before or during")
}

// TestCapturedLogsAlone: nothing that captured machines have logged is damage.
func TestCapturedLogsAlone(t *testing.T) {
	for _, vendor := range []string{"dell", "hpe", "lenovo", "nvidia_viking", "supermicro"} {
		out := string(capturedBodies(t, vendor, func(uri string) bool { return strings.Contains(uri, "LogServices") }))
		rec := bmcRecord(map[string]string{"before/bmc-sel": out})
		rec.Meta.Coverage = CoverPartial
		for _, f := range judgeBMCSEL(NewReadings(rec), gpuProfile(t, "hgx-h100-8"), &profiles.Spec{}) {
			if f.Verdict == Fail || f.NotRun != "" {
				t.Errorf("%s: %s %s %s%s", vendor, f.ID, f.Verdict, f.Why, f.NotRun)
			}
		}
		rec = bmcRecord(map[string]string{"bmc/bmc-sel": out, "after/bmc-sel": out})
		fs := judgeBMCSEL(NewReadings(rec), gpuProfile(t, "hgx-h100-8"), &profiles.Spec{Condition: profiles.InService})
		wantOnly(t, fs, map[string]string{"events/machine": "pass", "earlier_events/machine": "not_applicable"}, "older than the test")
	}
}
