package nodetest

import (
	"fmt"
	"strings"
)

// kernelRelease of the simulated live image.
const kernelRelease = "6.8.0-64-generic"

// kernelLine is one line of the kernel log.
type kernelLine struct {
	at   float64 // seconds since boot
	text string
}

// kernelLog is what the kernel has said since boot.
func (s *system) kernelLog() []kernelLine {
	m := s.M
	lines := []kernelLine{
		{0, "Linux version " + kernelRelease + " (simulated@rackproof) #67-Ubuntu SMP PREEMPT_DYNAMIC"},
		{0, "Command line: " + s.Cmdline},
		{0.012, "DMI: " + m.Manufacturer + " " + m.Product + "/" + m.Board + ", BIOS " + m.BIOSVersion + " 01/15/2024"},
		{0.9, fmt.Sprintf("smpboot: CPU0: %s (family: 0x6, model: 0x8f, stepping: 0x8)", m.CPU.Model)},
		{2.1, "EDAC MC: Ver: 3.0.0"},
	}
	t := 6.0
	for i := range m.Drives {
		d := &m.Drives[i]
		t += 0.011
		lines = append(lines, kernelLine{t, fmt.Sprintf("nvme %s: pci function %s", d.Name, d.Address)})
	}
	t = 14.2
	lines = append(lines, kernelLine{t, "nvidia: loading out-of-tree module taints kernel."},
		kernelLine{t + 0.4, "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  " + m.Module + "  Release Build"})
	if m.Driver != m.Module {
		lines = append(lines, kernelLine{t + 9, fmt.Sprintf("NVRM: API mismatch: the client has the version %s, but\nNVRM: this kernel module has the version %s.", m.Driver, m.Module)})
	}
	for i := range m.GPUs {
		g := &m.GPUs[i]
		if g.Uncorrectable > 0 {
			lines = append(lines, kernelLine{t + 12, fmt.Sprintf("NVRM: Xid (PCI:%s): 94, pid='<unknown>', name=<unknown>, Contained: SM (0x1). RST: No, D-RST: No", strings.TrimSuffix(g.Address, ".0"))})
		}
		if s.lost(g) {
			lines = append(lines, s.fallLines(g)...)
		}
	}
	return lines
}

// fallLines are what the driver says when a GPU leaves the bus.
func (s *system) fallLines(g *GPU) []kernelLine {
	at, slot := s.uptime(s.Fell), strings.TrimSuffix(g.Address, ".0")
	return []kernelLine{
		{at, fmt.Sprintf("NVRM: Xid (PCI:%s): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", slot)},
		{at, fmt.Sprintf("NVRM: GPU %s: GPU has fallen off the bus.", g.Address)},
		{at + 0.001, fmt.Sprintf("NVRM: GPU %s: GPU serial number is %s.", g.Address, g.Serial)},
	}
}

// dmesg answers `dmesg`: the log from boot on, with the kernel's own clock.
func (s *system) dmesg() string {
	var b strings.Builder
	for _, l := range s.kernelLog() {
		for text := range strings.SplitSeq(l.text, "\n") {
			fmt.Fprintf(&b, "[%12.6f] %s\n", l.at, text)
		}
	}
	return b.String()
}

// lscpu answers `lscpu`.
func (s *system) lscpu() string {
	c := s.M.CPU
	threads := c.Sockets * c.Cores * 2
	var b strings.Builder
	row := func(name string, value any) { fmt.Fprintf(&b, "%-33s%v\n", name+":", value) }
	row("Architecture", "x86_64")
	row("CPU op-mode(s)", "32-bit, 64-bit")
	row("Byte Order", "Little Endian")
	row("CPU(s)", threads)
	row("On-line CPU(s) list", fmt.Sprintf("0-%d", threads-1))
	row("Vendor ID", c.Vendor)
	row("BIOS Vendor ID", "Intel(R) Corporation")
	row("Model name", c.Model)
	row("BIOS Model name", c.Model+" (simulated)")
	row("CPU family", 6)
	row("Model", 143)
	row("Thread(s) per core", 2)
	row("Core(s) per socket", c.Cores)
	row("Socket(s)", c.Sockets)
	row("Stepping", 8)
	row("CPU max MHz", fmt.Sprintf("%d.0000", c.MaxMHz))
	row("CPU min MHz", "800.0000")
	row("NUMA node(s)", c.Sockets)
	for i := range c.Sockets {
		row(fmt.Sprintf("NUMA node%d CPU(s)", i), s.M.cpuList(i))
	}
	return b.String()
}

// ipmiLan answers `ipmitool lan print`: the BMC as its own host sees it.
func (s *system) ipmiLan() string {
	return "Set in Progress         : Set Complete\n" +
		"Auth Type Support       : NONE MD2 MD5 PASSWORD\n" +
		"IP Address Source       : DHCP Address\n" +
		"IP Address              : 192.0.2.1\n" +
		"Subnet Mask             : 255.255.255.0\n" +
		"MAC Address             : " + s.M.BMCMAC + "\n" +
		"SNMP Community String   : simulated\n" +
		"Default Gateway IP      : 192.0.2.254\n" +
		"802.1q VLAN ID          : Disabled\n" +
		"RMCP+ Cipher Suites     : 3,17\n"
}

// edac answers burnin's edac script: two channels a controller, counters of every
// DIMM.
func (s *system) edac() string {
	var b strings.Builder
	b.WriteString("#rackproof-edac 1\n")
	controllers := 0
	last := -1
	slot := 0
	perSocket := 4
	for _, d := range s.M.DIMMs {
		perSocket = max(perSocket, d.Channel/2+1)
	}
	for _, d := range s.M.DIMMs {
		mc := d.Socket*perSocket + d.Channel/2
		if mc != last {
			last, slot = mc, 0
			controllers++
			fmt.Fprintf(&b, "mc\tmc%d\t0\t0\t0\t0\tIntel_10nm Socket#%d IMC#%d\n", mc, d.Socket, d.Channel/2)
		}
		if d.GiB > 0 {
			fmt.Fprintf(&b, "dimm\tmc%d/dimm%d\t%d\t%d\tchannel %d slot %d \t%s\n", mc, slot, d.Correctable, d.Uncorrectable, d.Channel%2, slot%2, d.Slot)
		}
		slot++
	}
	fmt.Fprintf(&b, "#rackproof-edac-end %d\n", controllers)
	return b.String()
}

// ras answers `ras-mc-ctl --errors` and `--error-count`.
func (s *system) ras() string {
	var b strings.Builder
	for _, kind := range []string{"Memory", "PCIe AER", "Extlog", "devlink", "disk", "MCE"} {
		b.WriteString("No " + kind + " errors.\n\n")
	}
	b.WriteString("\nLabel               \tCE\tUE\n")
	for _, d := range s.M.DIMMs {
		if d.GiB > 0 {
			fmt.Fprintf(&b, "%-20s\t%d\t%d\n", d.Slot, d.Correctable, d.Uncorrectable)
		}
	}
	return b.String()
}
