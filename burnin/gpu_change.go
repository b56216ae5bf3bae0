package burnin

import (
	"fmt"

	"github.com/rackproof/rackproof/profiles"
)

// change judges wear and noise: by the growth of a counter over the run. With one
// reading only, zero is no growth and anything else leaves the question open. A
// counter that fell was set to zero in between: what it shows then has grown since.
func (f Finding) change(before, after Opt[float64], both bool, l *profiles.Limit) Finding {
	switch {
	case !after.Set:
		return f.absent(after.Absent(f.Quantity), l)
	case !both:
		if after.V == 0 || !l.Set() {
			return f.Number(after.V, profiles.Count, l)
		}
		return f.Missing(fmt.Errorf("%s is %.0f in one reading; the change over the run is not known", f.Quantity, after.V))
	case !before.Set:
		return f.absent(before.Absent(f.Quantity), l)
	}
	grown := after.V - before.V
	if grown < 0 {
		grown = after.V
	}
	return f.Number(grown, profiles.Count, l)
}

// askChange judges the growth of a counter of every GPU from the first to the last
// reading of nvidia-smi.
func askChange(r *Readings, p *profiles.Profile, check, quantity string, l *profiles.Limit, of func(*NvidiaGPU) Opt[float64]) []Finding {
	readings := phaseReadings(r, NvidiaSMI)
	var out []Finding
	for _, part := range gpuParts(r, p) {
		f := About(check, quantity, part.Part, refsOf(readings)...)
		out = append(out, changeOfGPU(f, readings, part, l, of))
	}
	return out
}

func changeOfGPU(f Finding, readings []Reading[NvidiaLog], part gpuPart, l *profiles.Limit, of func(*NvidiaGPU) Opt[float64]) Finding {
	if len(readings) == 0 {
		return f.absent(errNoNvidia(part), l)
	}
	first, err := gpuIn(readings[0], part)
	if err != nil {
		return f.absent(err, l)
	}
	last, err := gpuIn(readings[len(readings)-1], part)
	if err != nil {
		return f.absent(err, l)
	}
	return f.change(of(first), of(last), len(readings) > 1, l)
}

// refsOf cites readings.
func refsOf[T any](readings []Reading[T]) []string {
	var refs []string
	for _, reading := range readings {
		refs = append(refs, reading.Ref)
	}
	return refs
}

// loadRef cites the samples of a probe.
func loadRef[T any](p Probe[T]) string { return string(PhaseLoad) + "/" + p.Spec.Name }

// nvidiaSamples returns the samples taken under load; none is an empty list.
func nvidiaSamples(r *Readings) []SampleReading[NvidiaLog] {
	e := r.rec.find(PhaseLoad, NvidiaSMI.Spec.Name, "")
	if e == nil || len(e.Samples) == 0 {
		return nil
	}
	samples, err := Samples(r, NvidiaSMI)
	if err != nil {
		return nil
	}
	return samples
}
