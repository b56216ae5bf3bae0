package burnin

import (
	"fmt"

	"github.com/rackproof/rackproof/profiles"
)

// gpuNVLinkErrors judges the error counters of the worst link of every GPU by
// their change over the run. With one reading, zero passes and anything else stays open.
var gpuNVLinkErrors = Check{
	Name:   "gpu.nvlink_errors",
	Title:  "No NVLink repeated, recovered or miscounted while it was tested",
	Probes: []string{NVLinkErrors.Spec.Name},
	Judge:  judgeGPUNVLinkErrors,
}

func judgeGPUNVLinkErrors(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	const check = "gpu.nvlink_errors"
	if none := noGPUs(check, p); none != nil {
		return none
	}
	if !p.NVLink.Links.Set() {
		return []Finding{About(check, "all", fleetPart(p)).NotHere("the profile has no NVLink")}
	}
	counters := []struct {
		quantity string
		names    []string // NVLink to 4, then NVLink 5
		limit    *profiles.Limit
	}{
		{"replay_errors", []string{"replay_errors"}, p.NVLink.ReplayErrors},
		{"recovery_errors", []string{"recovery_errors", "link_recovery_failed_events"}, p.NVLink.RecoveryErrors},
		{"crc_errors", []string{"crc_errors", "effective_errors"}, p.NVLink.CRCErrors},
	}
	readings := phaseReadings(r, NVLinkErrors)
	if len(readings) == 0 {
		return []Finding{About(check, "all", fleetPart(p)).Missing(fmt.Errorf("nvlink-errors: %w", ErrNotRun))}
	}
	want := p.NVLink.Links.Number(profiles.Count)
	shown, out := shownGPUs(r, p, check)
	for _, part := range shown {
		for _, c := range counters {
			f := About(check, c.quantity, part.Part, refsOf(readings)...)
			out = append(out, ofClass(nvlinkChange(f, readings, part, c.names, want, c.limit), ClassNVLink))
		}
	}
	return out
}

// nvlinkChange judges one counter of the worst link of a GPU. want is how many links
// there must be counters of; files handed over may show some of them.
func nvlinkChange(f Finding, readings []Reading[NVLinkCounters], part gpuPart, names []string, want float64, l *profiles.Limit) Finding {
	var series []map[int]Opt[float64]
	for _, reading := range readings {
		links, err := linkCounters(reading, part, names)
		if err == nil && reading.Evidence.wrapped() && float64(len(links)) < want {
			err = fmt.Errorf("%s shows %d of %g links", reading.Ref, len(links), want)
		}
		if err != nil {
			return f.absent(err, l)
		}
		series = append(series, links)
	}
	first, last := series[0], series[len(series)-1]
	for link := range first {
		if _, ok := last[link]; !ok {
			return f.absent(fmt.Errorf("NVLink %d was counted before and is not any more", link), l)
		}
	}
	worst, at := worstLink(f, first, last, len(series) > 1, l)
	if worst.Verdict == Fail {
		return worst.Because("NVLink %d counted %v %s over the run", at, worst.Measured, f.Quantity)
	}
	return worst
}

// worstLink judges a counter of every link and returns the worst, with its number.
func worstLink(f Finding, first, last map[int]Opt[float64], twice bool, l *profiles.Limit) (worst Finding, at int) {
	worst, at = f, -1
	for link, now := range last {
		one := f.change(first[link], now, twice, l)
		if now.V == nvlinkTop && first[link].V == nvlinkTop {
			one = f.absent(fmt.Errorf("the counter of NVLink %d stands at %d, where it ends: it cannot grow any more", link, nvlinkTop), l)
		}
		if at < 0 || one.Verdict > worst.Verdict || one.Verdict == worst.Verdict && larger(one, worst) {
			worst, at = one, link
		}
	}
	return worst, at
}

// nvlinkTop is where counters of older NVLinks end, which have 16 bits (seen on V100).
const nvlinkTop = 1<<16 - 1

// larger reports whether a measured more than b.
func larger(a, b Finding) bool {
	x, _ := a.Measured.(float64)
	y, _ := b.Measured.(float64)
	return x > y
}

// linkCounters returns a counter of every link of a part.
func linkCounters(reading Reading[NVLinkCounters], part gpuPart, names []string) (map[int]Opt[float64], error) {
	if !reading.OK() {
		return nil, reading.Err
	}
	g := nvlinkIn(reading.Value.GPUs, part, func(g *NVLinkGPUCounters) (int, string) { return g.Index, g.UUID })
	switch {
	case g == nil:
		return nil, errNotListed
	case g.Refused != "":
		return nil, fmt.Errorf("nvidia-smi nvlink says %q", g.Refused)
	case len(g.Links) == 0:
		return nil, fmt.Errorf("nvidia-smi nvlink prints no counter of this GPU")
	}
	links := map[int]Opt[float64]{}
	for link, counters := range g.Links {
		for _, name := range names {
			if o, ok := counters[name]; ok && !links[link].Set {
				links[link] = o
			}
		}
		if _, ok := links[link]; !ok {
			links[link] = Opt[float64]{}
		}
	}
	return links, nil
}
