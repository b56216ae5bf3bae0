package provision

import (
	"slices"

	"github.com/rackproof/rackproof/burnin"
)

// soakBefore are the hours under load of the attempts before this one, for a spec that
// asks for hours; nil where there are none.
func soakBefore(e *Env) *burnin.Carried {
	if e.Spec.Soak.Hours <= 0 || e.Attempt <= 1 {
		return nil
	}
	j, dir := judgedBefore(e)
	if j == nil {
		return nil
	}
	rec, err := burnin.LoadRecord(dir)
	if err != nil {
		e.Log.Warn("hours under load of an earlier attempt do not count", "why", err)
		return nil
	}
	return burnin.CarryOn(rec, e.Spec, repairedSince(j, repairsSince(e.Repairs, rec)))
}

// repairedSince are the classes of what failed in the attempt before, and of what people
// say that they touched since. A part that it does not know is of class "".
func repairedSince(before *burnin.Judgement, repairs []Repaired) []burnin.Class {
	var out []burnin.Class
	add := func(c burnin.Class) {
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	for _, f := range before.Worst() {
		if f.Verdict == burnin.Fail {
			add(f.Class)
		}
	}
	var labels []string
	for _, r := range repairs {
		labels = append(labels, r.Swapped...)
		if r.Part != "" {
			labels = append(labels, r.Part)
		}
	}
	for _, label := range labels {
		class := burnin.Class("")
		for _, f := range before.Findings {
			if hasLabel(f.Part, label) {
				class = f.Class
				break
			}
		}
		add(class)
	}
	return out
}
