package burnin_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
)

// findingOf returns the finding with an id, or what was not run, as one line; "" for neither.
func findingOf(j burnin.Judgement, id string) string {
	for _, f := range j.Findings {
		if f.ID == id {
			return f.Verdict.String() + ": " + f.Why
		}
	}
	for _, n := range j.NotRun {
		if n.Check+"/"+n.Quantity+"/"+n.Part == id {
			return "not_run: " + n.Why
		}
	}
	return ""
}

// Samples under load that were lost, that failed, or in which a GPU did not answer.
func TestSamplesUnderLoad(t *testing.T) {
	base, to := healthyHGX(t)
	const driver = "gpu.driver/samples/NVIDIA driver"
	lose := func(e *burnin.Evidence, i int) { e.Samples[i].Out = nil }
	say := func(text string) func(*burnin.Evidence, int) {
		return func(e *burnin.Evidence, i int) { e.Samples[i].Out = []byte(text + "\n\n#rackproof-end 0\n") }
	}
	field := func(from, with string) func(*burnin.Evidence, int) {
		return func(e *burnin.Evidence, i int) {
			e.Samples[i].Out = []byte(strings.Replace(string(e.Samples[i].Out), from, with, 1))
		}
	}
	rows := []struct {
		name, ref string
		do        func(*burnin.Evidence, int)
		want      burnin.Result
		id, says  string
	}{
		{"one is lost", "load/nvidia-smi", lose, burnin.Passed, driver, "warn: 1 of"},
		{"one of sysfs is lost", "load/pci-sysfs", lose, burnin.Passed, "pcie.link/samples/machine", "warn: 1 of"},
		{"none can be read", "load/nvidia-smi", func(e *burnin.Evidence, _ int) {
			for i := range e.Samples {
				lose(e, i)
			}
		}, burnin.Incomplete, driver, "not_run: for"},
		{"a minute without any", "load/pci-sysfs", func(e *burnin.Evidence, i int) {
			for ; i < len(e.Samples); i++ {
				e.Samples[i].At = e.Samples[i].At.Add(2 * time.Minute)
			}
		}, burnin.Incomplete, "pcie.link/samples/machine", "not_run: for"},
		{"the driver fails once", "load/nvidia-smi", say("Failed to initialize NVML: Unknown Error"), burnin.Failed, "gpu.driver/answers/NVIDIA driver", "fail: Failed to initialize NVML"},
		{"all GPUs are lost once", "load/nvidia-smi", say("Unable to determine the device handle for GPU0000:4B:00.0: Unknown Error"), burnin.Failed, "gpu.driver/answers/NVIDIA driver", "fail: Unable to"},
		{"an error in place of a value once", "load/nvidia-smi", field("P0", "ERR!"), burnin.Failed, "gpu.driver/answers/NVIDIA driver", ""},
		{"a GPU wants a reset once", "load/nvidia-smi", field(" P0,", " [GPU requires reset],"), burnin.Failed, "gpu.driver/answers/NVIDIA driver", ""},
		{"a GPU is lost once, and not named", "load/nvidia-smi", func(e *burnin.Evidence, i int) {
			e.Samples[i].Out = append([]byte("Unable to determine the device handle: GPU is lost.  Reboot the system to recover this GPU\n"), e.Samples[i].Out...)
		}, burnin.Failed, "gpu.driver/messages/NVIDIA driver/1", "fail: nvidia-smi says"},
		{"a GPU has no line once", "load/nvidia-smi", func(e *burnin.Evidence, i int) {
			lines := strings.SplitAfter(string(e.Samples[i].Out), "\n")
			e.Samples[i].Out = []byte(strings.Join(append(lines[:3:3], lines[4:]...), ""))
		}, burnin.Failed, "gpu.count/count/GPUs", "fail: 7 of 8 GPUs"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			rec := copyRecord(base)
			e := evidenceOf(t, rec, row.ref)
			row.do(e, len(e.Samples)/2)
			j := to.of(rec)
			if j.Result != row.want {
				t.Errorf("result %s, want %s: %s", j.Result, row.want, describe(j))
			}
			if got := findingOf(j, row.id); !strings.HasPrefix(got, row.says) {
				t.Errorf("%s is %q, want %q", row.id, got, row.says)
			}
		})
	}
}

// Pages of one probe that were exchanged prove nothing by their difference.
func TestExchangedPages(t *testing.T) {
	base, to := healthyHGX(t)
	rec := copyRecord(base)
	before, after := evidenceOf(t, rec, "before/edac"), evidenceOf(t, rec, "after/edac")
	before.Started, after.Started = after.Started, before.Started
	if j := to.of(rec); j.Result != burnin.Passed {
		t.Errorf("only our clock differs, as another laptop's may: %s", describe(j))
	}
	before.NodeClock, after.NodeClock = after.NodeClock, before.NodeClock
	if j := to.of(rec); j.Result != burnin.Incomplete || !strings.Contains(describe(j), "in place of the other") {
		t.Error(describe(j))
	}
}
