package burnin

import (
	"fmt"

	"github.com/rackproof/rackproof/profiles"
)

// containers asks whether containers see every GPU, in each way that the profile names.
var containers = Check{
	Name:   "containers",
	Title:  "Containers see every GPU",
	Probes: []string{ContainerGPUs.Spec.Name},
	Judge:  judgeContainers,
}

func judgeContainers(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	want := p.Containers.Seen
	part := Part{Class: ClassImage, Name: "containers"}
	if !want.Set() {
		return []Finding{About("containers", "gpus", part).NotHere("the profile names no way by which containers must see GPUs")}
	}
	view := ReadAny(r, ContainerGPUs, PhaseBefore, PhaseAfter)
	var out []Finding
	for _, way := range want.Text {
		part.Name = "containers by " + way
		f := About("containers", "gpus", part, view.Ref)
		if !view.OK() {
			out = append(out, f.Missing(view.Err))
			continue
		}
		out = append(out, view.Value.judge(f, way, p.GPU.Count))
	}
	return out
}

// judge judges one way. A tool that is not there leaves the question open; one that
// fails, or shows too few, is a fault of what was installed.
func (v *ContainerView) judge(f Finding, way string, count *profiles.Limit) Finding {
	n, asked := v.GPUs[way]
	switch {
	case !asked:
		return f.Missing(fmt.Errorf("%s was not asked: %s", way, notThere(containerTools[way])))
	case v.Failed[way] != "":
		return f.Missing(fmt.Errorf("%s gave no answer: %s", way, v.Failed[way]))
	case !n.Set:
		return f.Missing(n.Absent("the number of GPUs by " + way))
	case !count.Set():
		return f.Missing(fmt.Errorf("%s shows %.0f GPUs, and the profile does not say how many there must be", way, n.V))
	}
	f = f.Number(n.V, profiles.Count, count)
	return f.Because("%s shows %.0f of %s GPUs", way, n.V, count)
}
