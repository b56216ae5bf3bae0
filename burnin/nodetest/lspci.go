package nodetest

import (
	"fmt"
	"strings"
)

// linkNow is the link of a device at one moment.
func (s *system) linkNow(d *PCIDevice) (gen, width int) {
	gen = d.Gen
	if d.IdleGen > 0 && s.Load == 0 {
		gen = d.IdleGen
	}
	return gen, d.Width
}

// gone reports whether d is, or leads only to, a GPU that left the bus.
func (s *system) gone(d *PCIDevice) bool {
	for i := range s.M.GPUs {
		if g := &s.M.GPUs[i]; s.lost(g) && g.Address == d.Address {
			return true
		}
	}
	return false
}

// lspci answers `lspci -D -vvv -nn` in the words of pciutils 3.9, which marks a link
// only where it runs below what the device could.
func (s *system) lspci() string {
	var b strings.Builder
	for i := range s.M.PCI {
		d := &s.M.PCI[i]
		if s.gone(d) {
			fmt.Fprintf(&b, "%s %s [%s]: %s [%s:%s] (rev ff) (prog-if ff)\n\t!!! Unknown header type 7f\n\n",
				d.Address, d.ClassName, d.Class[:4], d.Name, d.Vendor, d.Device)
			continue
		}
		s.lspciDevice(&b, d)
	}
	return b.String()
}

func (s *system) lspciDevice(b *strings.Builder, d *PCIDevice) {
	fmt.Fprintf(b, "%s %s [%s]: %s [%s:%s] (rev a1)\n", d.Address, d.ClassName, d.Class[:4], d.Name, d.Vendor, d.Device)
	if d.SubVendor != "" {
		fmt.Fprintf(b, "\tSubsystem: Simulated device [%s:%s]\n", d.SubVendor, d.SubDevice)
	}
	b.WriteString("\tControl: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx+\n" +
		"\tStatus: Cap+ 66MHz- UDF- FastB2B- ParErr- DEVSEL=fast >TAbort- <TAbort- <MAbort- >SERR- <PERR- INTx-\n\tLatency: 0\n")
	fmt.Fprintf(b, "\tNUMA node: %d\n", d.Node)
	if d.bridge() {
		fmt.Fprintf(b, "\tBus: primary=%s, secondary=%02x, subordinate=%02x, sec-latency=0\n", d.Address[5:7], d.Secondary, d.Subordinate)
	}
	gen, width := s.linkNow(d)
	fmt.Fprintf(b, "\tCapabilities: [60] Express (v2) %s, MSI 00\n", d.Port)
	b.WriteString("\t\tDevSta:\tCorrErr- NonFatalErr- FatalErr- UnsupReq- AuxPwr- TransPend-\n")
	fmt.Fprintf(b, "\t\tLnkCap:\tPort #0, Speed %sGT/s, Width x%d, ASPM not supported\n", gtps(d.MaxGen), d.MaxWidth)
	b.WriteString("\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes, Disabled- CommClk+\n")
	fmt.Fprintf(b, "\t\tLnkSta:\tSpeed %sGT/s%s, Width x%d%s\n", gtps(gen), d.mark(gen < d.MaxGen), width, d.mark(width < d.MaxWidth))
	b.WriteString("\t\t\tTrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-\n" +
		"\tCapabilities: [1b8 v2] Advanced Error Reporting\n" +
		"\t\tUESta:\tDLP- SDES- TLP- FCP- CmpltTO- CmpltAbrt- UnxCmplt- RxOF- MalfTLP- ECRC- UnsupReq- ACSViol-\n" +
		"\t\tCESta:\tRxErr- BadTLP- BadDLLP- Rollover- Timeout- AdvNonFatalErr-\n")
	if strings.HasPrefix(d.Port, "Downstream") {
		sign := "-"
		if s.IOMMU { // the kernel parts what an IOMMU can
			sign = "+"
		}
		b.WriteString(strings.ReplaceAll("\tCapabilities: [170 v1] Access Control Services\n\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-\n"+
			"\t\tACSCtl:\tSrcValid% TransBlk- ReqRedir% CmpltRedir% UpstreamFwd% EgressCtrl- DirectTrans-\n", "%", sign))
	}
	fmt.Fprintf(b, "\tKernel driver in use: %s\n\n", d.Driver)
}

// mark is what lspci writes behind a link that runs below the device's own
// maximum; ports that lead downward get none.
func (d *PCIDevice) mark(below bool) string {
	if below && !strings.HasPrefix(d.Port, "Root") && !strings.HasPrefix(d.Port, "Downstream") {
		return " (downgraded)"
	}
	return ""
}
