package burnin

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

const (
	vmHogs    = "stress-ng: info:  [77] dispatching hogs: 8 vm\n"
	vmMetric  = "stress-ng: metrc: [77] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s\nstress-ng: metrc: [77] vm               106513      4.02      1.77      1.83     26475.91       29573.72\n"
	vmIdle    = "stress-ng: metrc: [77] vm                    0      2.00      0.00      0.00         0.00           0.00\n"
	vmCounts  = "stress-ng: info:  [77] skipped: 0\nstress-ng: info:  [77] passed: 8: vm (8)\nstress-ng: info:  [77] failed: 0\nstress-ng: info:  [77] metrics untrustworthy: 0\n"
	vmSuccess = "stress-ng: info:  [77] successful run completed in 4.03s\n"
	vmTaken   = "#rackproof-memory 4096 MiB\n"
	vmBits    = "stress-ng: fail:  [78] vm: detected 3 bit errors while stressing memory\n"
)

// What stress-ng says at its end is believed only with work and without skips: version
// 0.15 calls a run successful whose workers got no memory, and did nothing.
func TestMemoryStressByStressNG(t *testing.T) {
	none := ratedLimit(profiles.Max, 0, profiles.Count)
	for _, c := range []struct {
		name, out, err string
		exit           int
		want           string
	}{
		{"version 0.15", vmTaken, vmHogs + vmMetric + vmSuccess, 0, "pass"},
		{"version 0.17", vmTaken, vmHogs + vmMetric + vmCounts + vmSuccess, 0, "pass"},
		{"all in one stream", vmTaken + vmHogs + vmMetric + vmCounts + vmSuccess, "", 0, "pass"},
		{"bits", vmTaken, vmHogs + vmBits + vmMetric + "stress-ng: info:  [77] unsuccessful run completed in 4.03s\n", 2, "fail"},
		{"bits, and a success", vmTaken, vmHogs + vmBits + vmMetric + vmSuccess, 0, "fail"},
		{"got no memory", vmTaken, vmHogs + vmIdle + vmSuccess, 0, "not_run"},
		{"no counts of work", vmTaken, vmHogs + vmSuccess, 0, "not_run"},
		{"N/A of work", vmTaken, vmHogs + strings.ReplaceAll(vmMetric, "106513", "N/A") + vmSuccess, 0, "not_run"},
		{"skipped", vmTaken, vmHogs + vmMetric + strings.ReplaceAll(vmCounts, "skipped: 0", "skipped: 8: vm (8)") + vmSuccess, 0, "not_run"},
		{"some passed", vmTaken, vmHogs + vmMetric + strings.ReplaceAll(vmCounts, "passed: 8", "passed: 7") + vmSuccess, 0, "not_run"},
		{"some failed", vmTaken, vmHogs + vmMetric + strings.ReplaceAll(vmCounts, "failed: 0", "failed: 1: vm (1)") + vmSuccess, 0, "not_run"},
		{"another failure", vmTaken, vmHogs + "stress-ng: fail:  [78] vm: mmap failed\n" + vmMetric + vmSuccess, 2, "not_run"},
		{"exit 3", vmTaken, vmHogs + vmMetric + vmSuccess, 3, "not_run"},
		{"cut", vmTaken, vmHogs, 0, "not_run"},
		{"of processors", vmTaken, "stress-ng: info:  [77] dispatching hogs: 8 cpu\n" + strings.ReplaceAll(vmMetric, "] vm ", "] cpu") + vmSuccess, 0, "not_run"},
		{"something else", "Status: PASS\n", "", 0, "not_run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &profiles.Profile{Memory: profiles.Memory{StressErrors: none}}
			got := judged(t, loadPage("stress-ng-memory", c.out, c.err, c.exit), p, newGPUParts, memoryStress)
			wantAnswers(t, got, map[string]string{"memory.stress/errors/memory": c.want}, true)
		})
	}
}

// Where stressapptest ran too, its own words count.
func TestStressAppTestGoesFirst(t *testing.T) {
	rec := loadPage("stress-ng-memory", vmTaken+vmHogs+vmMetric+vmSuccess, "", 0)
	rec.Evidence = append(rec.Evidence, loadPage("memory-stress", "Log: Commandline - stressapptest\n", "", 1).Evidence...)
	p := &profiles.Profile{Memory: profiles.Memory{StressErrors: ratedLimit(profiles.Max, 0, profiles.Count)}}
	wantAnswers(t, judged(t, rec, p, newGPUParts, memoryStress), map[string]string{"memory.stress/errors/memory": "not_run"}, true)
}

// The real program, where it is installed, is run as on a node, and passes.
func TestStressNGMemoryRuns(t *testing.T) {
	if _, err := exec.LookPath("stress-ng"); err != nil {
		t.Skip("stress-ng is not installed here")
	}
	if testing.Short() {
		t.Skip("takes 3 s")
	}
	share := ratedLimit(profiles.Equal, 1, profiles.Percent)
	p := &profiles.Profile{Load: profiles.Load{MemoryShare: share}, Memory: profiles.Memory{StressErrors: ratedLimit(profiles.Max, 0, profiles.Count)}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", stressNGMemory(p, 3*time.Second))
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s%s", err, out.String(), errs.String())
	}
	wantAnswers(t, judged(t, loadPage("stress-ng-memory", out.String(), errs.String(), 0), p, newGPUParts, memoryStress),
		map[string]string{"memory.stress/errors/memory": "pass"}, true)
}
