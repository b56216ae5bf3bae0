package burnin

import (
	"fmt"
	"slices"

	"github.com/rackproof/rackproof/profiles"
)

// byPCI makes a program of CUDA number the GPUs as nvidia-smi does: left alone CUDA
// puts the one that it takes for the fastest first.
const byPCI = "export CUDA_DEVICE_ORDER=PCI_BUS_ID; "

// toolGPU is the part that a measuring tool means. What the tool prints of the PCI bus
// decides, then the unique id, then its number, which is that of nvidia-smi (see byPCI).
// A GPU that nothing else shows has the tool's number alone.
func toolGPU(parts []gpuPart, tool, address, uuid string, index int) Part {
	i := slices.IndexFunc(parts, func(g gpuPart) bool { return address != "" && g.Address == address })
	if uuid = realUUID(uuid); i < 0 && uuid != "" {
		i = slices.IndexFunc(parts, func(g gpuPart) bool { return g.UUID == uuid })
	}
	if i < 0 && address == "" {
		i = slices.IndexFunc(parts, func(g gpuPart) bool { return g.Index != nil && *g.Index == index })
	}
	if i >= 0 {
		return parts[i].Part
	}
	class := ClassPCIeGPU
	if len(parts) > 0 {
		class = parts[0].Class
	}
	return Part{Class: class, Name: fmt.Sprintf("GPU (%s %d)", tool, index), Address: address, Index: &index}
}

// withSiblings remarks every GPU that measured clearly less than the median of all,
// also above its limit: what differs in one machine has a reason. All are findings of
// one quantity; of fewer than three there is no telling which is the odd one.
func withSiblings(fs []Finding, l *profiles.Limit) []Finding {
	var values []float64
	for _, f := range fs {
		if v, ok := amongSiblings(f); ok {
			values = append(values, v)
		}
	}
	if len(values) < 3 || !l.Set() {
		return fs
	}
	middle := median(values)
	for i, f := range fs {
		v, ok := amongSiblings(f)
		below := (middle - v) / middle * 100
		if !ok || f.Verdict == Fail || middle <= 0 || below <= l.Number(profiles.Percent) {
			continue
		}
		f.Scope = "" // also where the profile has no floor
		fs[i] = f.Judged(Warn, fmt.Sprintf("%.4g %s is %.0f %% below the %.4g of its siblings", v, f.Unit, below, middle))
	}
	return fs
}

// amongSiblings is by what a GPU is compared with the others: what it measured, and of
// pairs the mean, since the worst one may be its peer's fault.
func amongSiblings(f Finding) (float64, bool) {
	v, ok := f.Measured.(float64)
	if f.Peer != "" && f.Samples != nil {
		v = f.Samples.Mean
	}
	return v, ok && f.NotRun == ""
}

// statsOf is stats, nil of no values.
func statsOf(values []float64) *Stats {
	if len(values) == 0 {
		return nil
	}
	return stats(values)
}

// hung says of a load that measures that it was ended at the end of its time, see bounded;
// else it is nil.
func (e *Evidence) hung() error {
	const ended, killed = 124, 137 // by timeout, and by timeout -k
	if e.Phase != PhaseLoad || e.Exit == nil || *e.Exit != ended && *e.Exit != killed {
		return nil
	}
	return fmt.Errorf("%s did not come to its end and was ended after %.0f s", e.Probe, e.Seconds)
}
