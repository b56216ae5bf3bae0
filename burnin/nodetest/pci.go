package nodetest

import "fmt"

// PCIDevice is one function on the PCI bus with the state of its link.
type PCIDevice struct {
	Address, Parent string // Parent "" at a root port
	Class           string // "030200"
	Vendor, Device  string // ids, lower case hex without prefix
	SubVendor       string
	SubDevice       string
	ClassName, Name string // as lspci prints them
	Driver          string
	Port            string // "Root Port (Slot+)", "Upstream Port", "Downstream Port (Slot+)", "Endpoint"
	MaxGen, Gen     int    // Gen: trained now, under load
	IdleGen         int    // trained when idle; 0: as Gen
	MaxWidth, Width int
	Node            int
	Secondary       int // bus behind a bridge
	Subordinate     int
}

// bridge reports whether d leads to another bus.
func (d *PCIDevice) bridge() bool { return d.Secondary != 0 }

// gtps is the transfer rate of a PCIe generation as lspci writes it.
func gtps(gen int) string {
	return [...]string{"", "2.5", "5", "8", "16", "32", "64"}[gen]
}

// pciTree lays out the buses of a machine.
type pciTree struct {
	devices []PCIDevice
}

func (t *pciTree) add(d PCIDevice) string {
	t.devices = append(t.devices, d)
	return d.Address
}

// root adds a root port in bus, device dev, with subordinate buses up to last.
func (t *pciTree) root(bus, dev, gen, width, last, node int) string {
	return t.add(PCIDevice{
		Address: pciAddress(bus, dev), Class: "060400", Vendor: "8086", Device: "352a",
		ClassName: "PCI bridge", Name: "Intel Corporation Device", Driver: "pcieport", Port: "Root Port (Slot+)",
		MaxGen: gen, Gen: gen, MaxWidth: width, Width: width, Node: node, Secondary: bus + 1, Subordinate: last,
	})
}

// switchPort adds a port of a PCIe switch.
func (t *pciTree) switchPort(parent, kind string, bus, dev, secondary, last, width, node int) string {
	return t.add(PCIDevice{
		Address: pciAddress(bus, dev), Parent: parent, Class: "060400", Vendor: "1000", Device: "c030",
		SubVendor: "15d9", SubDevice: "1d14",
		ClassName: "PCI bridge", Name: "Broadcom / LSI PEX890xx PCIe Gen 5 Switch", Driver: "pcieport", Port: kind,
		MaxGen: 5, Gen: 5, MaxWidth: width, Width: width, Node: node, Secondary: secondary, Subordinate: last,
	})
}

// endpoint adds a device at bus:00.0 behind parent and lets the port above it
// train to what the device trained.
func (t *pciTree) endpoint(parent string, d PCIDevice) string {
	d.Parent, d.Port = parent, "Endpoint"
	for i := range t.devices {
		if t.devices[i].Address == parent {
			t.devices[i].Gen, t.devices[i].Width, t.devices[i].IdleGen = d.Gen, d.Width, d.IdleGen
		}
	}
	return t.add(d)
}

// place names where the endpoints of one branch sit.
type place struct{ gpu, drive, nic string }

// switched adds root port → switch → GPU, NVMe drive and NIC, as HGX boxes have
// it, on eighteen buses from bus.
func (t *pciTree) switched(b *blueprint, bus, node int) place {
	root := t.root(bus, 1, 5, 16, bus+5, node)
	up := t.switchPort(root, "Upstream Port", bus+1, 0, bus+2, bus+5, 16, node)
	down := func(i, width int) string {
		return t.switchPort(up, "Downstream Port (Slot+)", bus+2, i, bus+3+i, bus+3+i, width, node)
	}
	return place{
		gpu:   t.endpoint(down(0, 16), b.gpuDevice(pciAddress(bus+3, 0), node)),
		drive: t.endpoint(down(1, 4), b.driveDevice(pciAddress(bus+4, 0), node)),
		nic:   t.endpoint(down(2, 16), b.nicDevice(pciAddress(bus+5, 0), node)),
	}
}

// direct adds a GPU, a drive and, where nic is set, a NIC, each behind a root
// port of its own, as boxes with plain slots have it.
func (t *pciTree) direct(b *blueprint, bus, node int, nic bool) place {
	p := place{
		gpu:   t.endpoint(t.root(bus, 1, 5, 16, bus+1, node), b.gpuDevice(pciAddress(bus+1, 0), node)),
		drive: t.endpoint(t.root(bus+2, 1, 5, 4, bus+3, node), b.driveDevice(pciAddress(bus+3, 0), node)),
	}
	if nic {
		p.nic = t.endpoint(t.root(bus+4, 1, 5, 16, bus+5, node), b.nicDevice(pciAddress(bus+5, 0), node))
	}
	return p
}

// nvswitches adds the NVSwitches of a baseboard. They sit at two lanes by design:
// a check that took them for GPUs would fail every healthy machine.
func (t *pciTree) nvswitches(n int) {
	if n == 0 {
		return
	}
	root := t.root(0x06, 1, 5, 16, 0x0c, 0)
	up := t.switchPort(root, "Upstream Port", 0x07, 0, 0x08, 0x0c, 16, 0)
	for i := range n {
		down := t.switchPort(up, "Downstream Port (Slot+)", 0x08, i, 0x09+i, 0x09+i, 2, 0)
		t.endpoint(down, PCIDevice{
			Address: pciAddress(0x09+i, 0), Class: "068000", Vendor: "10de", Device: "22a3", SubVendor: "10de", SubDevice: "1796",
			ClassName: "Bridge", Name: "NVIDIA Corporation GH100 [H100 NVSwitch]", Driver: "nvidia-nvswitch",
			MaxGen: 4, Gen: 4, MaxWidth: 2, Width: 2,
		})
	}
}

// onboard adds the two-port network controller of the main board, which runs at
// one lane of two on every machine of this kind.
func (t *pciTree) onboard() string {
	root := t.root(0x00, 0x1c, 3, 1, 0x01, 0)
	return t.endpoint(root, PCIDevice{
		Address: pciAddress(0x01, 0), Class: "020000", Vendor: "14e4", Device: "165f", SubVendor: "15d9", SubDevice: "165f",
		ClassName: "Ethernet controller", Name: "Broadcom Inc. and subsidiaries NetXtreme BCM5720 Gigabit Ethernet PCIe",
		Driver: "tg3", MaxGen: 2, Gen: 2, MaxWidth: 2, Width: 1,
	})
}

func (b *blueprint) gpuDevice(addr string, node int) PCIDevice {
	k := b.gpu
	return PCIDevice{
		Address: addr, Class: "030200", Vendor: "10de", Device: k.DeviceID, SubVendor: "10de", SubDevice: k.SubsystemID,
		ClassName: "3D controller", Name: "NVIDIA Corporation " + b.gpuChip, Driver: "nvidia",
		MaxGen: k.Gen, Gen: k.Gen, IdleGen: k.IdleGen, MaxWidth: 16, Width: 16, Node: node,
	}
}

func (b *blueprint) driveDevice(addr string, node int) PCIDevice {
	return PCIDevice{
		Address: addr, Class: "010802", Vendor: "144d", Device: "a80a", SubVendor: "144d", SubDevice: "a813",
		ClassName: "Non-Volatile memory controller", Name: "Samsung Electronics Co Ltd NVMe SSD Controller PM9A1/PM9A3/980PRO",
		Driver: "nvme", MaxGen: 4, Gen: 4, MaxWidth: 4, Width: 4, Node: node,
	}
}

func (b *blueprint) nicDevice(addr string, node int) PCIDevice {
	return PCIDevice{
		Address: addr, Class: b.nic.class, Vendor: "15b3", Device: b.nic.device, SubVendor: "15b3", SubDevice: "0041",
		ClassName: map[string]string{"020700": "Infiniband controller", "020000": "Ethernet controller"}[b.nic.class],
		Name:      "Mellanox Technologies " + b.nic.chip, Driver: "mlx5_core",
		MaxGen: 5, Gen: 5, MaxWidth: 16, Width: 16, Node: node,
	}
}

// device returns the device at address, or nil.
func (m *Machine) device(address string) *PCIDevice {
	for i := range m.PCI {
		if m.PCI[i].Address == address {
			return &m.PCI[i]
		}
	}
	return nil
}

// path lists the addresses from the root port down to address.
func (m *Machine) path(address string) []string {
	d := m.device(address)
	if d == nil {
		return nil
	}
	if d.Parent == "" {
		return []string{address}
	}
	return append(m.path(d.Parent), address)
}

// narrow lets the link of the device at address train at width lanes; the port
// above it shows the same.
func (m *Machine) narrow(address string, width int) error {
	d := m.device(address)
	if d == nil {
		return fmt.Errorf("no PCI device %s", address)
	}
	d.Width = width
	if up := m.device(d.Parent); up != nil {
		up.Width = width
	}
	return nil
}
