package burnin

import "github.com/rackproof/rackproof/profiles"

// gpuRemap judges how a GPU repaired its memory: row remapping since Ampere, page
// retirement before. A repair that failed ends the part; one that is pending needs
// a reset and a retest. Rows already remapped are limited on new parts only.
var gpuRemap = Check{
	Name:   "gpu.remap",
	Title:  "No memory repair is pending or has failed",
	Probes: []string{NvidiaSMI.Spec.Name},
	Judge:  judgeGPURemap,
}

func judgeGPURemap(r *Readings, p *profiles.Profile, s *profiles.Spec) []Finding {
	const check = "gpu.remap"
	if none := noGPUs(check, p); none != nil {
		return none
	}
	word := func(quantity string, of func(*NvidiaGPU) Opt[string], l *profiles.Limit) gpuAsk {
		return gpuAsk{check, quantity, func(f Finding, g *NvidiaGPU) Finding { return f.word(of(g), l) }}
	}
	// Only new parts have a limit on what happened in their life.
	lifetime := func(l *profiles.Limit) *profiles.Limit {
		if s.Condition == profiles.New {
			return l
		}
		return nil
	}
	out := askGPUs(r, p,
		word("failure", func(g *NvidiaGPU) Opt[string] { return g.RemapFailure }, p.GPU.RemapFailure),
		word("pending", func(g *NvidiaGPU) Opt[string] { return g.RemapPending }, p.GPU.RemapPending),
		gpuAsk{check, "uncorrectable_rows", func(f Finding, g *NvidiaGPU) Finding {
			return f.number(g.RemapUncorrectable, profiles.Count, lifetime(p.GPU.RemappedUncorrectable))
		}},
		gpuAsk{check, "correctable_rows", func(f Finding, g *NvidiaGPU) Finding {
			return f.number(g.RemapCorrectable, profiles.Count, lifetime(p.GPU.RemappedCorrectable))
		}},
	)
	return append(out, otherRepairs(r, p)...)
}

// otherRepairs asks for repairs that only some GPUs and drivers know. They are
// judged where the tool prints them; where it does not, nothing is open, because
// the profile cannot want what the part does not have.
func otherRepairs(r *Readings, p *profiles.Profile) []Finding {
	const check = "gpu.remap"
	word := func(quantity string, of func(*NvidiaGPU) Opt[string], l *profiles.Limit) gpuAsk {
		return gpuAsk{check, quantity, func(f Finding, g *NvidiaGPU) Finding { return f.word(of(g), l) }}
	}
	doubleBit := p.GPU.RetiredDBE
	if !doubleBit.Set() {
		doubleBit = p.GPU.UncorrectedAggregate // each such page is an uncorrected error of its life
	}
	asks := []gpuAsk{
		word("channel_repair_pending", func(g *NvidiaGPU) Opt[string] { return g.ChannelRepair }, p.GPU.RemapPending),
		word("tpc_repair_pending", func(g *NvidiaGPU) Opt[string] { return g.TPCRepair }, p.GPU.RemapPending),
		word("unrepairable_memory", func(g *NvidiaGPU) Opt[string] { return g.Unrepairable }, p.GPU.RemapFailure),
		word("retirement_pending", func(g *NvidiaGPU) Opt[string] { return g.RetirePending }, p.GPU.RemapPending),
		{check, "double_bit_pages", func(f Finding, g *NvidiaGPU) Finding {
			return f.number(g.RetiredDouble, profiles.Count, doubleBit)
		}},
	}
	required := map[string]bool{"double_bit_pages": p.GPU.RetiredDBE.Set()}
	var out []Finding
	for _, f := range askGPUs(r, p, asks...) {
		if f.NotRun == "" || required[f.Quantity] {
			out = append(out, f)
		}
	}
	return out
}
