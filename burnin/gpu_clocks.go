package burnin

import (
	"fmt"
	"slices"

	"github.com/rackproof/rackproof/profiles"
)

// gpuClocks asks whether each GPU may run as fast as its model does, whether somebody set
// it slower, and what held it back under load. Reaching the power limit is normal.
var gpuClocks = Check{
	Name:   "gpu.clocks",
	Title:  "Every GPU may run at its model's clocks, and nothing but its power held it back under load",
	Probes: []string{NvidiaSMI.Spec.Name},
	Judge:  judgeGPUClocks,
}

func judgeGPUClocks(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	const check = "gpu.clocks"
	if none := noGPUs(check, p); none != nil {
		return none
	}
	loads, out := gpusUnderLoad(r, p, check)
	for _, l := range loads {
		states := l.stated(r)
		most := func(quantity string, limit *profiles.Limit, of func(*NvidiaGPU) Opt[float64]) Finding {
			v, ref := statedOf(states, of)
			return About(check, quantity, l.part.Part, ref).number(v, profiles.MHz, limit)
		}
		out = append(out,
			most("sm_max", p.GPU.SMClock, func(g *NvidiaGPU) Opt[float64] { return g.SMMax }),
			most("memory_max", p.GPU.MemoryClock, func(g *NvidiaGPU) Opt[float64] { return g.MemoryMax }),
			l.application(check, "application_graphics", states, func(g *NvidiaGPU) (set, first Opt[float64]) { return g.AppGraphics, g.FirstGraphics }),
			l.application(check, "application_memory", states, func(g *NvidiaGPU) (set, first Opt[float64]) { return g.AppMemory, g.FirstMemory }),
			l.free(check, states, p),
			l.recorded(l.about(check, "sm"), profiles.MHz, func(g *NvidiaGPU) Opt[float64] { return g.SMClock }),
			l.recorded(l.about(check, "memory"), profiles.MHz, func(g *NvidiaGPU) Opt[float64] { return g.MemoryClock }),
			l.reasonShares(l.about(check, "reasons_seen"), p.ClockReasons))
		out = append(out, l.reasons(check, p)...)
	}
	return out
}

// application judges application clocks by those that the part comes with. New drivers
// no longer know them: then nobody can have set them.
func (l *gpuLoad) application(check, quantity string, states []gpuStated, of func(*NvidiaGPU) (set, first Opt[float64])) Finding {
	f := About(check, quantity, l.part.Part)
	worst := f.NotHere("this driver and GPU have no application clocks")
	for _, s := range states {
		set, first := of(s.NvidiaGPU)
		if !set.Set || !first.Set {
			continue
		}
		f.Evidence = []string{s.ref}
		f.Measured, f.Limit, f.Unit, f.Relation = set.V, first.V, string(profiles.MHz), string(profiles.Min)
		f.Provenance = &Provenance{Kind: string(profiles.FromVendor), Source: "nvidia-smi -q: the default application clock that the GPU states"}
		if set.V < first.V {
			f.Class = ClassSetting
			return f.Judged(Fail, fmt.Sprintf("its application clock is set to %.0f MHz, it comes with %.0f MHz (nvidia-smi -rac resets it)", set.V, first.V))
		}
		worst = f.Judged(Pass, "")
	}
	return worst
}

// free judges how near the GPU came to its highest clock while it named no reason to run
// slower: a clock that was locked lower (nvidia-smi -lgc) shows nowhere else.
func (l *gpuLoad) free(check string, states []gpuStated, p *profiles.Profile) Finding {
	f := l.about(check, "free")
	most, ref := statedOf(states, func(g *NvidiaGPU) Opt[float64] { return g.SMMax })
	var values []float64
	for _, b := range l.busy {
		if b.Reasons.Set && b.Reasons.V == 0 && b.SMClock.Set {
			values = append(values, b.SMClock.V)
		}
	}
	if len(values) == 0 || !most.Set || most.V == 0 {
		return f.NotHere("no sample while it was busy shows it without a reason to run slower")
	}
	f.Evidence, f.Samples = withoutBlanks(append(f.Evidence, ref)), stats(values)
	best := slices.Max(values)
	f = f.Number(tenths(100*best/most.V), profiles.Percent, p.GPU.FreeClock)
	if f.Verdict == Fail {
		f.Class = ClassSetting
		return f.Judged(Warn, fmt.Sprintf("it ran at %.0f MHz at best, may run at %.0f MHz, and names no reason: its clock may be locked (nvidia-smi -rgc resets it)", best, most.V))
	}
	return f
}
