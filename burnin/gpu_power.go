package burnin

import (
	"fmt"

	"github.com/rackproof/rackproof/profiles"
)

// gpuPower asks whether each GPU may draw what it was made for, and whether the supplies
// gave it. What it drew under load is recorded: how much is right depends on the load.
var gpuPower = Check{
	Name:   "gpu.power",
	Title:  "Every GPU may draw its full power, and no power brake was pulled",
	Probes: []string{NvidiaSMI.Spec.Name},
	Judge:  judgeGPUPower,
}

func judgeGPUPower(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	const check = "gpu.power"
	if none := noGPUs(check, p); none != nil {
		return none
	}
	loads, out := gpusUnderLoad(r, p, check)
	for _, l := range loads {
		states := l.stated(r)
		first, ref := statedOf(states, func(g *NvidiaGPU) Opt[float64] { return g.DefaultPower })
		highest := About(check, "default_limit", l.part.Part, ref)
		out = append(out, l.powerLimit(check, states), highest.number(first, profiles.Watt, p.GPU.Power))
		out = append(out, l.recorded(l.about(check, "draw"), profiles.Watt, func(g *NvidiaGPU) Opt[float64] { return g.PowerDraw }))
		out = append(out, l.reasons(check, p)...)
		out = append(out, l.grew(l.about(check, "hw_power_brake_time"), r, p.ClockReasons["hw_power_brake_slowdown"],
			func(g *NvidiaGPU) Opt[float64] { return g.BrakeTime })...)
	}
	return out
}

// powerLimit judges the lowest limit that was set at any time by the one that the part
// comes with.
func (l *gpuLoad) powerLimit(check string, states []gpuStated) Finding {
	f := About(check, "limit", l.part.Part)
	own, ref := statedOf(states, func(g *NvidiaGPU) Opt[float64] { return g.DefaultPower })
	var least Opt[float64]
	take := func(v Opt[float64], ref string) {
		if v.Set && (!least.Set || v.V < least.V) {
			least, f.Evidence = v, withoutBlanks([]string{ref})
		}
	}
	for _, s := range states {
		take(s.PowerLimit, s.ref)
	}
	for _, b := range l.busy {
		take(b.PowerLimit, l.ref)
	}
	switch {
	case !least.Set:
		return f.Missing(least.Absent("the power limit"))
	case !own.Set:
		return f.Missing(own.Absent("the power limit that the part comes with"))
	}
	if len(f.Evidence) == 0 || f.Evidence[0] != ref {
		f.Evidence = withoutBlanks(append(f.Evidence, ref))
	}
	f.Measured, f.Limit, f.Unit, f.Relation = least.V, own.V, string(profiles.Watt), string(profiles.Min)
	f.Provenance = &Provenance{Kind: string(profiles.FromVendor), Source: "nvidia-smi -q: the default power limit that the GPU states"}
	if least.V < own.V {
		f.Class = ClassSetting
		return f.Judged(Fail, fmt.Sprintf("its power limit is %.0f W, it comes with %.0f W: somebody lowered it (nvidia-smi -pl)", least.V, own.V))
	}
	return f.Judged(Pass, "")
}
