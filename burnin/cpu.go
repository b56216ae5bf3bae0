package burnin

import (
	"errors"
	"fmt"
	"path"

	"github.com/rackproof/rackproof/profiles"
)

// processors asks whether the processors are those of the profile, and computed
// rightly under load.
var processors = Check{
	Name:   "cpu",
	Title:  "The processors are those of the profile, and compute rightly under load",
	Probes: []string{LSCPU.Spec.Name, StressNG.Spec.Name},
	Judge:  judgeCPU,
}

var processorsPart = Part{Class: ClassCPU, Name: "processors"}

func judgeCPU(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	info := ReadAny(r, LSCPU, PhaseBefore, PhaseAfter)
	sockets, model := About("cpu", "sockets", processorsPart, info.Ref), About("cpu", "model", processorsPart, info.Ref)
	out := []Finding{judgeComputing(r)}
	if !info.OK() {
		return append(out, sockets.absent(info.Err, p.CPU.Sockets), model.absent(info.Err, p.CPU.Model))
	}
	return append(out, sockets.number(info.Value.Sockets, profiles.Count, p.CPU.Sockets), cpuModel(model, info.Value.Model, p.CPU.Model))
}

// cpuModel compares the model's name with the patterns of the profile.
func cpuModel(f Finding, name string, l *profiles.Limit) Finding {
	if name == "" {
		return f.absent(errors.New("lscpu names no model"), l)
	}
	if l.Set() {
		for _, pattern := range l.Text {
			if ok, err := path.Match(pattern, name); err == nil && ok {
				f = f.Word(pattern, l)
				f.Measured = name
				return f
			}
		}
	}
	f = f.Word(name, l)
	if f.Verdict == Fail {
		f.Class = ClassOrder
	}
	return f
}

// judgeComputing judges what stress-ng computed and compared on every processor.
func judgeComputing(r *Readings) Finding {
	stress := Read(r, StressNG, PhaseLoad)
	f := About("cpu", "computing", processorsPart, stress.Ref)
	switch {
	case !stress.OK() && r.find(PhaseLoad, "cpu-loop", "") != nil:
		return f.Missing(errors.New(notThere(StressNG.Spec.Tool) + "; another load kept the processors busy, and compares nothing"))
	case !stress.OK():
		return f.Missing(stress.Err)
	case len(stress.Value.Failures) > 0:
		f.Measured = float64(len(stress.Value.Failures))
		return f.Judged(Fail, fmt.Sprintf("%d results were wrong: %s", len(stress.Value.Failures), stress.Value.Failures[0]))
	case !stress.Value.Done:
		return f.Missing(errors.New("stress-ng did not come to a good end"))
	case stress.Value.Skipped.V > 0, stress.Value.Ops["cpu"].Set && stress.Value.Ops["cpu"].V == 0:
		return f.Missing(errors.New("stress-ng computed nothing, and calls that a success"))
	}
	f.Measured = 0.0
	return f.Judged(Pass, "no result was wrong")
}
