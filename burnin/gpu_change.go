package burnin

import (
	"fmt"

	"github.com/rackproof/rackproof/profiles"
)

// change judges wear and noise: by the growth of a counter over the run. With one
// reading only, zero is no growth and anything else leaves the question open. A
// counter that fell was set to zero in between: what it shows then has grown since,
// and may be too much already; what it had grown before is not known.
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
	if after.V < before.V {
		since := f.Number(after.V, profiles.Count, l)
		if since.Verdict != Pass {
			return since
		}
		return f.Missing(fmt.Errorf("%s fell from %.0f to %.0f: it was set to zero in the middle, and what it had counted is not known",
			f.Quantity, before.V, after.V))
	}
	return f.Number(after.V-before.V, profiles.Count, l)
}

// changeOfGPU judges the growth of a counter of one GPU from the first to the last
// reading of nvidia-smi.
func changeOfGPU(f Finding, readings []Reading[NvidiaLog], part gpuPart, l *profiles.Limit, of func(*NvidiaGPU) Opt[float64]) Finding {
	var values []Opt[float64]
	for _, reading := range readings {
		err := reading.Err
		if err == nil {
			var g *NvidiaGPU
			if g, err = reading.Value.gpu(part); err == nil {
				values = append(values, of(g))
			}
		}
		if err != nil {
			return f.absent(err, l)
		}
	}
	return f.change(values[0], values[len(values)-1], len(values) > 1, l)
}
