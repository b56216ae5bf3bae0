package burnin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

const gpuDCGMName = "gpu.dcgm" // also of the load that measures for it

// gpuDCGM asks what NVIDIA's own diagnostic says of every GPU. A test that it skipped,
// or that its package does not hold, is not passed (DCGM issues 120, 139).
var gpuDCGM = Check{
	Name:   gpuDCGMName,
	Title:  "NVIDIA's own diagnostic passes on every GPU",
	Probes: []string{DCGMDiag.Spec.Name},
	Judge:  judgeGPUDCGM,
}

func judgeGPUDCGM(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	const check = gpuDCGMName
	if none := noGPUs(check, p); none != nil {
		return none
	}
	reading := Read(r, DCGMDiag, PhaseLoad)
	all := About(check, "all", fleetPart(p), reading.Ref)
	if !reading.OK() {
		return []Finding{all.Missing(reading.Err)}
	}
	l := &reading.Value
	d := dcgmJudge{log: l, ref: reading.Ref, check: check, profile: p, parts: gpuParts(r, p)}
	var names []string
	if want := p.GPU.DCGM.Tests; want.Set() {
		names = append(names, want.Text...)
	}
	for _, result := range l.Results {
		if !slices.Contains(names, result.Test) {
			names = append(names, result.Test)
		}
	}
	var out []Finding
	for _, name := range names {
		owed := p.GPU.DCGM.Tests.Set() && slices.Contains(p.GPU.DCGM.Tests.Text, name)
		out = append(out, d.test(name, owed)...)
	}
	ran := slices.ContainsFunc(out, func(f Finding) bool { return f.NotRun == "" && (f.Verdict == Pass || f.Verdict == Fail) })
	switch {
	case l.Error != "":
		out = append(out, all.Missing(fmt.Errorf("the diagnostic broke off: %s", l.Error)))
	case !ran:
		out = append(out, all.Missing(errors.New("the diagnostic ran no test")))
	}
	return out
}

// dcgmJudge judges one output of dcgmi diag.
type dcgmJudge struct {
	log     *DCGMLog
	ref     string
	check   string
	profile *profiles.Profile
	parts   []gpuPart
}

// test judges one test for every GPU that it names. Without one that is owed, on every
// GPU, the check stays open; another that did not run is noted.
func (d *dcgmJudge) test(name string, owed bool) []Finding {
	var out []Finding
	seen := map[string]int{} // finding id → place in out
	for i := range d.log.Results {
		result := &d.log.Results[i]
		if result.Test != name {
			continue
		}
		f := d.result(result, owed)
		if at, there := seen[f.ID]; there {
			out[at] = worseFinding(out[at], f)
			continue
		}
		seen[f.ID] = len(out)
		out = append(out, f)
	}
	switch {
	case len(out) == 0 && owed:
		return []Finding{About(d.check, name, fleetPart(d.profile), d.ref).Missing(fmt.Errorf("the diagnostic did not run %s", name))}
	case owed:
		out = append(out, d.notTested(name, out)...)
	}
	return out
}

// notTested are the GPUs that a test leaves out, where it names GPUs at all.
func (d *dcgmJudge) notTested(name string, answers []Finding) []Finding {
	fleet := fleetPart(d.profile).Name
	if slices.ContainsFunc(answers, func(f Finding) bool { return f.Part == fleet }) {
		return nil
	}
	var out []Finding
	want, _ := wantedGPUs(d.profile)
	for n := len(answers); n < want; n++ {
		f := About(d.check, name, Part{Class: gpuClass(d.profile), Name: fmt.Sprintf("GPU %d of %d", n+1, want)}, d.ref)
		out = append(out, f.Missing(fmt.Errorf("the diagnostic ran %s on %d of %d GPUs", name, len(answers), want)))
	}
	return out
}

func (d *dcgmJudge) part(r *DCGMResult) Part {
	if r.GPU < 0 {
		return fleetPart(d.profile)
	}
	for _, g := range d.parts {
		if r.Serial != "" && g.Serial == r.Serial {
			return g.Part
		}
	}
	return toolGPU(d.parts, DCGMDiag.Spec.Name, "", "", r.GPU)
}

// result judges one result. A warning beside a pass says that something did not go as it
// should: DCGM passed tests that could not get their memory (DCGM issue 284).
func (d *dcgmJudge) result(r *DCGMResult, owed bool) Finding {
	f := About(d.check, r.Test, d.part(r), d.ref)
	f.Measured = r.Status
	said := strings.Join(r.Warnings, "; ")
	switch {
	case r.Status == "fail":
		if r.Config {
			f.Class = ClassSetting
		}
		return f.Judged(Fail, "fails NVIDIA's test "+r.Test+colon(said))
	case r.Status == "warn":
		return f.Judged(Warn, "NVIDIA's test "+r.Test+" warns"+colon(said))
	case r.Status == "pass" && said == "":
		return f.Judged(Pass, "")
	case r.Status == "pass":
		return f.Missing(fmt.Errorf("the diagnostic passes %s, and says: %s", r.Test, said))
	}
	why := fmt.Errorf("the diagnostic did not run %s (%s)%s", r.Test, firstWord(r.Status, "no status"), colon(said))
	if owed {
		return f.Missing(why)
	}
	return f.absent(why, nil)
}

func colon(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}
