package burnin

import (
	"bytes"
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
// load belong together, and one alone proves nothing about the machine as it is
// handed over.
func phaseReadings[T any](r *Readings, p Probe[T]) []Reading[T] {
	var out []Reading[T]
	ran := r.probes[p.Spec.Name]
	for _, phase := range machinePhases {
		reading := Read(r, p, phase)
		// What is sampled prints nothing else. Where the tool was missing nothing was sampled.
		sampled := phase == PhaseLoad && reading.Evidence != nil && reading.Evidence.Ended != EndedNoTool && len(bytes.TrimSpace(reading.Evidence.Out)) == 0
		owed := ran && phase != PhaseLoad && r.loaded() && slices.Contains(p.Spec.Phases, phase)
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
	return r.Coverage() != CoverPartial && r.strain
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

// nvidiaSamples returns the samples taken under load; without any it is empty.
func nvidiaSamples(r *Readings) []SampleReading[NvidiaLog] {
	e := r.find(PhaseLoad, NvidiaSMI.Spec.Name, "")
	if e == nil || len(e.Samples) == 0 {
		return nil
	}
	samples, err := Samples(r, NvidiaSMI)
	if err != nil {
		return nil
	}
	return samples
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
