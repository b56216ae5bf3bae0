package burnin

import "github.com/rackproof/rackproof/profiles"

// gpuECC judges uncorrected errors absolutely, of SRAM and DRAM apart, so that a
// counter that a GPU does not have can neither hide nor stand for another one.
// Corrected errors are noise and are judged by their change over the run.
var gpuECC = Check{
	Name:   "gpu.ecc",
	Title:  "ECC is on, now and after the next reset, and counted no uncorrected error",
	Probes: []string{NvidiaSMI.Spec.Name},
	Judge:  judgeGPUECC,
}

func judgeGPUECC(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	const check = "gpu.ecc"
	if none := noGPUs(check, p); none != nil {
		return none
	}
	out := askGPUs(r, p, check,
		askWord("mode", "ECC is %v",
			func(g *NvidiaGPU) Opt[string] { return g.ECCMode.Current }, p.GPU.ECCMode),
		askWord("mode_pending", "ECC will be %v after the next reset",
			func(g *NvidiaGPU) Opt[string] { return g.ECCMode.Pending }, p.GPU.ECCMode),
		askCount("sram_uncorrected_volatile", "%v uncorrected SRAM errors since the driver was loaded",
			func(g *NvidiaGPU) Opt[float64] { return g.Volatile.SRAMUncorrected }, p.GPU.UncorrectedVolatile),
		askCount("dram_uncorrected_volatile", "%v uncorrected DRAM errors since the driver was loaded",
			func(g *NvidiaGPU) Opt[float64] { return g.Volatile.DRAMUncorrected }, p.GPU.UncorrectedVolatile),
		askCount("sram_uncorrected_aggregate", "%v uncorrected SRAM errors in its life",
			func(g *NvidiaGPU) Opt[float64] { return g.Aggregate.SRAMUncorrected }, p.GPU.UncorrectedAggregate),
		askCount("dram_uncorrected_aggregate", "%v uncorrected DRAM errors in its life",
			func(g *NvidiaGPU) Opt[float64] { return g.Aggregate.DRAMUncorrected }, p.GPU.UncorrectedAggregate),
		gpuAsk{
			quantity: "sram_threshold_exceeded", why: "its SRAM has passed the error threshold (%v): a ground for return",
			judge: func(f Finding, g *NvidiaGPU) Finding { return sramThreshold(f, g, p.GPU.SRAMThresholdExceeded) },
		},
		gpuAsk{quantity: "corrected_volatile", limit: p.GPU.CorrectedVolatile, growth: func(g *NvidiaGPU) Opt[float64] {
			return optSum(g.Volatile.SRAMCorrected, g.Volatile.DRAMCorrected)
		}},
	)
	return withClass(append(out, sampledECC(r, p)...), ClassSetting, "mode", "mode_pending")
}

// sramThreshold judges the flag that the driver sets when uncorrected SRAM errors of
// a life pass its threshold. Drivers up to 535 do not print it; without any such
// error it cannot be set.
func sramThreshold(f Finding, g *NvidiaGPU, l *profiles.Limit) Finding {
	if errors := g.Aggregate.SRAMUncorrected; g.SRAMThreshold.Text == "" && errors.Set && errors.V == 0 {
		return f.NotHere("this driver does not print it; the GPU had no uncorrected SRAM error in its life")
	}
	return f.word(g.SRAMThreshold, l)
}

// sampledECC reports uncorrected errors that were seen under load. Samples carry
// the total only, and their zeros prove nothing that before and after do not.
func sampledECC(r *Readings, p *profiles.Profile) []Finding {
	var out []Finding
	samples := nvidiaSamples(r)
	for _, part := range gpuParts(r, p) {
		for _, s := range samples {
			g := s.Value.find(part)
			if s.Err != nil || g == nil || !g.UncorrectedTotal.Set {
				continue
			}
			f := About("gpu.ecc", "uncorrected_under_load", part.Part, loadRef(NvidiaSMI)).
				number(g.UncorrectedTotal, profiles.Count, p.GPU.UncorrectedVolatile)
			if f.Verdict == Fail {
				out = append(out, f.Because("%.0f uncorrected errors under load at %s", g.UncorrectedTotal.V, clock(s.At)))
				break
			}
		}
	}
	return out
}
