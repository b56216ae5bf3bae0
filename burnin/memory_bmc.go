package burnin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// memoryByBMC answers for a machine whose firmware takes memory errors first and
// leaves the kernel nothing to count: there the BMC's log is where they are written,
// and the kernel's log names what the firmware passes on. Together, whole and read at
// both ends of the test, they stand for the counters. ok is false for any other
// machine, or where nobody has asked the BMC.
func memoryByBMC(r *Readings, p *profiles.Profile) (out []Finding, ok bool) {
	if r.Coverage() != CoverFull || !firmwareFirst(phaseReadings(r, EDAC)) {
		return nil, false
	}
	w := watchEvents(r)
	if len(w.refs) == 0 {
		return nil, false
	}
	klog := phaseReadings(r, KernelLog)
	refs := append(w.refs, refsOf(klog)...)
	about := func(quantity string, part Part) Finding { return About("memory.errors", quantity, part, refs...) }
	_, open := w.judgeFresh(r, p, about)
	open = errors.Join(open, kernelSilence(klog))
	for _, g := range groupEvents(r, p, w.fresh) {
		if limit := memoryLimit(g.rule.Memory, p); g.rule.Memory != "" && g.asserted() > 0 {
			f := about(g.rule.Memory, g.part)
			f.ID += "/" + g.name // one module may have logged more than one kind
			out = append(out, f.Number(float64(g.asserted()), profiles.Count, limit).Because("%s %s", g.rule.Meaning, g.last()))
		}
	}
	some := len(out) > 0
	for _, quantity := range []string{"uncorrected", "corrected"} {
		f := about(quantity, memoryPart)
		if open != nil {
			out = append(out, f.absent(fmt.Errorf("%w, and the BMC's log does not prove it either: %w", errNoEDAC, open), memoryLimit(quantity, p)))
			continue
		}
		f = f.Number(0, profiles.Count, memoryLimit(quantity, p))
		if some {
			out = append(out, f.Because("none in the rest of memory, by the BMC's log"))
			continue
		}
		out = append(out, f.Because("the firmware takes memory errors first, and neither the BMC's log nor the kernel's has one"))
	}
	return out, true
}

func memoryLimit(quantity string, p *profiles.Profile) *profiles.Limit {
	if quantity == "uncorrected" {
		return p.Memory.Uncorrected
	}
	return p.Memory.Corrected
}

// firmwareFirst reports that every look at the kernel's counters came to its end and
// found no memory controller.
func firmwareFirst(readings []Reading[EDACCounters]) bool {
	for _, e := range readings {
		if !errors.Is(e.Err, errNoEDAC) || !strings.Contains(string(e.Evidence.Out), edacEnd+"0") {
			return false
		}
	}
	return len(readings) > 0
}
