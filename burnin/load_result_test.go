package burnin

import (
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

const (
	satBegin = "Log: Commandline - stressapptest -W -M 1024 -s 30\nStats: SAT revision 1.0.9_autoconf, 64 bit binary\nStats: Starting SAT, 1024M, 30 seconds\n"
	satGood  = "Stats: Found 0 hardware incidents\nStats: Completed: 9008.00M in 30.01s 1797.26MB/s, with 0 hardware incidents, 0 errors\n" +
		"Stats: Memory Copy: 9008.00M at 1802.77MB/s\n\nStatus: PASS - please verify no corrected errors\n"
	satFaultLine = "Report Error: miscompare : DIMM Unknown : 1 : 1s\nHardware Error: miscompare on CPU 1(0x2) at 0x7fed1e9aeb60(0xaa907e:DIMM Unknown): read:0x00ba, reread:0x00ba expected:0x0004\n"
	satBad       = "Stats: Found 1 hardware incidents\nStats: Completed: 9008.00M in 30.01s 1797.26MB/s, with 1 hardware incidents, 0 errors\n\nStatus: FAIL - test discovered HW problems\n"
)

// loadPage is what a load printed, in a record of a run.
func loadPage(probe, out, err string, exit int) *Record {
	began := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	return &Record{Meta: Meta{Coverage: CoverHost}, Evidence: []*Evidence{{
		Probe: probe, Phase: PhaseLoad, Source: FromSSH, Ended: EndedExit, Exit: &exit, Started: began, Out: []byte(out), Err: []byte(err),
	}}}
}

func TestMemoryStress(t *testing.T) {
	const memory = "memory.stress/errors/memory"
	for _, c := range []struct {
		name, out string
		exit      int
		want      map[string]string
	}{
		{"passed", satBegin + satGood, 0, map[string]string{memory: "pass"}},
		{"passed, lines with the time", strings.ReplaceAll(satBegin+satGood, "\nSt", "\n2026/11/30-10:00:01(UTC) St"), 0, map[string]string{memory: "pass"}},
		{"cut before its end", satBegin + satGood[:80], 0, map[string]string{memory: "not_run"}},
		{"killed", satBegin, 137, map[string]string{memory: "not_run"}},
		{"a difference", satBegin + satFaultLine + satBad, 1, map[string]string{memory: "fail"}},
		{"a difference, then killed", satBegin + satFaultLine, 137, map[string]string{memory: "fail"}},
		{"a difference, and the DIMM is known", satBegin + strings.ReplaceAll(satFaultLine, "DIMM Unknown", "DIMM P1-DIMMA1") + satBad, 1, map[string]string{"memory.stress/errors/DIMM P1-DIMMA1": "fail"}},
		{"incidents and no line of them", satBegin + satBad, 1, map[string]string{memory: "fail"}},
		{"it could not begin", "Log: Commandline - stressapptest -M 99999999\nProcess Error: Sat::Initialize() failed\n\nStatus: FAIL - test encountered procedural errors\n", 1, map[string]string{memory: "not_run"}},
		{"PASS behind FAIL", satBegin + "Status: FAIL - test encountered procedural errors\n" + satGood, 0, map[string]string{memory: "not_run"}},
		{"errors of the program", satBegin + strings.Replace(satGood, ", 0 errors", ", 2 errors", 1), 0, map[string]string{memory: "not_run"}},
		{"nothing", "", 0, map[string]string{memory: "not_run"}},
		{"something else", "command not found\n", 127, map[string]string{memory: "not_run"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &profiles.Profile{Memory: profiles.Memory{StressErrors: countLimit(profiles.Max, 0)}}
			wantAnswers(t, judged(t, loadPage("memory-stress", c.out, "", c.exit), p, newGPUParts, memoryStress), c.want, true)
		})
	}
	absent := &Record{Meta: Meta{Coverage: CoverHost}, Evidence: []*Evidence{{Probe: "memory-stress", Phase: PhaseLoad, Ended: EndedNoTool}}}
	p := &profiles.Profile{Memory: profiles.Memory{StressErrors: countLimit(profiles.Max, 0)}}
	wantAnswers(t, judged(t, absent, p, newGPUParts, memoryStress), map[string]string{memory: "not_run"}, true)
}

const fioJob = `{"jobname":"nvme0n1","error":0,"job options":{"filename":"/dev/nvme0n1"},"read":{"bw_bytes":3200000000,"bw":3125000,"iops":24414.1,"total_ios":99999,"clat_ns":{"percentile":{"99.000000":1650000}}}}`

func fioPage(jobs ...string) string {
	return "{\n" + `"fio version":"fio-3.36","global options":{"rw":"randread"},"jobs":[` + strings.Join(jobs, ",") + "]}\n"
}

func TestNVMeThroughput(t *testing.T) {
	const bay = "/NVMe bay 0"
	dead := strings.Replace(fioJob, `"error":0`, `"error":61`, 1)
	rate := func(mbps float64) *profiles.Limit {
		return &profiles.Limit{Relation: profiles.Min, Value: profiles.Quantity{Value: mbps, Unit: profiles.MBPerSecond}, Provenance: profiles.FromAgreed, Source: "the test"}
	}
	for _, c := range []struct {
		name, out, err string
		floor          *profiles.Limit
		exit           int
		want           map[string]string
	}{
		{"recorded", fioPage(fioJob), "", nil, 0, map[string]string{"nvme.throughput/errors" + bay: "pass", "nvme.throughput/read" + bay: "not_applicable"}},
		{"fast enough", fioPage(fioJob), "", rate(3000), 0, map[string]string{"nvme.throughput/read" + bay: "pass", "nvme.throughput/read/NVMe bay 1": "not_run"}},
		{"slow", fioPage(fioJob), "", rate(3300), 0, map[string]string{"nvme.throughput/read" + bay: "fail", "nvme.throughput/read/NVMe bay 1": "not_run"}},
		{"only KiB/s", fioPage(strings.Replace(fioJob, `"bw_bytes":3200000000,`, "", 1)), "", rate(3200), 0, map[string]string{"nvme.throughput/read" + bay: "pass", "nvme.throughput/read/NVMe bay 1": "not_run"}},
		{"warnings before the JSON", "fio: a warning {\n" + fioPage(fioJob), "", nil, 0, map[string]string{"nvme.throughput/errors" + bay: "pass"}},
		{"a medium error", fioPage(dead), "fio: io_u error on file /dev/nvme0n1: No data available: read offset=1048576, buflen=131072\n", nil, 1, map[string]string{"nvme.throughput/errors" + bay: "fail"}},
		{"not allowed", fioPage(strings.Replace(fioJob, `"error":0`, `"error":13`, 1)), "", nil, 1, map[string]string{"nvme.throughput/errors" + bay: "not_run"}},
		{"nothing read", fioPage(strings.Replace(fioJob, "99999", "0", 1)), "", nil, 0, map[string]string{"nvme.throughput/errors" + bay: "not_run"}},
		{"no jobs", fioPage(), "", nil, 1, map[string]string{"nvme.throughput/errors/NVMe drives": "not_run"}},
		{"no jobs because of an I/O error", "fio: pid=4896, err=5/file:ioengines.c:351, func=td_io_queue, error=Input/output error\n" + fioPage(), "", nil, 1, map[string]string{"nvme.throughput/errors/NVMe drives": "fail"}},
		{"no JSON, and a floor", "fio: engine libaio not loadable\n", "", rate(1), 1, map[string]string{"nvme.throughput/read/NVMe drives": "not_run"}},
		{"cut, and a floor", fioPage(fioJob)[:200], "", rate(1), 0, map[string]string{"nvme.throughput/read/NVMe drives": "not_run"}},
		{"a drive that nothing else shows", fioPage(strings.ReplaceAll(fioJob, "nvme0n1", "nvme9n1")), "", nil, 0, map[string]string{"nvme.throughput/errors/NVMe /dev/nvme9n1": "pass"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := *gpuProfile(t, "host-node")
			p.NVMe.ReadRate = c.floor
			rec := hostNode(t)
			rec.Evidence = append(rec.Evidence, loadPage("fio", c.out, c.err, c.exit).Evidence...)
			wantAnswers(t, judged(t, rec, &p, newGPUParts, nvmeThroughput), c.want, true)
		})
	}
}

// Captures of fio: the right reading of each stands in the corpus' INDEX.
func TestFioCorpus(t *testing.T) {
	l, err := parseFio(loose(string(corpus(t, "fio/superbench-disk_performance.log"))))
	if err != nil || l.Version != "fio-3.16" || len(l.Jobs) == 0 {
		t.Fatalf("%+v, %v", l, err)
	}
	if j := l.Jobs[0]; j.Error != 0 || j.File != "/dev/nvme0n1" || j.Read.V != 348743777 || int(j.IOPS.V) != 85138 {
		t.Errorf("first job %+v", j)
	}
	rec := looseHost(map[string][]byte{"load/fio": corpus(t, "fio/axboe-731-error-lines-before-json.txt")})
	got := judged(t, rec, gpuProfile(t, "host-node"), newGPUParts, nvmeThroughput)
	wantAnswers(t, got, map[string]string{"nvme.throughput/errors/NVMe drives": "fail"}, true)
}

func TestProcessors(t *testing.T) {
	const computing = "cpu/computing/processors"
	const good = "stress-ng: info:  [123] dispatching hogs: 8 cpu\nstress-ng: info:  [123] successful run completed in 30.02s\n"
	for _, c := range []struct {
		name, err string
		exit      int
		want      string
	}{
		{"good", good, 0, "pass"},
		{"a wrong result", "stress-ng: fail:  [124] cpu: method 'fft' detected wrong result\n" + good, 2, "fail"},
		{"a wrong result, and no end", "stress-ng: fail:  [124] cpu: method 'fft' detected wrong result\n", 137, "fail"},
		{"not its end", "stress-ng: info:  [123] dispatching hogs: 8 cpu\n", 0, "not_run"},
		{"unsuccessful", "stress-ng: info:  [123] unsuccessful run completed in 30.02s\n", 2, "not_run"},
		{"something else", "sh: stress-ng: not found\n", 127, "not_run"},
		{"nothing computed", "stress-ng: metrc: [123] cpu                    0     30.00      0.00      0.00         0.00           0.00\n" + good, 0, "not_run"},
		{"skipped", "stress-ng: info:  [123] skipped: 8: cpu (8)\n" + good, 0, "not_run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := judged(t, loadPage("stress-ng", "", c.err, c.exit), &profiles.Profile{}, newGPUParts, processors)
			if f := got[computing]; gpuAnswer(f) != c.want {
				t.Errorf("%s (%s%s), want %s", gpuAnswer(f), f.Why, f.NotRun, c.want)
			}
		})
	}
	models := func(words ...string) *profiles.Limit {
		return &profiles.Limit{Relation: profiles.OneOf, Text: words, Provenance: profiles.FromAgreed, Source: "the test"}
	}
	const name = "Intel(R) Xeon(R) Platinum 8462Y+"
	for pattern, want := range map[string]Verdict{"Intel(R) Xeon(R) Platinum 84*": Pass, name: Pass, "AMD EPYC 9??5*": Fail} {
		if f := cpuModel(About("cpu", "model", processorsPart), name, models(pattern)); f.Verdict != want || f.Measured != name {
			t.Errorf("%s by %s is %s", f.Measured, pattern, f.Verdict)
		}
	}
}

// The memory load takes what the profile allows, and less where it could not be filled.
func TestStressMemoryCommand(t *testing.T) {
	p := &profiles.Profile{}
	if hasClass(ClassDIMM, &Facts{}, p) {
		t.Error("a profile that names no share has a load of memory")
	}
	p.Load.MemoryShare = &profiles.Limit{Relation: profiles.Max, Value: profiles.Quantity{Value: 40, Unit: profiles.Percent}}
	line := stressMemory(p, 10*time.Minute)
	for _, want := range []string{"seconds=600", "* 40 / 100", "most=$((seconds * 1024))"} {
		if !strings.Contains(line, want) {
			t.Errorf("no %q in %s", want, line)
		}
	}
}
