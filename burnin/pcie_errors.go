package burnin

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// pcieErrors asks whether links lost data (absolutely) or had to repeat it (by
// change over the run), on the part's own link and on every hop above it.
var pcieErrors = Check{
	Name:   "pcie.errors",
	Title:  "Links lose no data, and repeat no more than is normal",
	Probes: []string{"pci-sysfs", "kernel-log", "nvidia-smi"},
	AtBoot: []string{"fatal"},
	Judge:  judgePCIeErrors,
}

// errorKinds are the quantities, the kernel's file and event kinds behind each, and
// the limit of each.
var errorKinds = []struct {
	quantity, file string
	events         EventKind
	limit          func(*profiles.PCIe) *profiles.Limit
}{
	{"corrected", "correctable", EventCorrected, func(p *profiles.PCIe) *profiles.Limit { return p.CorrectedErrors }},
	{"nonfatal", "nonfatal", EventUncorrected, func(p *profiles.PCIe) *profiles.Limit { return p.NonFatalErrors }},
	{"fatal", "fatal", EventFatal, func(p *profiles.PCIe) *profiles.Limit { return p.FatalErrors }},
}

// errorPart is a part with the devices whose counters are its own: itself and the
// port at the other end of its link.
type errorPart struct {
	Part
	devices []string
	only    string // of a port further up: the one part that hangs on it; "" where there are several
	missing error
}

func judgePCIeErrors(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	readings := phaseReadings(r, PCISysfs)
	klog := phaseReadings(r, KernelLog)
	parts := errorParts(r, p)
	var out []Finding
	for _, part := range parts {
		for _, kind := range errorKinds {
			f := About("pcie.errors", kind.quantity, part.Part, refsOf(readings)...)
			f.Peer = part.only
			limit := kind.limit(&p.PCIe)
			if part.missing != nil {
				out = append(out, f.absent(part.missing, limit))
				continue
			}
			if logged := loggedErrors(klog, kind.events, part.devices); kind.events != EventCorrected && logged != nil {
				out = append(out, f.lossLogged(logged, klog, limit))
				continue
			}
			out = append(out, linkErrors(f, readings, part, kind.file, limit).
				began(func() time.Time { return linkErrorsBegan(r, part.Address, kind.file) }))
		}
	}
	out = append(out, linkReplays(r, p)...)
	out = append(out, otherLosses(klog, parts, p)...)
	if len(out) == 0 {
		return []Finding{About("pcie.errors", "fatal", machinePart, refsOf(readings)...).NotHere("no GPU, drive or adapter that the profile has limits for")}
	}
	return out
}

// linkReplays judges how often each GPU had to repeat what it sent, by its own
// counter, which is not zero on healthy machines.
func linkReplays(r *Readings, p *profiles.Profile) []Finding {
	if noGPUs("pcie.errors", p) != nil {
		return nil
	}
	readings := phaseReadings(r, NvidiaSMI)
	none := noneUsable(readings)
	var out []Finding
	for _, part := range gpuParts(r, p) {
		f := About("pcie.errors", "replays", part.Part, refsOf(readings)...)
		switch {
		case !part.Shown:
			f = f.absent(errGPUNotShown, p.PCIe.Replays)
		case none != nil:
			f = f.absent(none, p.PCIe.Replays)
		default:
			f = changeOfGPU(f, readings, part, p.PCIe.Replays, func(g *NvidiaGPU) Opt[float64] { return g.Replays })
		}
		out = append(out, f)
	}
	return out
}

// errorParts are the parts whose links are judged, and each port further up, once,
// with the parts that depend on it.
func errorParts(r *Readings, p *profiles.Profile) []errorPart {
	trees := pciTrees(r)
	var out []errorPart
	below := map[string][]string{}
	for _, part := range linkParts(r, p) {
		e := errorPart{Part: part.Part, devices: []string{part.Address}}
		switch {
		case !part.shown:
			e.missing = part.missing
		case part.Address == "":
			e.missing = errors.New("the evidence gives no PCI address for it")
		}
		for _, tree := range trees {
			path := tree.Value.Above(part.Address)
			if len(path) == 0 {
				continue
			}
			e.devices = append(e.devices, path[0].Address)
			for _, hop := range path[1:] {
				below[hop.Address] = append(below[hop.Address], part.Name)
			}
			break // one tree tells the way
		}
		out = append(out, e)
	}
	for _, address := range sortedKeys(below) {
		name := fmt.Sprintf("PCIe port %s (above %s)", address, fewWords(below[address]))
		port := errorPart{Part: Part{Class: ClassMachine, Name: name, Address: address}, devices: []string{address}}
		if len(below[address]) == 1 {
			port.only = below[address][0]
		}
		out = append(out, port)
	}
	return out
}

// fewWords lists the first of several names and says how many more there are.
func fewWords(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// linkErrors judges one kind of error of one part by the kernel's counters.
func linkErrors(f Finding, readings []Reading[*PCITree], part errorPart, file string, limit *profiles.Limit) Finding {
	if len(readings) == 0 {
		return f.absent(fmt.Errorf("pci-sysfs: %w", ErrNotRun), limit)
	}
	open := anyAbsent(readings)
	var counts []Opt[float64]
	for _, reading := range readings {
		if reading.OK() {
			counts = append(counts, errorCount(reading.Value, part.devices, file))
		}
	}
	if len(counts) == 0 {
		return f.absent(open, limit)
	}
	first, last := counts[0], counts[len(counts)-1]
	if file == "correctable" {
		if open != nil {
			return f.absent(open, limit)
		}
		return f.sinceBoot(first, last, len(counts) > 1, limit)
	}
	worst := last
	for _, c := range counts {
		if c.V > worst.V {
			worst = c
		}
	}
	if worst.V == 0 && open != nil {
		return f.absent(open, limit)
	}
	f = f.number(worst, profiles.Count, limit)
	if f.Verdict == Fail {
		return f.Because("%.0f %s PCIe errors: %s", worst.V, f.Quantity, errorNames(readings, part.devices, file))
	}
	return f
}

// errorCount sums the counters of a kind over devices; not set when the kernel
// keeps none for any of them.
func errorCount(t *PCITree, devices []string, file string) Opt[float64] {
	sum := Opt[float64]{Text: ""}
	for _, address := range devices {
		d := t.At(address)
		if d == nil {
			continue
		}
		for e := range d.errorsOf(file) {
			sum.V, sum.Set = sum.V+float64(e.Count), true
		}
	}
	return sum
}

// errorNames lists the errors that were counted, for people: "CmpltTO 3 at 0000:16:00.0".
func errorNames(readings []Reading[*PCITree], devices []string, file string) string {
	var words []string
	for _, reading := range readings {
		for _, address := range devices {
			if !reading.OK() || reading.Value.At(address) == nil {
				continue
			}
			for e := range reading.Value.At(address).errorsOf(file) {
				if e.Count > 0 {
					words = append(words, fmt.Sprintf("%s %d at %s (%s)", e.Name, e.Count, address, reading.Evidence.Phase))
				}
			}
		}
	}
	return strings.Join(words, ", ")
}

// loggedErrors returns the messages of the kernel about errors of a kind on devices.
func loggedErrors(klog []Reading[KernelLogData], kind EventKind, devices []string) []KernelEvent {
	var out []KernelEvent
	for _, reading := range klog {
		for _, e := range reading.Value.AER {
			known := slices.ContainsFunc(out, func(o KernelEvent) bool { return o.Text == e.Text && o.Time == e.Time })
			if e.Kind == kind && slices.Contains(devices, e.Address) && !known {
				out = append(out, e)
			}
		}
	}
	return out
}

// lossLogged judges losses that the kernel wrote down: its counters may have been
// reset with the device.
func (f Finding) lossLogged(logged []KernelEvent, klog []Reading[KernelLogData], limit *profiles.Limit) Finding {
	f.Evidence = append(f.Evidence, refsOf(klog)...)
	return f.Number(float64(len(logged)), profiles.Count, limit).Because("the kernel logged: %s", logged[len(logged)-1].Text)
}

// otherLosses are losses on devices that are no part of the profile: they are no
// reason to pass over them in silence.
func otherLosses(klog []Reading[KernelLogData], parts []errorPart, p *profiles.Profile) []Finding {
	var known []string
	for _, part := range parts {
		known = append(known, part.devices...)
	}
	var out []Finding
	for _, reading := range klog {
		for _, e := range reading.Value.AER {
			if e.Kind == EventCorrected || slices.Contains(known, e.Address) {
				continue
			}
			known = append(known, e.Address)
			part := Part{Class: ClassMachine, Name: strings.TrimSpace("PCIe device " + e.Address), Address: e.Address}
			for _, kind := range errorKinds[1:] {
				if logged := loggedErrors(klog, kind.events, []string{e.Address}); logged != nil {
					out = append(out, About("pcie.errors", kind.quantity, part).lossLogged(logged, klog, kind.limit(&p.PCIe)))
				}
			}
		}
	}
	return out
}
