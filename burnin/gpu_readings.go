package burnin

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/rackproof/rackproof/profiles"
)

// machinePhases are the phases in which a node answers, in their order.
var machinePhases = []Phase{PhaseBefore, PhaseLoad, PhaseAfter}

// nvidiaLogs returns the full queries that can be used, in order of phase. The
// samples taken under load are read by Samples.
func nvidiaLogs(r *Readings) []Reading[NvidiaLog] {
	var out []Reading[NvidiaLog]
	for _, reading := range phaseReadings(r, NvidiaSMI) {
		if reading.OK() && reading.Value.Usable() == nil {
			out = append(out, reading)
		}
	}
	return out
}

// phaseReadings returns what a probe said in each phase in which it ran, and in
// place of one that must have run and did not, why it is absent: before and after a
// load belong together, and the first alone proves nothing about the machine as it
// is handed over.
func phaseReadings[T any](r *Readings, p Probe[T]) []Reading[T] {
	var out []Reading[T]
	for _, phase := range machinePhases {
		reading := Read(r, p, phase)
		sampled := phase == PhaseLoad && reading.Evidence != nil && len(bytes.TrimSpace(reading.Evidence.Out)) == 0
		owed := phase == PhaseAfter && len(out) > 0 && r.loaded() && slices.Contains(p.Spec.Phases, PhaseAfter)
		if sampled || reading.Evidence == nil && !owed {
			continue
		}
		out = append(out, reading)
	}
	return out
}

// loaded reports whether the record is of a run under load, so that every probe
// must have run again behind it. Loose files are not a run.
func (r *Readings) loaded() bool {
	return r.Coverage() != CoverPartial && slices.ContainsFunc(r.rec.Evidence, func(e *Evidence) bool {
		return e.Phase == PhaseLoad
	})
}

// pciTrees returns what sysfs and lspci show of the PCI bus, sysfs first.
func pciTrees(r *Readings) []Reading[*PCITree] {
	var out []Reading[*PCITree]
	for _, probe := range []Probe[*PCITree]{PCISysfs, LSPCI} {
		for _, reading := range phaseReadings(r, probe) {
			if reading.OK() && reading.Value != nil {
				out = append(out, reading)
			}
		}
	}
	return out
}

// gpuAsk is one question to every GPU in every phase in which nvidia-smi answered.
type gpuAsk struct {
	check, quantity string
	judge           func(Finding, *NvidiaGPU) Finding
}

// askGPUs puts a question to each part in each phase, and keeps the worst answer:
// damage that was seen once was there. A phase in which nvidia-smi ran and gave no
// answer leaves the question open.
func askGPUs(r *Readings, p *profiles.Profile, asks ...gpuAsk) []Finding {
	readings := phaseReadings(r, NvidiaSMI)
	var out []Finding
	for _, part := range gpuParts(r, p) {
		for _, ask := range asks {
			out = append(out, askGPU(readings, part, ask))
		}
	}
	return out
}

func askGPU(readings []Reading[NvidiaLog], part gpuPart, ask gpuAsk) Finding {
	worst := About(ask.check, ask.quantity, part.Part).Missing(errNoNvidia(part))
	for i, reading := range readings {
		f := About(ask.check, ask.quantity, part.Part, reading.Ref)
		switch g, err := gpuIn(reading, part); {
		case err != nil:
			f = f.Missing(err)
		default:
			f = ask.judge(f, g)
		}
		if i == 0 {
			worst = f
			continue
		}
		worst = worseFinding(worst, f)
	}
	return worst
}

// errNoNvidia is why a part has no answer when nvidia-smi did not run at all.
func errNoNvidia(part gpuPart) error {
	if !part.Shown {
		return errGPUNotShown
	}
	return fmt.Errorf("nvidia-smi: %w", ErrNotRun)
}

// gpuIn finds a part in a reading of nvidia-smi.
func gpuIn(reading Reading[NvidiaLog], part gpuPart) (*NvidiaGPU, error) {
	if !reading.OK() {
		return nil, reading.Err
	}
	if err := reading.Value.Usable(); err != nil {
		return nil, err
	}
	g := reading.Value.find(part)
	switch {
	case !part.Shown:
		return nil, errGPUNotShown
	case g == nil:
		return nil, errors.New("nvidia-smi does not show this GPU")
	case g.Lost != "":
		return nil, fmt.Errorf("the GPU does not answer: %s", g.Lost)
	}
	return g, nil
}

// find returns the GPU of a part, or nil.
func (l *NvidiaLog) find(part gpuPart) *NvidiaGPU {
	for i := range l.GPUs {
		g := &l.GPUs[i]
		if part.Address != "" && g.Address == part.Address ||
			(part.Address == "" || g.Address == "") && part.Index != nil && *part.Index == g.Index {
			return g
		}
	}
	return nil
}

// worseFinding returns the worse of two answers to one question; the evidence of
// both stands behind it.
func worseFinding(a, b Finding) Finding {
	worst := a
	if b.Verdict > a.Verdict {
		worst = b
	}
	worst.Evidence = slices.Compact(slices.Concat(a.Evidence, b.Evidence))
	return worst
}

// noGPUs is the answer of every GPU check for a machine without GPUs, or nil.
func noGPUs(check string, p *profiles.Profile) []Finding {
	if n, set := wantedGPUs(p); set && n > 0 {
		return nil
	}
	return []Finding{About(check, "all", Part{Class: ClassMachine, Name: "machine"}).NotHere("the profile has no GPUs")}
}

// number judges a number that may be absent.
func (f Finding) number(o Opt[float64], unit profiles.Unit, l *profiles.Limit) Finding {
	if !o.Set {
		return f.absent(o.Absent(f.Quantity), l)
	}
	return f.Number(o.V, unit, l)
}

// word judges a word that may be absent.
func (f Finding) word(o Opt[string], l *profiles.Limit) Finding {
	if !o.Set {
		return f.absent(o.Absent(f.Quantity), l)
	}
	return f.Word(o.V, l)
}

// absent leaves a question open that the profile asks; one that it does not ask is
// only noted.
func (f Finding) absent(why error, l *profiles.Limit) Finding {
	if !l.Set() {
		f.Scope = profiles.Recorded
		return f.NotHere("the profile has no limit for it, and " + why.Error())
	}
	return f.Missing(why)
}
