package burnin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// gpuCompute asks whether every GPU computed under load, without a wrong result. What
// the program says at its end is not believed alone: it has said OK of GPUs that never
// computed (gpu-burn issues 14, 123, 124).
var gpuCompute = Check{
	Name:   "gpu.compute",
	Title:  "Every GPU computes under load, and gives right results",
	Probes: []string{GPUBurn.Spec.Name, GPUFryer.Spec.Name, DCGMDiag.Spec.Name},
	Judge:  judgeGPUCompute,
}

func judgeGPUCompute(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	const check = "gpu.compute"
	if none := noGPUs(check, p); none != nil {
		return none
	}
	return append(judgeComputed(r, p), loadedOn(r, p)...)
}

func judgeComputed(r *Readings, p *profiles.Profile) []Finding {
	const check = "gpu.compute"
	readings := stretchReadings(r, GPUBurn)
	reading := readings[0]
	ran := reading.Evidence != nil && reading.Evidence.Ended != EndedNoTool
	if ran && (inStretches(readings) || len(r.rec.Meta.Dropped) > 0) {
		return burnedOn(r, p, readings)
	}
	if !reading.OK() {
		all := About(check, "all", fleetPart(p), reading.Ref)
		if ran { // its silence counts
			return []Finding{all.Missing(reading.Err)}
		}
		out := fryerSays(r, p)
		if other := computedByDCGM(r, p); other != nil {
			return append(out, other...)
		}
		return append(out, all.Missing(computedBy(r, reading.Err)))
	}
	l := &reading.Value
	parts := gpuParts(r, p)
	var out, rates []Finding
	for i := range l.GPUs {
		g := &l.GPUs[i]
		part := toolGPU(parts, GPUBurn.Spec.Name, "", g.UUID, i)
		about := func(quantity string) Finding { return About(check, quantity, part, reading.Ref) }
		errs := l.errors(about("errors"), g, p)
		out = append(out, errs)
		if errs.Verdict != Pass {
			continue
		}
		out = append(out, l.reports(about("reports"), g, p))
		rate := about("rate").number(g.Rate(), profiles.GFLOPS, p.GPU.Compute.Rate)
		rate.Samples = statsOf(g.Rates)
		rates = append(rates, rate)
	}
	out = append(out, withSiblings(rates, p.GPU.Siblings)...)
	want, _ := wantedGPUs(p)
	for i := len(l.GPUs); i < want; i++ {
		out = append(out, About(check, "errors", toolGPU(parts, GPUBurn.Spec.Name, "", "", i), reading.Ref).
			Missing(errors.New("gpu_burn did not test this GPU")))
	}
	return out
}

// errors judges whether a GPU computed, and rightly.
func (l *BurnLog) errors(f Finding, g *BurnGPU, p *profiles.Profile) Finding {
	limit := p.GPU.Compute.Errors
	f.Measured = g.Errors
	switch {
	case g.Errors > 0:
		return f.Number(g.Errors, profiles.Count, limit).Because("gave %.0f wrong results under load", g.Errors)
	case g.Died:
		f.Measured = nil
		return f.Judged(Fail, "gave up under load"+l.why())
	case g.Word == "FAULTY":
		return f.Judged(Fail, "is faulty, says gpu_burn")
	case !l.Tested.Set:
		return f.Missing(errors.New("gpu_burn did not come to its end: its last table is missing" + l.why()))
	case g.Word == "":
		return f.Missing(errors.New("gpu_burn did not test this GPU"))
	case l.Tested.V != float64(len(l.GPUs)):
		return f.Missing(fmt.Errorf("gpu_burn says that it tested %s GPUs, and shows %d", l.Tested.Text, len(l.GPUs)))
	case g.Done == 0 || g.Rate().V == 0:
		if l.idle() { // the program or the driver, not each GPU at once
			f.Class = ClassDriver
		}
		return f.Judged(Fail, "computed nothing, though gpu_burn says OK"+l.why())
	}
	return f.Number(0, profiles.Count, limit).Because("%.0f products of matrices, no wrong result", g.Done)
}

// reports judges whether a GPU told progress often enough to say that it worked on.
func (l *BurnLog) reports(f Finding, g *BurnGPU, p *profiles.Profile) Finding {
	f = f.Number(float64(g.Reports), profiles.Count, p.GPU.Compute.Reports)
	if f.Verdict == Fail {
		return f.Missing(fmt.Errorf("gpu_burn told progress of it %d times, the profile wants %s: load it longer", g.Reports, p.GPU.Compute.Reports))
	}
	return f
}

// idle reports whether no GPU computed anything.
func (l *BurnLog) idle() bool {
	return !slices.ContainsFunc(l.GPUs, func(g BurnGPU) bool { return g.Done > 0 })
}

// why is the first line of trouble, behind a colon; "" where there is none.
func (l *BurnLog) why() string {
	if len(l.Failures) == 0 {
		return ""
	}
	return ": " + l.Failures[0]
}

// computeTests are the tests of DCGM that compute and compare.
var computeTests = []string{"diagnostic", "targeted_stress"}

// computedByDCGM answers from NVIDIA's own diagnostic where gpu_burn did not run; nil
// where that says nothing either.
func computedByDCGM(r *Readings, p *profiles.Profile) []Finding {
	reading := Read(r, DCGMDiag, PhaseLoad)
	if !reading.OK() {
		return nil
	}
	d := dcgmJudge{log: &reading.Value, ref: reading.Ref, check: "gpu.compute", profile: p, parts: gpuParts(r, p)}
	for _, name := range computeTests {
		out := d.test(name, true)
		if slices.ContainsFunc(out, func(f Finding) bool { return f.NotRun == "" && (f.Verdict == Pass || f.Verdict == Fail) }) {
			return out
		}
	}
	return nil
}

// computedBy says why nothing is known of arithmetic: another load may have kept the
// GPUs busy, and compares nothing.
func computedBy(r *Readings, why error) error {
	for _, l := range Loads() {
		e := r.find(PhaseLoad, l.Name, "")
		if isGPU(l.Busy[0]) && l.Alone == 0 && l.Name != GPUBurn.Spec.Name && e != nil && e.Ended != EndedNoTool {
			return fmt.Errorf("%s; %s kept the GPUs busy, and compares nothing", notThere(GPUBurn.Spec.Tool), strings.TrimSuffix(l.Tool, "12"))
		}
	}
	return why
}
