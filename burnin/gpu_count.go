package burnin

import (
	"fmt"
	"slices"

	"github.com/rackproof/rackproof/profiles"
)

// gpuCount asks whether all GPUs are there, and are the ones that were ordered. The
// driver's list counts; without it, the PCI bus can show that one is missing, but
// not that all of them work.
var gpuCount = Check{
	Name:   "gpu.count",
	Title:  "All GPUs are there and are the model of the profile",
	Probes: []string{NvidiaSMI.Spec.Name, PCISysfs.Spec.Name, LSPCI.Spec.Name, BMCInventory.Spec.Name},
	AtBoot: []string{"count", "present"},
	Same:   true,
	Judge:  judgeGPUCount,
}

func judgeGPUCount(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	if none := noGPUs("gpu.count", p); none != nil {
		return none
	}
	out := []Finding{countGPUs(r, p)}
	readings := phaseReadings(r, NvidiaSMI)
	usable := noneUsable(readings) == nil
	for _, part := range gpuParts(r, p) {
		if usable {
			out = append(out, gpuPresent(readings, part))
		}
		if part.Shown && (usable || part.Address != "") {
			out = append(out, gpuID(r, p, part))
		}
	}
	if !usable {
		return withClass(out, ClassOrder, "pci_id") // count says why
	}
	products := askGPUs(r, p, "gpu.count", askWord("product", "it is a %v",
		func(g *NvidiaGPU) Opt[string] { return g.Product }, p.GPU.Product))
	out = append(out, slices.DeleteFunc(products, func(f Finding) bool { return f.Quantity == "all" })...)
	return withClass(out, ClassOrder, "pci_id", "product")
}

// seen is how many GPUs one reading shows.
type seen struct {
	n    float64
	ref  string
	err  error // the reading does not tell how many
	note string
}

// countGPUs keeps the worst count of all readings, samples under load included.
func countGPUs(r *Readings, p *profiles.Profile) Finding {
	base := About("gpu.count", "count", fleetPart(p))
	var all []seen
	for _, reading := range phaseReadings(r, NvidiaSMI) {
		all = append(all, countNvidia(reading, p))
	}
	all = append(all, countSamples(r)...)
	worst := base.Missing(fmt.Errorf("nvidia-smi: %w", ErrNotRun))
	for i, s := range all {
		f := countFinding(p, s)
		if i == 0 {
			worst = f
			continue
		}
		worst = worseFinding(worst, f)
	}
	for _, tree := range pciTrees(r) {
		// The bus may show that one is missing; that all are on it is not enough.
		bus := seen{n: float64(len(tree.Value.NVIDIA())), ref: tree.Ref, note: "on the PCI bus"}
		if f := countFinding(p, bus); tree.Value.Complete && f.Verdict == Fail {
			worst = worseFinding(worst, f)
		}
	}
	return worst
}

func countFinding(p *profiles.Profile, s seen) Finding {
	f := About("gpu.count", "count", fleetPart(p), s.ref)
	if s.err != nil {
		return f.Missing(s.err)
	}
	f = f.Number(s.n, profiles.Count, p.GPU.Count)
	if f.Verdict == Fail {
		return f.Because("%.0f of %s GPUs %s", s.n, p.GPU.Count, firstWord(s.note, "answer"))
	}
	return f
}

// countNvidia counts the GPUs that answer in one reading.
func countNvidia(reading Reading[NvidiaLog], p *profiles.Profile) seen {
	s := seen{ref: reading.Ref, err: reading.Err}
	if s.err != nil {
		return s
	}
	log := reading.Value
	if log.Failure != nil {
		if log.Failure.Kind != NvidiaNoDevices {
			s.err = log.Usable()
		}
		s.note = "are found by nvidia-smi"
		return s
	}
	s.n = float64(answering(log))
	want := p.GPU.Count.Number(profiles.Count)
	switch {
	case log.Complete:
	case log.Attached.Set && log.Attached.V < want:
		s.n = min(s.n, log.Attached.V)
	case log.Attached.Set:
		s.err = fmt.Errorf("the output ends after %d of %.0f GPUs", len(log.GPUs), log.Attached.V)
	case s.n < want:
		s.err = fmt.Errorf("the output shows %d GPUs and does not say that it is whole", len(log.GPUs))
	}
	return s
}

// answering counts GPUs once, without those that do not answer.
func answering(log NvidiaLog) int {
	at := map[string]bool{}
	n := 0
	for _, g := range log.GPUs {
		if g.Lost != "" || g.Address != "" && at[g.Address] {
			continue
		}
		at[g.Address] = true
		n++
	}
	return n
}

// countSamples counts in the samples under load that are whole.
func countSamples(r *Readings) []seen {
	var worst []seen
	for _, s := range nvidiaSamples(r) {
		if s.Err != nil || !s.Value.Complete || s.Value.Usable() != nil {
			continue
		}
		n := float64(answering(s.Value))
		if len(worst) == 0 || n < worst[0].n {
			worst = []seen{{n: n, ref: loadRef(NvidiaSMI), note: "answered under load at " + clock(s.At)}}
		}
	}
	return worst
}

// gpuPresent says of one GPU whether it is there, and names one that is not.
func gpuPresent(readings []Reading[NvidiaLog], part gpuPart) Finding {
	return worstOf(readings, About("gpu.count", "present", part.Part), func(f Finding, log NvidiaLog) Finding {
		if err := log.Usable(); err != nil {
			return f.Missing(err)
		}
		return log.present(f, part)
	})
}

func (l *NvidiaLog) present(f Finding, part gpuPart) Finding {
	g, line := l.find(part), l.lost(part)
	f.Measured = "absent"
	switch {
	case g != nil && g.Lost != "":
		return f.Judged(Fail, "does not answer: "+g.Lost)
	case line != "":
		return f.Judged(Fail, line)
	case g != nil:
		f.Measured = "present"
		return f.Judged(Pass, "nvidia-smi shows it")
	case l.Complete && part.Shown:
		return f.Judged(Fail, "was seen elsewhere, but nvidia-smi does not show it")
	case l.Complete && part.BMC:
		return f.Judged(Fail, "is listed by the BMC, but nvidia-smi does not show it")
	}
	f.Measured = nil
	return f.Missing(errGPUNotShown)
}

// lost returns the line by which nvidia-smi says that a GPU does not answer, or "".
func (l *NvidiaLog) lost(part gpuPart) string {
	for _, m := range l.Messages {
		if m.Kind != NvidiaLost {
			continue
		}
		if m.Address != "" && m.Address == part.Address ||
			m.Address == "" && part.Index != nil && m.Index == *part.Index {
			return m.String()
		}
	}
	return ""
}

// gpuID judges vendor and device, from nvidia-smi or else from the PCI bus.
func gpuID(r *Readings, p *profiles.Profile, part gpuPart) Finding {
	f := About("gpu.count", "pci_id", part.Part)
	for _, log := range nvidiaLogs(r) {
		if g := log.Value.find(part); g != nil && g.PCIID != "" {
			return About("gpu.count", "pci_id", part.Part, log.Ref).Word(g.PCIID, p.GPU.PCIID)
		}
	}
	for _, tree := range pciTrees(r) {
		if d := tree.Value.At(part.Address); d != nil && d.ID() != "" {
			return About("gpu.count", "pci_id", part.Part, tree.Ref).Word(d.ID(), p.GPU.PCIID)
		}
	}
	return f.absent(fmt.Errorf("no evidence shows the PCI id"), p.GPU.PCIID)
}
