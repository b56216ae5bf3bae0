package burnin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

const gdsThroughputName = "gds.throughput"

// gdsThroughput asks whether data goes from the filesystem into the GPUs past main
// memory, and how fast. That it went past is believed of counters alone, with the
// fallback forbidden.
var gdsThroughput = Check{
	Name:   gdsThroughputName,
	Title:  "GPUDirect Storage reads past main memory, and how fast",
	Probes: []string{GDSIO.Spec.Name, GDSStats.Spec.Name},
	Judge:  judgeGDSThroughput,
}

func judgeGDSThroughput(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	const check = gdsThroughputName
	log := ReadAny(r, GDSIO, PhaseLoad, PhaseBefore, PhaseAfter)
	part := Part{Class: ClassDriver, Name: "GPUDirect Storage"}
	direct := About(check, "direct", part, log.Ref)
	given := log.Evidence != nil && (log.OK() || log.Evidence.Source == FromLoose)
	if !given && p.GDS.File == "" && !p.GDS.Read.Set() {
		return []Finding{direct.NotHere("the profile names no file for gdsio (gds.file)")}
	}
	if !log.OK() {
		return []Finding{direct.Missing(log.Err)}
	}
	out := []Finding{directPath(r, direct, log.Value)}
	seen := map[string]bool{}
	for _, run := range log.Value.Runs {
		if !run.Reads() {
			continue
		}
		of := part
		if run.GPU.Set {
			of = gpuByIndex(r, p, run.GPU.V)
		}
		f := About(check, "read", of, log.Ref)
		if seen[f.ID] {
			continue
		}
		seen[f.ID] = true
		out = append(out, log.Value.slowest(f, run.GPU, p.GDS.Read))
	}
	if p.GDS.Read.Set() && len(seen) == 0 {
		out = append(out, About(check, "read", part, log.Ref).Missing(errors.New("gdsio read nothing into a GPU")))
	}
	return append(out, notRead(r, p, log, seen)...)
}

// slowest judges the slowest run of one GPU. A run that moved nothing is none.
func (l *GDSIOLog) slowest(f Finding, gpu Opt[int], limit *profiles.Limit) Finding {
	var rate, latency Opt[float64]
	for _, run := range l.Runs {
		switch {
		case !run.Reads() || run.GPU.Set != gpu.Set || run.GPU.V != gpu.V:
		case !run.Ops.Set || run.Ops.V == 0 || !run.Rate.Set || run.Rate.V <= 0:
			return f.absent(errors.New("gdsio read nothing"), limit)
		case !rate.Set || run.Rate.V < rate.V:
			rate, latency = run.Rate, run.Latency
		}
	}
	f = f.number(rate, profiles.GiBPerSecond, limit)
	if f.NotRun == "" {
		f = f.Because("%.2f GiB/s, %.0f µs a read", rate.V, latency.V)
	}
	return f
}

// gpuByIndex is the GPU that nvidia-smi gives a number.
func gpuByIndex(r *Readings, p *profiles.Profile, index int) Part {
	for _, g := range gpuParts(r, p) {
		if g.Shown && g.Index != nil && *g.Index == index {
			return g.Part
		}
	}
	return Part{Class: gpuClass(p), Name: fmt.Sprintf("GPU (nvidia-smi %d)", index), Index: &index}
}

// notRead are the GPUs that a limit is for and that gdsio did not read into.
func notRead(r *Readings, p *profiles.Profile, log Reading[GDSIOLog], seen map[string]bool) []Finding {
	if !p.GDS.Read.Set() || !slices.ContainsFunc(log.Value.Runs, func(g GDSIORun) bool { return g.GPU.Set }) {
		return nil
	}
	var out []Finding
	for _, g := range gpuParts(r, p) {
		if f := About("gds.throughput", "read", g.Part, log.Ref); !seen[f.ID] {
			out = append(out, f.Missing(errors.New("gdsio did not read into this GPU")))
		}
	}
	return out
}

// directPath judges what the counters say of the path.
func directPath(r *Readings, f Finding, l GDSIOLog) Finding {
	before, after := Read(r, GDSStats, PhaseBefore), Read(r, GDSStats, PhaseAfter)
	f.Evidence = withoutBlanks([]string{f.Evidence[0], before.Ref, after.Ref})
	if through := posixReads(before, after); through > 0 {
		f.Measured = through
		return f.Judged(Fail, fmt.Sprintf("%.0f reads went through main memory", through))
	}
	if len(l.Failed) > 0 {
		f.Measured = l.Failed[0]
		if strings.Contains(l.Failed[0], "not supported") {
			return f.Judged(Fail, "cuFile refuses the direct path: "+l.Failed[0])
		}
		return f.Missing(errors.New("gdsio failed: " + l.Failed[0]))
	}
	moved, err := nvfsReads(before, after)
	switch {
	case !slices.ContainsFunc(l.Runs, GDSIORun.Reads):
		return f.Missing(errors.New("gdsio did not read into a GPU"))
	case err != nil:
		return f.Missing(fmt.Errorf("XferType GPUD alone proves no direct path, and the counters do not tell: %w", err))
	case !l.Refused:
		return f.Missing(errors.New("cuFile was not forbidden to fall back (" + gdsNoCompat + "), so the counters may be of a part of the reads"))
	}
	f.Measured = moved
	return f.Judged(Pass, fmt.Sprintf("%.0f reads by the direct path, none through main memory", moved))
}

// posixReads is the growth of cuFile's reads through main memory; counters of a
// process begin at zero.
func posixReads(before, after Reading[GDSCounters]) float64 {
	if !after.OK() || !after.Value.POSIX.Set {
		return 0
	}
	return after.Value.POSIX.V - before.Value.POSIX.V
}

// nvfsReads is the growth of reads by the direct path, or why it is not known.
func nvfsReads(before, after Reading[GDSCounters]) (float64, error) {
	b, a := before.Value, after.Value
	switch {
	case !after.OK():
		return 0, after.Err
	case a.Direct.Set && a.POSIX.Set && a.Direct.V > 0:
		return a.Direct.V, nil // of the process alone
	case !before.OK():
		return 0, before.Err
	case a.Enabled.Set && !a.Enabled.V:
		return 0, errors.New("nvidia-fs does not count: echo 1 > /sys/module/nvidia_fs/parameters/rw_stats_enabled, and test again")
	case !b.Reads.Set || !a.Reads.Set:
		return 0, errors.New("nvidia-fs shows no count of reads")
	case a.Reads.V <= b.Reads.V:
		return 0, errors.New("nvidia-fs counted no read while gdsio ran")
	case a.Errors.V > b.Errors.V:
		return 0, fmt.Errorf("nvidia-fs counted %.0f reads that failed", a.Errors.V-b.Errors.V)
	}
	return a.Reads.V - b.Reads.V, nil
}
