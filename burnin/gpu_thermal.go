package burnin

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rackproof/rackproof/profiles"
)

// gpuThermal asks how near each GPU came to slowing down for heat while it worked. The
// margin that newer drivers print is the part's own word; where there is none, it is the
// temperature at which the part says that it slows down.
var gpuThermal = Check{
	Name:   "gpu.thermal",
	Title:  "No GPU came to its temperature limit under load, or slowed down for heat",
	Probes: []string{NvidiaSMI.Spec.Name},
	Judge:  judgeGPUThermal,
}

func judgeGPUThermal(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	const check = "gpu.thermal"
	if none := noGPUs(check, p); none != nil {
		return none
	}
	loads, out := gpusUnderLoad(r, p, check)
	for _, l := range loads {
		states := l.stated(r)
		out = append(out, l.heat(check, states, p), l.memoryHeat(check, states, p))
		out = append(out, l.reasons(check, p)...)
		out = append(out, l.grew(l.about(check, "hw_thermal_time"), r, p.ClockReasons["hw_thermal_slowdown"],
			func(g *NvidiaGPU) Opt[float64] { return g.HWThermalTime })...)
	}
	return withClass(out, ClassHeat)
}

// gpuStated is what the part states of itself in full queries.
type gpuStated struct {
	*NvidiaGPU
	ref string
}

// stated returns the GPU in every full query that shows it, in order of phase, and in
// samples of the full form, which loose files may be.
func (l *gpuLoad) stated(r *Readings) []gpuStated {
	var out []gpuStated
	for _, log := range nvidiaLogs(r) {
		if g := log.Value.find(l.part); g != nil && g.Lost == "" {
			out = append(out, gpuStated{g, log.Ref})
		}
	}
	return out
}

// statedOf is the last value of a quantity that full queries show.
func statedOf(states []gpuStated, of func(*NvidiaGPU) Opt[float64]) (v Opt[float64], ref string) {
	for _, s := range slices.Backward(states) {
		if got := of(s.NvidiaGPU); got.Set {
			return got, s.ref
		}
		v = of(s.NvidiaGPU)
	}
	return v, ""
}

// heat judges the GPU's own temperature.
func (l *gpuLoad) heat(check string, states []gpuStated, p *profiles.Profile) Finding {
	margin := func(g *NvidiaGPU) Opt[float64] { return g.Margin }
	if values, at := l.values(margin); len(values) > 0 {
		worst := slices.Index(values, slices.Min(values))
		f := l.about(check, "margin")
		f.Samples = stats(values)
		f = f.Number(values[worst], profiles.Celsius, p.GPU.Margin)
		switch {
		case f.Verdict == Fail && values[worst] < 0:
			return f.Because("it was %.0f °C over its temperature limit%s", -values[worst], since(at[worst]))
		case f.Verdict == Fail:
			return f.Because("it came within %.0f °C of its temperature limit%s", values[worst], since(at[worst]))
		}
		return f
	}
	f := l.about(check, "temperature")
	temperature := func(g *NvidiaGPU) Opt[float64] { return g.Temperature }
	slow, ref := statedOf(states, func(g *NvidiaGPU) Opt[float64] { return g.SlowdownAt })
	if !slow.Set { // a driver that prints margins in a full query only
		slow, ref = statedOf(states, marginEnds)
		return l.below(f, temperature, slow, ref, "the temperature at which the margin that the GPU states is used up")
	}
	return l.below(f, temperature, slow, ref, "the temperature at which the GPU says that it slows down")
}

// marginEnds is the temperature at which the margin of a GPU is used up: that of one
// reading and its margin together.
func marginEnds(g *NvidiaGPU) Opt[float64] {
	if !g.Temperature.Set || !g.Margin.Set {
		return g.Margin
	}
	return Opt[float64]{V: g.Temperature.V + g.Margin.V, Set: true, Text: g.Margin.Text}
}

// memoryHeat judges the memory's temperature, of GPUs that show one, by the limit that
// the part states or else by that of the profile.
func (l *gpuLoad) memoryHeat(check string, states []gpuStated, p *profiles.Profile) Finding {
	f := l.about(check, "memory_temperature")
	temperature := func(g *NvidiaGPU) Opt[float64] { return g.MemoryTemperature }
	limit, ref := statedOf(states, func(g *NvidiaGPU) Opt[float64] { return g.MemoryLimit })
	if limit.Set {
		return l.below(f, temperature, limit, ref, "the highest operating temperature that the GPU states of its memory")
	}
	values, at := l.values(temperature)
	if len(values) == 0 {
		return f.absent(l.absent("the memory's temperature", temperature), p.GPU.MemoryTemperature)
	}
	worst := slices.Index(values, slices.Max(values))
	f.Samples = stats(values)
	f = f.Number(values[worst], profiles.Celsius, p.GPU.MemoryTemperature)
	if f.Verdict == Fail {
		return f.Because("its memory was %.0f °C hot%s", values[worst], since(at[worst]))
	}
	return f
}

// below judges the highest of a temperature by a limit that the part itself states.
func (l *gpuLoad) below(f Finding, of func(*NvidiaGPU) Opt[float64], limit Opt[float64], ref, source string) Finding {
	f.Evidence = withoutBlanks(append(f.Evidence, ref))
	values, at := l.values(of)
	switch {
	case len(values) == 0:
		return f.Missing(l.absent("the temperature", of))
	case !limit.Set:
		return f.Missing(errors.Join(errors.New("neither a margin is shown nor the temperature at which it slows down"), limit.Absent("that temperature")))
	}
	worst := slices.Index(values, slices.Max(values))
	f.Samples, f.Measured, f.Unit = stats(values), values[worst], string(profiles.Celsius)
	f.Limit, f.Relation = limit.V, string(profiles.Max)
	f.Provenance = &Provenance{Kind: string(profiles.FromVendor), Source: "nvidia-smi -q: " + source}
	if values[worst] >= limit.V {
		return f.Judged(Fail, fmt.Sprintf("it was %.0f °C hot, its limit is %.0f °C%s", values[worst], limit.V, since(at[worst])))
	}
	return f.Judged(Pass, "")
}
