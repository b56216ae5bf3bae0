package burnin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

const gdsioRun = "IoType: READ XferType: GPUD Threads: 4 DataSetSize: 18421760/10485760(KiB) IOSize: 1024(KiB) Throughput: 6.50 GiB/sec, Avg_Latency: 1387.5 usecs ops: 28734 total_time 4.98 secs\n"

// gdsPage is the record of a run of gdsio between two readings of the counters.
func gdsPage(command, out, before, after string) *Record {
	rec := phases("gds-stats", before, after)
	load := loadPage("gdsio", out, "", 0).Evidence
	load[0].Command = command
	rec.Evidence = append(rec.Evidence, load...)
	return rec
}

func nvfs(enabled string, reads, errs int) string {
	if enabled == "Disabled" {
		return "NVFS statistics(ver: 4.0)\nIO stats: Disabled, peer IO stats: Disabled\nReads : err=0 io_state_err=0\nOps : Read=0 Write=0 BatchIO=0\n"
	}
	return fmt.Sprintf("NVFS statistics(ver: 4.0)\nIO stats: Enabled, peer IO stats: Enabled\nReads : n=%d ok=%d err=%d readMiB=%d io_state_err=0\nReads : Bandwidth(MiB/s)=0 Avg-Latency(usec)=0\nOps : Read=0 Write=0\n", reads+errs, reads, errs, reads)
}

func TestGDSThroughput(t *testing.T) {
	const direct, read = "gds.throughput/direct/GPUDirect Storage", "gds.throughput/read/GPUDirect Storage"
	refused := gdsNoCompat + " gdsio"
	floor := ratedLimit(profiles.Min, 6, profiles.GiBPerSecond)
	for _, c := range []struct {
		name, command, out, before, after string
		limit                             *profiles.Limit
		want                              map[string]string
	}{
		{"direct", refused, gdsioRun, nvfs("Enabled", 10, 0), nvfs("Enabled", 28744, 0), floor, map[string]string{direct: "pass", read: "pass"}},
		{"recorded", refused, gdsioRun, nvfs("Enabled", 10, 0), nvfs("Enabled", 28744, 0), nil, map[string]string{direct: "pass", read: "not_applicable"}},
		{"slow", refused, strings.Replace(gdsioRun, "6.50", "5.10", 1), nvfs("Enabled", 10, 0), nvfs("Enabled", 28744, 0), floor, map[string]string{direct: "pass", read: "fail"}},
		{"the slower of two", refused, gdsioRun + strings.Replace(gdsioRun, "6.50", "5.10", 1), nvfs("Enabled", 10, 0), nvfs("Enabled", 28744, 0), floor, map[string]string{direct: "pass", read: "fail"}},
		{"the driver counted nothing", refused, gdsioRun, nvfs("Enabled", 10, 0), nvfs("Enabled", 10, 0), nil, map[string]string{direct: "not_run"}},
		{"the driver does not count", refused, gdsioRun, nvfs("Disabled", 0, 0), nvfs("Disabled", 0, 0), nil, map[string]string{direct: "not_run"}},
		{"reads failed", refused, gdsioRun, nvfs("Enabled", 10, 0), nvfs("Enabled", 28744, 3), nil, map[string]string{direct: "not_run"}},
		{"the fallback was allowed", "gdsio", gdsioRun, nvfs("Enabled", 10, 0), nvfs("Enabled", 28744, 0), nil, map[string]string{direct: "not_run"}},
		{"no counters", refused, gdsioRun, "", "", nil, map[string]string{direct: "not_run"}},
		{"cuFile's own counters", refused, gdsioRun, "", "nvfs=28784 posix=0\n", nil, map[string]string{direct: "pass"}},
		{"cuFile fell back", refused, gdsioRun, "", "GPU 0 Read: bw=0.69 util(%)=199 n=7316 posix=7316 unalign=0 err=0 MiB=7300 Write: bw=0 n=0 posix=0\n", nil, map[string]string{direct: "fail"}},
		{"refused", refused, "file register error: GPUDirect Storage not supported on current file filename:/data/x\n", "", "", nil, map[string]string{direct: "fail"}},
		{"another error", refused, "error: cannot open device 0\n", "", "", floor, map[string]string{direct: "not_run", read: "not_run"}},
		{"through the processor", refused, strings.Replace(gdsioRun, "GPUD", "CPU_GPU", 1), nvfs("Enabled", 10, 0), nvfs("Enabled", 28744, 0), floor, map[string]string{direct: "not_run", read: "not_run"}},
		{"nothing moved", refused, strings.Replace(gdsioRun, "ops: 28734", "ops: 0", 1), nvfs("Enabled", 10, 0), nvfs("Enabled", 10, 0), floor, map[string]string{direct: "not_run", read: "not_run"}},
		{"cut", refused, gdsioRun[:120], nvfs("Enabled", 10, 0), nvfs("Enabled", 28744, 0), floor, map[string]string{direct: "not_run"}},
		{
			"by GPU", refused, "#gdsio gpu 0\n" + gdsioRun + "#gdsio gpu 1\n" + strings.Replace(gdsioRun, "6.50", "1.10", 1), nvfs("Enabled", 10, 0), nvfs("Enabled", 28744, 0), floor,
			map[string]string{direct: "pass", "gds.throughput/read/GPU (nvidia-smi 0)": "pass", "gds.throughput/read/GPU (nvidia-smi 1)": "fail"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &profiles.Profile{GDS: profiles.GDS{File: "/data/x", Read: c.limit}}
			wantAnswers(t, judged(t, gdsPage(c.command, c.out, c.before, c.after), p, newGPUParts, gdsThroughput), c.want, true)
		})
	}
	none := judged(t, phases("gds-stats", "", ""), &profiles.Profile{}, newGPUParts, gdsThroughput)
	wantAnswers(t, none, map[string]string{direct: "not_applicable"}, true)
	wanted := judged(t, phases("gds-stats", "", ""), &profiles.Profile{GDS: profiles.GDS{File: "/data/x"}}, newGPUParts, gdsThroughput)
	wantAnswers(t, wanted, map[string]string{direct: "not_run"}, true)
}

func TestGDSCorpus(t *testing.T) {
	files := map[string][]byte{
		"load/gdsio": corpus(t, "gds/gdsio-lines.txt"), "before/gds-stats": corpus(t, "gds/nvidia-fs-stats.txt"), "after/gds-stats": corpus(t, "gds/nvidia-fs-stats.txt"),
	}
	rec := looseHost(files)
	wantAnswers(t, judged(t, rec, &profiles.Profile{}, newGPUParts, gdsThroughput), map[string]string{"gds.throughput/direct/GPUDirect Storage": "fail"}, true)
	// Without its last line, of a file that was refused, the word GPUD proves nothing.
	out, _, _ := strings.Cut(string(files["load/gdsio"]), "file register error")
	files["load/gdsio"] = []byte(out)
	got := judged(t, looseHost(files), &profiles.Profile{}, newGPUParts, gdsThroughput)
	wantAnswers(t, got, map[string]string{"gds.throughput/direct/GPUDirect Storage": "not_run"}, true)
	l, err := parseGDSIO(loose(out))
	if err != nil || len(l.Runs) != 7 || l.Runs[1].Rate.V != 1.833908 || l.Runs[1].Ops.V != 71960 || l.Runs[0].Reads() || !l.Runs[1].Reads() {
		t.Errorf("%+v, %v", l, err)
	}
}

// The load reads the profile's file and nothing else, and never writes.
func TestGDSReadCommand(t *testing.T) {
	line := gdsRead(&profiles.Profile{GDS: profiles.GDS{File: "/data/it's here"}}, time.Minute)
	for _, want := range []string{gdsNoCompat, "-I 0 -x 0", `'/data/it'\''s here'`, "seconds=60"} {
		if !strings.Contains(line, want) {
			t.Errorf("no %q in %s", want, line)
		}
	}
	if line := gdsRead(nil, time.Minute); strings.Contains(line, "tool") {
		t.Errorf("without a file it does %s", line)
	}
}

func FuzzGDSIO(f *testing.F) {
	fuzzParser(f, "gdsio", gdsioRun, "#gdsio gpu 3\n"+gdsioRun+gdsioEnd+"\n")
}

func FuzzGDSStats(f *testing.F) {
	fuzzParser(f, "gds-stats", nvfs("Enabled", 10, 1), nvfs("Disabled", 0, 0), "nvfs=28784 posix=0\n")
}
