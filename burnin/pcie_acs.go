package burnin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// pcieACS asks whether the PCIe switches let GPUs and adapters talk to one another, or
// send what they say up to the processor (Access Control Services), and whether an
// IOMMU stands between them: with either, collectives are slow or hang.
var pcieACS = Check{
	Name:   "pcie.acs",
	Title:  "No PCIe switch sends traffic between GPUs and adapters to the processor",
	Probes: []string{LSPCI.Spec.Name, OSInfo.Spec.Name},
	Judge:  judgePCIeACS,
}

func judgePCIeACS(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	readings := phaseReadings(r, LSPCI)
	var parts []Part
	for _, g := range gpuParts(r, p) {
		if g.Shown && g.Address != "" {
			parts = append(parts, g.Part)
		}
	}
	for _, n := range nicParts(r, p) {
		if n.Shown {
			parts = append(parts, n.Part)
		}
	}
	var out []Finding
	for _, part := range parts {
		f := About("pcie.acs", "acs", part, refsOf(readings)...)
		if len(readings) == 0 {
			out = append(out, f.absent(fmt.Errorf("lspci: %w", ErrNotRun), p.PCIe.ACS))
			continue
		}
		out = append(out, worstOf(readings, f, func(f Finding, t *PCITree) Finding { return t.acs(f, part.Address, p.PCIe.ACS) }))
	}
	if len(parts) == 0 && p.PCIe.ACS.Set() {
		out = append(out, About("pcie.acs", "acs", fleetPart(p)).Missing(errors.New("no GPU and no adapter is shown with its PCI address")))
	}
	return append(out, iommuState(r, p))
}

// redirects are the bits by which a port sends what goes from one device to another
// upward, or stops it (PCI Express Base Specification, Access Control Services).
var redirects = []string{"ReqRedir+", "CmpltRedir+", "EgressCtrl+"}

// acs judges the ports of switches above a device. What passes a root port has reached
// the processor already, so root ports do not count.
func (t *PCITree) acs(f Finding, address string, limit *profiles.Limit) Finding {
	switch {
	case !t.Links:
		return f.absent(errors.New("lspci shows no capabilities of the bridges; run as root"), limit)
	case t.At(address) == nil:
		return f.absent(fmt.Errorf("lspci does not show %s", address), limit)
	}
	ports := slices.DeleteFunc(t.Above(address), func(d *PCIDevice) bool { return d.Parent == "" })
	for _, port := range ports {
		for bit := range strings.FieldsSeq(port.ACS.V) {
			if slices.Contains(redirects, bit) {
				return f.Word("redirect", limit).Because("port %s of the PCIe switch above sends it to the processor: %s", port.Address, port.ACS.V)
			}
		}
	}
	f = f.Word("off", limit)
	if len(ports) == 0 {
		return f.Because("no PCIe switch is above it")
	}
	return f.Because("none of %s above redirects", plural(len(ports), "switch port"))
}

// iommuState says whether an IOMMU works and what it was told on the kernel's command
// line; without a word there, "on" is what kernels are built with or not.
func iommuState(r *Readings, p *profiles.Profile) Finding {
	os := ReadAny(r, OSInfo, PhaseBefore, PhaseAfter)
	f := About("pcie.acs", "iommu", Part{Class: ClassMachine, Name: "machine"}, os.Ref)
	switch {
	case !os.OK():
		return f.absent(os.Err, p.PCIe.IOMMU)
	case !os.Value.Groups.Set:
		return f.absent(os.Value.Groups.Absent("the number of IOMMU groups"), p.PCIe.IOMMU)
	case os.Value.Groups.V == 0:
		return f.Word("off", p.PCIe.IOMMU)
	}
	words := strings.Fields(os.Value.CommandLine)
	if slices.Contains(words, "iommu=pt") || slices.Contains(words, "iommu.passthrough=1") {
		return f.Word("pass-through", p.PCIe.IOMMU)
	}
	return f.Word("on", p.PCIe.IOMMU).Because("%.0f IOMMU groups, and the kernel's command line says nothing of pass-through", os.Value.Groups.V)
}
