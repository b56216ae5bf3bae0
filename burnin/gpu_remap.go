package burnin

import (
	"slices"

	"github.com/rackproof/rackproof/profiles"
)

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
	out := askGPUs(r, p, check, remapAsks(p, s.Condition == profiles.New)...)
	if len(r.Machine().Replacements) > 0 {
		strict := askGPUs(r, p, check, remapAsks(p, true)...)
		for i, f := range out {
			if newPart(r, s, f.Serial) {
				out[i] = sameQuestion(strict, f)
			}
		}
	}
	for i := range out {
		if out[i].Verdict == Fail && slices.Contains(lifetimeQuantities, out[i].Quantity) {
			out[i].Class = ClassOrder
		}
	}
	return out
}

// newPart reports whether a part is sold as new: all are by the spec, or this one came
// to replace another.
func newPart(r *Readings, s *profiles.Spec, serial string) bool {
	return s.Condition == profiles.New || serial != "" && slices.Contains(r.Machine().Replacements, serial)
}

// sameQuestion finds the answer to the question that f answers, or gives f.
func sameQuestion(all []Finding, f Finding) Finding {
	if i := slices.IndexFunc(all, func(g Finding) bool { return g.ID == f.ID }); i >= 0 {
		return all[i]
	}
	return f
}

// remapAsks are the questions. Only new parts have a limit on what happened in their life.
func remapAsks(p *profiles.Profile, asNew bool) []gpuAsk {
	lifetime := func(l *profiles.Limit) *profiles.Limit {
		if asNew {
			return l
		}
		return nil
	}
	asks := []gpuAsk{
		askWord("failure", "row remapping has failed (%v): its memory cannot be repaired any more",
			func(g *NvidiaGPU) Opt[string] { return g.RemapFailure }, p.GPU.RemapFailure),
		askWord("pending", "a row remap is pending (%v): reset, then retest",
			func(g *NvidiaGPU) Opt[string] { return g.RemapPending }, p.GPU.RemapPending),
		askCount("uncorrectable_rows", "not as ordered: %v rows were remapped after uncorrected errors",
			func(g *NvidiaGPU) Opt[float64] { return g.RemapUncorrectable }, lifetime(p.GPU.RemappedUncorrectable)),
		askCount("correctable_rows", "not as ordered: %v rows were remapped after corrected errors",
			func(g *NvidiaGPU) Opt[float64] { return g.RemapCorrectable }, lifetime(p.GPU.RemappedCorrectable)),
		// A part that was not sold as new may have some, and gets none while it is tested.
		{quantity: "rows_in_test", limit: p.GPU.RemappedCorrectable, optional: true, growth: func(g *NvidiaGPU) Opt[float64] {
			return optSum(g.RemapUncorrectable, g.RemapCorrectable)
		}},
	}
	return append(asks, otherRepairs(p)...)
}

// otherRepairs asks for repairs that only some GPUs and drivers know. They are
// judged where the tool prints them; where it does not, nothing is open, because
// the profile cannot want what the part does not have.
func otherRepairs(p *profiles.Profile) []gpuAsk {
	doubleBit := p.GPU.RetiredDBE
	if !doubleBit.Set() {
		doubleBit = p.GPU.UncorrectedAggregate // each such page is an uncorrected error of its life
	}
	asks := []gpuAsk{
		askWord("channel_repair_pending", "a memory channel repair is pending (%v): reset, then retest",
			func(g *NvidiaGPU) Opt[string] { return g.ChannelRepair }, p.GPU.RemapPending),
		askWord("tpc_repair_pending", "a TPC repair is pending (%v): reset, then retest",
			func(g *NvidiaGPU) Opt[string] { return g.TPCRepair }, p.GPU.RemapPending),
		askWord("unrepairable_memory", "it has memory that cannot be repaired (%v)",
			func(g *NvidiaGPU) Opt[string] { return g.Unrepairable }, p.GPU.RemapFailure),
		askWord("retirement_pending", "a page retirement is pending (%v): reset, then retest",
			func(g *NvidiaGPU) Opt[string] { return g.RetirePending }, p.GPU.RemapPending),
		askCount("double_bit_pages", "%v pages were retired after double-bit errors",
			func(g *NvidiaGPU) Opt[float64] { return g.RetiredDouble }, doubleBit),
	}
	for i := range asks {
		asks[i].optional = true
	}
	asks[len(asks)-1].optional = !p.GPU.RetiredDBE.Set()
	return asks
}
