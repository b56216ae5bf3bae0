package burnin

import (
	"fmt"
	"slices"
)

// Kept is what an earlier attempt has proven and a retest did not measure again, because
// what it was measured of neither failed nor was touched since.
type Kept struct {
	Attempt  int       `json:"attempt"`
	Profile  string    `json:"profile_sha256"` // by which it was judged, as by Spec
	Spec     string    `json:"spec_sha256"`
	Loads    []string  `json:"loads"` // measurements that were left out
	Findings []Finding `json:"findings"`
}

// dependsOn are the classes of part that a measurement tells something of. What is not
// here is of the whole machine: after its repair all is measured.
var dependsOn = map[string][]Class{
	"nvbandwidth": {ClassSXM, ClassPCIeGPU, ClassNVLink, ClassFabric, ClassSetting, ClassHeat, ClassDIMM},
	"nccl":        {ClassSXM, ClassPCIeGPU, ClassNVLink, ClassFabric, ClassSetting, ClassHeat},
	"dcgm":        {ClassSXM, ClassPCIeGPU, ClassNVLink, ClassFabric, ClassSetting, ClassHeat, ClassDIMM},
	"gdsio":       {ClassSXM, ClassPCIeGPU, ClassNVLink, ClassFabric, ClassSetting, ClassHeat, ClassDIMM, ClassNVMe},
	"stream":      {ClassDIMM},
}

// apart are the classes whose repair leaves the others as they are.
var apart = []Class{
	ClassSXM, ClassPCIeGPU, ClassNVLink, ClassFabric, ClassSetting, ClassHeat, ClassDIMM, ClassNVMe, ClassNIC, ClassPSU, ClassFan, ClassAir, ClassCable,
}

// busyOnly are the quantities of other checks that show only while a measurement keeps a part busy: an idle
// link saves power. What else a retest could not read was not read, and no earlier attempt stands for it.
var busyOnly = map[string][]string{"pcie.link": {"speed", "uplink_speed"}}

// standing are the checks that must read as before for anything to be kept: what they
// tell of can change what every measurement shows.
var standing = []string{"gpu.driver", "firmware", "bios", "gpu.mig"}

// Keep says which measurements a retest need not repeat: now is the retest as far as it
// has come, touched are the classes of what failed in the attempt before or was repaired
// since. A measurement is kept only where the attempt before proved all of its check by
// the same profile and spec, where drivers, firmware and settings read as then, and where
// every part that it tells of is the very one of before, by its serial number. It is nil
// where nothing is.
func Keep(before, now *Judgement, touched []Class, loads []Load) *Kept {
	if len(touched) == 0 || before.Profile != now.Profile || before.Spec != now.Spec || !stands(before, now) ||
		slices.ContainsFunc(touched, func(c Class) bool { return !slices.Contains(apart, c) }) {
		return nil
	}
	k := &Kept{Attempt: before.Machine.Attempt, Profile: now.Profile.SHA256, Spec: now.Spec.SHA256}
	for _, l := range loads {
		of := dependsOn[l.Name]
		hit := slices.ContainsFunc(of, func(c Class) bool { return slices.Contains(touched, c) })
		if l.Check != "" && !hit && provenWhole(before, l.Check) && sameParts(before, now, of) {
			k.take(before, l, of)
		}
	}
	if len(k.Loads) == 0 {
		return nil
	}
	return k
}

// take keeps a measurement, and what shows only of the parts that it keeps busy.
func (k *Kept) take(before *Judgement, l Load, of []Class) {
	k.Loads = append(k.Loads, l.Name)
	for _, f := range before.Findings {
		good := f.Verdict == Pass || f.Verdict == NotApplicable || f.Verdict == Warn
		had := slices.ContainsFunc(k.Findings, func(have Finding) bool { return have.ID == f.ID })
		if good && !had && (f.Check == l.Check || slices.Contains(of, f.Class) && slices.Contains(busyOnly[f.Check], f.Quantity)) {
			k.Findings = append(k.Findings, f.of(k.Attempt))
		}
	}
}

// of is a finding with the attempt that made it. Its evidence lies in the folder of that.
func (f Finding) of(attempt int) Finding {
	if f.Attempt != 0 { // kept before
		return f
	}
	f.Attempt = attempt
	f.Evidence = slices.Clone(f.Evidence)
	for i, ref := range f.Evidence {
		f.Evidence[i] = fmt.Sprintf("../%d/%s", attempt, ref)
	}
	f.Why = fmt.Sprintf("in attempt %d: %s", attempt, firstWord(f.Why, f.Verdict.String()))
	return f
}

// provenWhole reports whether all of a check was proven.
func provenWhole(j *Judgement, check string) bool {
	if slices.ContainsFunc(j.NotRun, func(n NotRun) bool { return n.Check == check }) {
		return false
	}
	proven := false
	for _, f := range j.Findings {
		if f.Check != check {
			continue
		}
		if f.Verdict > Warn || f.Waived != "" {
			return false
		}
		proven = proven || f.Verdict == Pass
	}
	return proven
}

// stands reports whether what stands still reads as before.
func stands(before, now *Judgement) bool {
	reads := map[string]string{}
	for _, f := range now.Findings {
		reads[f.ID] = fmt.Sprint(f.Measured)
	}
	return !slices.ContainsFunc(before.Findings, func(f Finding) bool {
		is, there := reads[f.ID]
		// How often the driver was asked under load is no state of it.
		return f.Attempt == 0 && slices.Contains(standing, f.Check) && f.Quantity != "samples" && (!there || is != fmt.Sprint(f.Measured))
	})
}

// sameParts reports whether the parts of some classes are those of before, each in its
// place, by their serial numbers. Of parts without any, nothing is known.
func sameParts(before, now *Judgement, of []Class) bool {
	was, is := partSerials(before, of), partSerials(now, of)
	if len(was) == 0 || len(was) != len(is) {
		return false
	}
	for part, serial := range was {
		if is[part] != serial {
			return false
		}
	}
	return true
}

// serialled are the classes of which each part that answers at an address carries a serial number.
var serialled = []Class{ClassSXM, ClassPCIeGPU, ClassNVMe}

// partSerials is nil where one of the parts shows no serial number: it could be any.
func partSerials(j *Judgement, of []Class) map[string]string {
	out, bare := map[string]string{}, map[string]bool{}
	for _, f := range j.Findings {
		switch {
		case f.Attempt != 0 || !slices.Contains(of, f.Class):
		case f.Serial != "":
			out[f.Part] = f.Serial
		case f.Address != "" && slices.Contains(serialled, f.Class):
			bare[f.Part] = true
		}
	}
	for part := range bare {
		if out[part] == "" {
			return nil
		}
	}
	return out
}

// keep puts what an earlier attempt has proven in the place of what this one did not
// measure, where the profile, the spec and every part are those of then. A part that
// turned out to be another leaves all of it open.
func (j *Judgement) keep(rec *Record) {
	k := rec.Machine.Kept
	if k == nil || rec.Meta.Ended.IsZero() || k.Profile != j.Profile.SHA256 || k.Spec != j.Spec.SHA256 {
		return
	}
	if other := k.otherPart(j); other != "" {
		j.NotTested = append(j.NotTested, fmt.Sprintf("nothing of attempt %d is kept: %s; retest with --whole", k.Attempt, other))
		return
	}
	open := []NotRun{}
	for _, n := range j.NotRun {
		proven := k.proven(n)
		if len(proven) == 0 {
			open = append(open, n)
		}
		for _, f := range proven {
			if !slices.ContainsFunc(j.Findings, func(have Finding) bool { return have.ID == f.ID }) {
				j.Findings = append(j.Findings, f)
			}
		}
	}
	j.NotRun = open
}

// otherPart says which part is not the one of which something is kept; "" where none is.
func (k *Kept) otherPart(j *Judgement) string {
	is := map[string]string{}
	for _, f := range j.Findings {
		if f.Serial != "" {
			is[f.Part] = f.Serial
		}
	}
	for _, f := range k.Findings {
		if f.Serial != "" && is[f.Part] != f.Serial {
			return fmt.Sprintf("%s had S/N %s then, and has %s now", f.Part, f.Serial, firstWord(is[f.Part], "none that is known"))
		}
	}
	return ""
}

// proven is what is kept of a question that this attempt left open: the very answer, or
// all of the check, where that says of its measurement only that it was not made.
func (k *Kept) proven(n NotRun) (out []Finding) {
	whole := slices.ContainsFunc(Loads(), func(l Load) bool { return l.Check == n.Check && slices.Contains(k.Loads, l.Name) })
	for _, f := range k.Findings {
		exact := f.Quantity == n.Quantity && f.Part == n.Part
		if f.Check == n.Check && (exact || whole && n.Quantity == "all") {
			out = append(out, f)
		}
	}
	return out
}
