package burnin

import (
	"fmt"
	"slices"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// pcieView is all that the evidence shows of links: every tree of every phase, the
// samples taken under load, and what nvidia-smi says of its own GPUs.
type pcieView struct {
	trees   []treeView
	nvidia  []*nvidiaView
	samples []treeView    // those of trees that have a time, in its order
	timed   []*nvidiaView // those of nvidia that have a time, in its order
	noTrees error         // why there is no tree; nil when there is one
	noLoad  error         // why there is no sample under load
	open    error         // why the machine as it was left behind the load is not known; nil when it is
}

// treeView is one reading of the PCI bus.
type treeView struct {
	tree  *PCITree
	ref   string
	phase Phase
	at    time.Time // of a sample; zero of a single reading
	loose bool
}

// nvidiaView is one reading of nvidia-smi. It tells in the same breath how busy a
// GPU is and how fast its link.
type nvidiaView struct {
	log *NvidiaLog
	ref string
	at  time.Time
}

func viewPCIe(r *Readings) pcieView {
	var v pcieView
	for _, probe := range []Probe[*PCITree]{PCISysfs, LSPCI} {
		for _, reading := range phaseReadings(r, probe) {
			if !reading.OK() {
				v.noTrees = reading.Err
				continue
			}
			v.trees = append(v.trees, treeView{
				tree: reading.Value, ref: reading.Ref, phase: reading.Evidence.Phase, loose: reading.Evidence.Source == FromLoose,
			})
		}
	}
	v.addSamples(r)
	for _, reading := range nvidiaLogs(r) {
		v.nvidia = append(v.nvidia, &nvidiaView{log: &reading.Value, ref: reading.Ref})
	}
	if r.loaded() && v.noTrees != nil && !slices.ContainsFunc(v.trees, func(t treeView) bool { return t.phase == PhaseAfter }) {
		v.open = v.noTrees
	}
	samples := nvidiaSamples(r)
	for i := range samples {
		if samples[i].Err == nil && samples[i].Value.Usable() == nil {
			v.timed = append(v.timed, &nvidiaView{log: &samples[i].Value, ref: loadRef(NvidiaSMI), at: samples[i].At})
		}
	}
	v.nvidia = append(v.nvidia, v.timed...)
	switch {
	case len(v.trees) > 0:
		v.noTrees = nil
	case v.noTrees == nil:
		v.noTrees = fmt.Errorf("pci-sysfs and lspci: %w", ErrNotRun)
	}
	return v
}

// addSamples adds the samples of sysfs. One that was cut shows what it shows.
func (v *pcieView) addSamples(r *Readings) {
	e := r.find(PhaseLoad, PCISysfs.Spec.Name, "")
	if e == nil || len(e.Samples) == 0 {
		v.noLoad = fmt.Errorf("no samples were taken under load")
		return
	}
	samples, err := Samples(r, PCISysfs)
	if err != nil {
		v.noLoad = err
		return
	}
	for _, s := range samples {
		if s.Err == nil {
			v.samples = append(v.samples, treeView{tree: s.Value, ref: loadRef(PCISysfs), phase: PhaseLoad, at: s.At})
		}
	}
	v.trees = append(v.trees, v.samples...)
	order := func(t treeView) int { return slices.Index(machinePhases, t.phase) }
	slices.SortStableFunc(v.trees, func(a, b treeView) int { return order(a) - order(b) })
}

// linkState is what one reading shows of one link.
type linkState struct {
	ref   string
	link  PCILink
	where string // the hop, for people; "" = the part's own link
	dead  string // why there is no state: the device does not answer, or is gone
	at    time.Time
	loose bool
}

// own returns the states of a part's own link in every reading, dead ones included.
// A device that a whole listing showed before and another does not any more is gone.
func (v *pcieView) own(address string) []linkState {
	var out []linkState
	seen := map[string]bool{} // by probe: sysfs lists few classes, lspci all
	for _, t := range v.trees {
		probe := t.ref[len(t.phase)+1:]
		d := t.tree.At(address)
		switch {
		case d != nil && d.Dead != "":
			out = append(out, linkState{ref: t.ref, dead: d.Dead, at: t.at, loose: t.loose})
		case d != nil:
			out = append(out, linkState{ref: t.ref, link: d.Link, at: t.at, loose: t.loose})
		case seen[probe] && t.tree.Complete:
			out = append(out, linkState{ref: t.ref, dead: "it is gone from the PCI bus", at: t.at, loose: t.loose})
		}
		seen[probe] = seen[probe] || d != nil
	}
	return out
}

// uplinks returns the states of every hop above a part in every reading. direct
// says that a reading shows the part at a root port, with no hop between.
func (v *pcieView) uplinks(address string) (out []linkState, direct bool) {
	for _, t := range v.trees {
		above := t.tree.Above(address)
		direct = direct || len(above) == 1
		for _, hop := range above[min(1, len(above)):] {
			s := linkState{ref: t.ref, link: hop.Link, dead: hop.Dead, where: "port " + hop.Address, at: t.at, loose: t.loose}
			if hop.Link.Width != 0 || hop.Dead != "" {
				out = append(out, s)
			}
		}
	}
	return out, direct
}

// ofNvidia returns what nvidia-smi says of a GPU's own link.
func (v *pcieView) ofNvidia(part Part) []linkState {
	var out []linkState
	for _, n := range v.nvidia {
		g := n.log.find(gpuPart{Part: part})
		if g == nil || !g.LinkWidth.Set && !g.LinkGen.Set {
			continue
		}
		out = append(out, linkState{ref: n.ref, link: PCILink{Speed: genSpeed(g.LinkGen), Width: int(g.LinkWidth.V)}, at: n.at})
	}
	return out
}

// pcieGenerations are the signalling rates of the generations in GT/s (PCI Express
// Base Specification 6.0).
var pcieGenerations = map[float64]float64{1: 2.5, 2: 5, 3: 8, 4: 16, 5: 32, 6: 64}

func genSpeed(gen Opt[float64]) float64 { return pcieGenerations[gen.V] }

// pcieClassOf are the limits for a class of part.
func pcieClassOf(p *profiles.Profile, c Class) *profiles.PCIeClass {
	switch c {
	case ClassNVMe:
		return &p.PCIe.NVMe
	case ClassNIC:
		return &p.PCIe.NIC
	default:
		return &p.PCIe.GPU
	}
}
