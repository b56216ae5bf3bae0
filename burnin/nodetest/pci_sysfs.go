package nodetest

import (
	"fmt"
	"strings"
)

// Bytes a second that the load moves over each drive.
const driveLoad = 3_200_000_000

// pciSysfs answers burnin's pci-sysfs script: every GPU, drive and network adapter
// and every bridge above it, the bridges once. counters says whether the error
// counters are wanted, which a sample does without.
func (s *system) pciSysfs(counters bool) string {
	p := sysfsPage{system: s, counters: counters, seen: map[string]bool{}}
	p.WriteString("#rackproof-pci-sysfs 1\n")
	for i := range s.M.PCI {
		if d := &s.M.PCI[i]; wanted(d.Class) {
			p.show(d)
		}
	}
	if s.M.GPUKind.Form == "pcie" {
		for i, g := range s.M.GPUs {
			p.line("slot\t%s\t%d\n", strings.TrimSuffix(g.Address, ".0"), i+1)
		}
	}
	p.line("#rackproof-pci-sysfs-end %d\n", len(p.seen))
	return p.String()
}

func wanted(class string) bool {
	switch class[:4] {
	case "0300", "0302", "0108", "0200", "0207":
		return true
	}
	return false
}

type sysfsPage struct {
	*system
	strings.Builder
	counters bool
	seen     map[string]bool
}

func (p *sysfsPage) line(format string, values ...any) {
	_, _ = fmt.Fprintf(&p.Builder, format, values...)
}

func (p *sysfsPage) show(d *PCIDevice) {
	if p.seen[d.Address] {
		return
	}
	p.seen[d.Address] = true
	parent := "-"
	if d.Parent != "" {
		parent = d.Parent
	}
	gen, width := p.linkNow(d)
	speed := gtpsLong(gen)
	if p.gone(d) { // the registers of a device that left the bus read all ones
		speed, width = "Unknown", 63
	}
	p.line("dev\t%s\tparent=%s\tclass=0x%s\tvendor=0x%s\tdevice=0x%s\tcurrent_link_speed=%s\tcurrent_link_width=%d\tmax_link_speed=%s\tmax_link_width=%d\tnuma_node=%d\tdriver=%s\n",
		d.Address, parent, d.Class, d.Vendor, d.Device, speed, width, gtpsLong(d.MaxGen), d.MaxWidth, d.Node, d.Driver)
	if p.counters && !p.gone(d) {
		p.errors(d.Address)
	}
	p.network(d.Address)
	p.drives(d.Address)
	if up := p.M.device(d.Parent); up != nil {
		p.show(up)
	}
}

// gtpsLong is the form of current_link_speed since kernel 5.7.
func gtpsLong(gen int) string {
	text := gtps(gen)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text + " GT/s PCIe"
}

// aerNames are the kernel's error counters that a healthy device keeps at zero.
var aerNames = map[string][]string{
	"correctable": {"RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout", "NonFatalErr", "TOTAL_ERR_COR"},
	"nonfatal":    {"Undefined", "DLP", "TLP", "FCP", "CmpltTO", "UnxCmplt", "MalfTLP", "UnsupReq", "TOTAL_ERR_NONFATAL"},
	"fatal":       {"Undefined", "DLP", "SDES", "FCP", "CmpltTO", "RxOF", "MalfTLP", "TOTAL_ERR_FATAL"},
}

func (p *sysfsPage) errors(address string) {
	for _, severity := range []string{"correctable", "nonfatal", "fatal"} {
		for _, name := range aerNames[severity] {
			p.line("aer\t%s\t%s\t%s\t0\n", address, severity, name)
		}
	}
}

// port is the name of one of an adapter's ports.
func (n *NIC) port(i int) string {
	if i == 0 {
		return n.Interface
	}
	return strings.TrimRight(n.Interface, "0123456789") + itoa(i+1)
}

func (p *sysfsPage) network(address string) {
	for i, n := range p.M.NICs {
		if n.Address != address {
			continue
		}
		for j, mac := range n.MACs {
			name := n.port(j)
			p.line("net\t%s\t%s\t%s\t%d\t%d\n", address, name, mac, p.traffic(9000), p.traffic(7000))
			p.line("port\t%s\t%s\tup\t%d\t1\n", address, name, n.Gbps*1000)
		}
		if n.Maker == "NVIDIA" {
			p.line("ib\t%s\tmlx5_%d/1\t%d\t%d\n", address, i, p.traffic(2200), p.traffic(1700))
		}
	}
}

// traffic is a counter that grows by rate a second since boot.
func (p *sysfsPage) traffic(rate float64) int64 { return int64(rate * p.uptime(p.Now)) }

func (p *sysfsPage) drives(address string) {
	for i := range p.M.Drives {
		d := &p.M.Drives[i]
		if d.Address != address {
			continue
		}
		read := 81_920 + int64(p.Read.Seconds()*driveLoad/512)
		p.line("nvme\t%s\t%s\tlive\t%s\t%s\n", address, d.Name, d.Serial, d.Model)
		p.line("temp\t%s\t%s\t%d\n", address, d.Name, 1000*p.celsius(d)-150)
		p.line("blk\t%s\t%sn1\t%d\t%d\t%d\n", address, d.Name, d.Bytes/512, read, 4096)
	}
}
