package burnin

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// fryerSays is what gpu-fryer proves for gpu.compute: that each GPU computed, how much,
// and whether it was slowed. That the results were right it does not ask. It is nil where
// gpu-fryer did not run.
func fryerSays(r *Readings, p *profiles.Profile) []Finding {
	const check = "gpu.compute"
	reading := lastFryer(stretchReadings(r, GPUFryer))
	if reading.Evidence == nil || reading.Evidence.Ended == EndedNoTool {
		return nil
	}
	if !reading.OK() {
		return []Finding{About(check, "computed", fleetPart(p), reading.Ref).Missing(reading.Err)}
	}
	l, parts := &reading.Value, gpuParts(r, p)
	var out, rates []Finding
	tested := map[string]bool{}
	for i := range l.GPUs {
		g := &l.GPUs[i]
		part := toolGPU(parts, GPUFryer.Spec.Name, "", g.UUID, i)
		about := func(quantity string) Finding { return About(check, quantity, part, reading.Ref) }
		tested[part.Name] = true
		if drop := dropOf(r, part, g.UUID); drop != nil {
			out = append(out, About(check, "computed", part, reading.Ref).Judged(Fail, "gave up under load: "+drop.Why))
			continue
		}
		computed := l.computed(about("computed"), g, p)
		if blame := l.blames(i); computed.Verdict == Pass && blame != "" && len(g.Slowed) == 0 {
			computed = computed.Missing(errors.New("gpu-fryer calls it not healthy, for what nothing else here judges: " + blame))
		}
		out = append(out, computed)
		if computed.Verdict != Pass {
			continue
		}
		out = append(out, g.slowed(about, p.ClockReasons)...)
		rate := about("rate").number(g.Mean, profiles.GFLOPS, nil) // the profile's floor is of gpu_burn's arithmetic
		rate.Samples = statsOf(g.Rates)
		rates = append(rates, rate)
	}
	out = append(out, withSiblings(rates, p.GPU.Siblings)...)
	return append(out, notFried(r, p, tested, reading)...)
}

// notFried are the GPUs that gpu-fryer did not test.
func notFried(r *Readings, p *profiles.Profile, tested map[string]bool, reading Reading[FryerLog]) []Finding {
	const check = "gpu.compute"
	var out []Finding
	parts, untested := gpuParts(r, p), errors.New("gpu-fryer did not test this GPU")
	if len(r.rec.Meta.Dropped) == 0 {
		want, _ := wantedGPUs(p)
		for i := len(reading.Value.GPUs); i < want; i++ {
			out = append(out, About(check, "computed", toolGPU(parts, GPUFryer.Spec.Name, "", "", i), reading.Ref).Missing(untested))
		}
		return out
	}
	for _, part := range parts {
		f := About(check, "computed", part.Part, reading.Ref)
		switch drop := dropOf(r, part.Part, part.UUID); {
		case tested[part.Name]:
		case drop != nil:
			out = append(out, f.Judged(Fail, "gave up under load: "+drop.Why))
		default:
			out = append(out, f.Missing(untested))
		}
	}
	return out
}

// lastFryer is what gpu-fryer said last, where it was begun again without GPUs that were
// lost, with what slowed a GPU before that.
func lastFryer(readings []Reading[FryerLog]) Reading[FryerLog] {
	last := readings[len(readings)-1]
	if len(readings) == 1 || !last.OK() {
		return last
	}
	last.Value.GPUs = slices.Clone(last.Value.GPUs)
	for i := range last.Value.GPUs {
		g := &last.Value.GPUs[i]
		g.Slowed = maps.Clone(g.Slowed)
		for _, earlier := range readings[:len(readings)-1] {
			for _, was := range earlier.Value.GPUs {
				for name, times := range was.Slowed {
					if was.UUID == g.UUID {
						g.slow(name, times)
					}
				}
			}
		}
	}
	return last
}

// computed judges whether a GPU computed to the end, and told so often enough.
func (l *FryerLog) computed(f Finding, g *FryerGPU, p *profiles.Profile) Finding {
	f.Measured = float64(g.Reports)
	switch why := l.why(); {
	case !l.Healthy.Set:
		return f.Missing(errors.New("gpu-fryer did not come to its end: its last word is missing" + why))
	case !g.Listed:
		return f.Missing(errors.New("gpu-fryer did not test this GPU" + why))
	case !g.Mean.Set || g.Reports == 0 && g.Mean.V > 0:
		return f.Missing(errors.New("gpu-fryer told no progress of it" + why))
	case g.Reports == 0, g.Mean.V == 0:
		if l.idle() { // the program or the driver, not each GPU at once
			f.Class = ClassDriver
		}
		return f.Judged(Fail, "computed nothing"+why)
	}
	f = f.Number(float64(g.Reports), profiles.Count, p.GPU.Compute.Reports)
	if f.Verdict == Fail {
		return f.Missing(fmt.Errorf("gpu-fryer told progress of it %d times, the profile wants %s: load it longer", g.Reports, p.GPU.Compute.Reports))
	}
	return f.Because("%d reports, %.0f Gflop/s in %s", g.Reports, g.Mean.V, l.Precision)
}

// idle reports whether no GPU computed anything.
func (l *FryerLog) idle() bool {
	for _, g := range l.GPUs {
		if g.Reports > 0 {
			return false
		}
	}
	return true
}

// blames is why gpu-fryer calls a GPU not healthy; "" where it does not.
func (l *FryerLog) blames(gpu int) string {
	of := fmt.Sprintf("GPU %d - ", gpu)
	i := slices.IndexFunc(l.Reasons, func(reason string) bool { return strings.HasPrefix(reason, of) })
	if i < 0 {
		return ""
	}
	return l.Reasons[i]
}

func (l *FryerLog) why() string {
	if all := slices.Concat(l.Failures, l.Reasons); len(all) > 0 {
		return ": " + all[0]
	}
	return ""
}

// slowed judges the reasons that gpu-fryer saw, by the profile's table. Where it saw none
// nothing is said: of several at once it tells none.
func (g *FryerGPU) slowed(about func(string) Finding, table map[string]profiles.ClockReasonRule) []Finding {
	var out []Finding
	for _, name := range sortedKeys(g.Slowed) {
		rule, known := table[name]
		f := about("slowed_" + strings.TrimSuffix(name, "_slowdown"))
		verdict := Unknown
		if err := verdict.UnmarshalText([]byte(rule.Verdict)); !known || err != nil {
			out = append(out, f.Missing(fmt.Errorf("gpu-fryer saw %s, which the profile's table does not judge", name)))
			continue
		}
		f.Measured = float64(g.Slowed[name])
		f.Provenance = &Provenance{Kind: string(profiles.FromVendor), Source: rule.Source}
		if rule.Advice != "" {
			f.Class = Class(rule.Advice)
		}
		out = append(out, f.Judged(verdict, fmt.Sprintf("%s: gpu-fryer saw it in %d of %d reports", rule.Meaning, g.Slowed[name], g.Reports)))
	}
	return out
}
