package burnin

import (
	"strings"
	"testing"
)

// TestFirmwareFirstMemory: where the kernel counts nothing, the BMC's log answers, if it
// was read at both ends and the kernel's log is whole.
func TestFirmwareFirstMemory(t *testing.T) {
	const none = "#rackproof-edac 1\n#rackproof-edac-end 0\n"
	quiet := selOf()
	for _, c := range []struct {
		name          string
		edac          string
		before, after string
		change        func(*Record)
		want          map[string]string
		says          string
	}{
		{"healthy", none, quiet, selOf(entry(2, 5, "System Event", "", "OEM System boot event")), nil, map[string]string{"uncorrected/memory": "pass", "corrected/memory": "pass"}, "takes memory errors first"},
		{
			"uncorrected", none, quiet, selOf(entry(2, 5, "Memory", "", "Uncorrectable ECC @P1-DIMMB1")), nil,
			map[string]string{"uncorrected/DIMM P1-DIMMB1": "fail", "uncorrected/memory": "pass", "corrected/memory": "pass"},
			"lost data",
		},
		{
			"corrected", none, quiet, selOf(entry(2, 5, "Memory", "", "Correctable ECC @P1-DIMMB1")), nil,
			map[string]string{"corrected/DIMM P1-DIMMB1": "fail", "uncorrected/memory": "pass", "corrected/memory": "pass"},
			"corrected",
		},
		{
			"old error", none, selOf(entry(1, 5, "Memory", "", "Uncorrectable ECC @P1-DIMMB1")), selOf(entry(1, 5, "Memory", "", "Uncorrectable ECC @P1-DIMMB1")), nil,
			map[string]string{"uncorrected/memory": "pass", "corrected/memory": "pass"},
			"",
		},
		{
			"log cleared", none, quiet, selOf(entry(2, 5, "Event Logging Disabled", "", "Log area reset/cleared")), nil,
			map[string]string{"uncorrected/memory": "not_run", "corrected/memory": "not_run"},
			"cleared",
		},
		{"log read at one end only", none, quiet, "", nil, map[string]string{"uncorrected/memory": "not_run", "corrected/memory": "not_run"}, "does not prove it either"},
		{"no BMC", none, "", "", nil, map[string]string{"uncorrected/memory": "not_run", "corrected/memory": "not_run"}, "counts no memory errors"},
		{"host only", none, quiet, quiet, func(rec *Record) { rec.Meta.Coverage = CoverHost }, map[string]string{"uncorrected/memory": "not_run", "corrected/memory": "not_run"}, "counts no memory errors"},
		{"counters cut", "#rackproof-edac 1\n", quiet, quiet, nil, map[string]string{"uncorrected/memory": "not_run", "corrected/memory": "not_run"}, ""},
		{
			"kernel log lost", none, quiet, quiet, func(rec *Record) { rec.find(PhaseAfter, "kernel-log", "").Ended = EndedLost },
			map[string]string{"uncorrected/memory": "not_run", "corrected/memory": "not_run", "events/memory": "not_run"},
			"kernel-log",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := hostNode(t)
			for _, phase := range []Phase{PhaseBefore, PhaseAfter} {
				rec.find(phase, "edac", "").Out = []byte(c.edac + "\n" + endMark + "0\n")
			}
			drop(t, rec, "before/ras", "after/ras")
			for ref, out := range map[string]string{"bmc/bmc-sel": c.before, "after/bmc-sel": c.after} {
				if out != "" {
					rec.Evidence = append(rec.Evidence, bmcRecord(map[string]string{ref: out}).Evidence...)
				}
			}
			if c.change != nil {
				c.change(rec)
			}
			p := gpuProfile(t, "host-node")
			got := judgeMemoryErrors(NewReadings(rec), p, newGPUParts)
			found := answers(got)
			text := ""
			for _, f := range got {
				text += f.Why + f.NotRun + "\n"
			}
			for id, answer := range c.want {
				if found[id] != answer {
					t.Errorf("%s is %q, want %q: %v", id, found[id], answer, found)
				}
			}
			if found["events/memory"] != "pass" && c.want["events/memory"] == "" {
				t.Errorf("events: %q", found["events/memory"])
			}
			if !strings.Contains(text, c.says) {
				t.Errorf("nothing says %q:\n%s", c.says, text)
			}
		})
	}
}
