package burnin

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rackproof/rackproof/profiles"
)

// gpuAsk is one question to every GPU. Judge answers it from each reading of
// nvidia-smi, and the worst answer counts; growth answers it by the change of a
// counter from the first reading to the last.
type gpuAsk struct {
	quantity string
	judge    func(Finding, *NvidiaGPU) Finding
	growth   func(*NvidiaGPU) Opt[float64]
	limit    *profiles.Limit // of growth
	why      string          // what a fault means, for people; %v is what was measured
	optional bool            // not every GPU can answer it: no answer leaves nothing open
}

// askWord asks for a word, askCount for a count, against a limit of the profile.
func askWord(quantity, why string, of func(*NvidiaGPU) Opt[string], l *profiles.Limit) gpuAsk {
	return gpuAsk{quantity: quantity, why: why, judge: func(f Finding, g *NvidiaGPU) Finding { return f.word(of(g), l) }}
}

func askCount(quantity, why string, of func(*NvidiaGPU) Opt[float64], l *profiles.Limit) gpuAsk {
	return gpuAsk{quantity: quantity, why: why, judge: func(f Finding, g *NvidiaGPU) Finding { return f.number(of(g), profiles.Count, l) }}
}

// askGPUs puts questions to every GPU. Damage that was seen once was there; a phase
// in which nvidia-smi ran and gave no answer leaves the question open.
func askGPUs(r *Readings, p *profiles.Profile, check string, asks ...gpuAsk) []Finding {
	readings := phaseReadings(r, NvidiaSMI)
	if why := noneUsable(readings); why != nil {
		return []Finding{About(check, "all", fleetPart(p), refsOf(readings)...).Missing(why)}
	}
	shown, out := shownGPUs(r, p, check)
	for _, part := range shown {
		for _, ask := range asks {
			f := ask.put(check, readings, part)
			if f.NotRun == "" || !ask.optional {
				out = append(out, f)
			}
		}
	}
	return out
}

// noneUsable says why no reading of nvidia-smi tells anything of a GPU, or nil.
func noneUsable(readings []Reading[NvidiaLog]) error {
	why := fmt.Errorf("nvidia-smi: %w", ErrNotRun)
	for _, reading := range readings {
		if !reading.OK() {
			why = reading.Err
			continue
		}
		if why = reading.Value.Usable(); why == nil {
			return nil
		}
	}
	return why
}

// shownGPUs parts the GPUs that some evidence shows from those that are only
// expected; each of these leaves the check open in its own name.
func shownGPUs(r *Readings, p *profiles.Profile, check string) (shown []gpuPart, open []Finding) {
	for _, part := range gpuParts(r, p) {
		if part.Shown {
			shown = append(shown, part)
			continue
		}
		open = append(open, About(check, "all", part.Part).Missing(errGPUNotShown))
	}
	return shown, open
}

func (a gpuAsk) put(check string, readings []Reading[NvidiaLog], part gpuPart) Finding {
	if a.growth != nil {
		return changeOfGPU(About(check, a.quantity, part.Part, refsOf(readings)...), readings, part, a.limit, a.growth)
	}
	return worstOf(readings, About(check, a.quantity, part.Part), func(f Finding, log NvidiaLog) Finding {
		g, err := log.gpu(part)
		if err != nil {
			return f.Missing(err)
		}
		f = a.judge(f, g)
		if f.Verdict == Fail && f.Why == "" {
			f = f.Because(a.why, f.Measured)
		}
		return f
	})
}

// worstOf asks every reading of a probe the same question and keeps the worst
// answer. There is at least one reading.
func worstOf[T any](readings []Reading[T], base Finding, judge func(Finding, T) Finding) Finding {
	var worst Finding
	for i, reading := range readings {
		f := base
		f.Evidence = withoutBlanks([]string{reading.Ref})
		if reading.OK() {
			f = judge(f, reading.Value)
		} else {
			f = f.Missing(reading.Err)
		}
		if i == 0 {
			worst = f
			continue
		}
		worst = worseFinding(worst, f)
	}
	return worst
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

// gpu returns a part as one log shows it.
func (l *NvidiaLog) gpu(part gpuPart) (*NvidiaGPU, error) {
	if err := l.Usable(); err != nil {
		return nil, err
	}
	g := l.find(part)
	switch {
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

// noGPUs is the answer of every GPU check for a machine without GPUs, or nil.
func noGPUs(check string, p *profiles.Profile) []Finding {
	if n, set := wantedGPUs(p); set && n > 0 {
		return nil
	}
	return []Finding{About(check, "all", Part{Class: ClassMachine, Name: "machine"}).NotHere("the profile has no GPUs")}
}
