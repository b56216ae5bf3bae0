package nodetest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// fans is how many fans a simulated machine has.
const fans = 10

// New makes up the machine called name. The same model, name and seed give the
// same machine for ever; another name gives other serials.
func New(model, name string, seed uint64) (*Machine, error) {
	for _, b := range blueprints {
		if b.profile == model {
			return b.build(name, seed), nil
		}
	}
	for i := range servers {
		if servers[i].profile == model {
			return servers[i].blueprint().build(name, seed), nil
		}
	}
	return nil, fmt.Errorf("no simulated model %q: there are %s", model, strings.Join(Servers(), ", "))
}

// maker draws the numbers of one machine.
type maker struct {
	*rand.Rand
}

func newMaker(name string, seed uint64) maker {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return maker{rand.New(rand.NewPCG(seed, h.Sum64()))}
}

func (r maker) digits(n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(byte('0' + r.IntN(10)))
	}
	return b.String()
}

func (r maker) hex(n int) string {
	const set = "0123456789abcdef"
	var b strings.Builder
	for range n {
		b.WriteByte(set[r.IntN(len(set))])
	}
	return b.String()
}

// mac returns an address of a maker's block.
func (r maker) mac(block string) string {
	h := r.hex(6)
	return fmt.Sprintf("%s:%s:%s:%s", block, h[0:2], h[2:4], h[4:6])
}

func (r maker) uuid() string {
	h := r.hex(32)
	return fmt.Sprintf("%s-%s-4%s-a%s-%s", h[0:8], h[8:12], h[13:16], h[17:20], h[20:32])
}

func (b *blueprint) build(name string, seed uint64) *Machine {
	r := newMaker(name, seed)
	m := &Machine{
		Name: name, Profile: b.profile,
		Manufacturer: b.manufacturer, Product: b.product, Board: b.board, ChassisPart: b.chassis,
		UUID: r.uuid(), SystemSerial: "SIM" + r.digits(9), ChassisSerial: "CSIM" + strings.ToUpper(r.hex(8)), BoardSerial: "OMSIM" + r.digits(7),
		BMCMAC: r.mac("7c:c2:55"), BIOSVersion: b.bios, BMCVersion: b.bmc,
		CPU: b.cpu, GPUKind: b.gpu, Driver: b.driver, Module: b.driver, GDS: "nvfs",
	}
	if b.gpu.Switches > 0 {
		m.BaseboardSerial = "1662" + r.digits(9)
	}
	m.DIMMs = b.dimms(r)
	m.plugPCI(b, r)
	for bay := range b.psus {
		p := b.psu
		p.Bay, p.Serial = bay+1, "P3KSIM"+r.digits(8)
		m.PSUs = append(m.PSUs, p)
	}
	for i := range fans {
		m.Fans = append(m.Fans, Fan{Label: fmt.Sprintf("FAN%d", i+1), RPM: 5320 + 140*(i%3)})
	}
	return m
}

func (b *blueprint) dimms(r maker) []DIMM {
	var all []DIMM
	for socket := range b.cpu.Sockets {
		for channel := range b.channels {
			for slot := range b.perChannel {
				d := b.dimm
				d.Slot = fmt.Sprintf("P%d-DIMM%c%d", socket+1, 'A'+channel, slot+1)
				d.Socket, d.Channel = socket, channel
				d.Serial = "80CE01SIM" + strings.ToUpper(r.hex(9))
				all = append(all, d)
			}
		}
	}
	return all
}

// plugPCI lays out the buses and plugs GPUs, drives and NICs into them.
func (m *Machine) plugPCI(b *blueprint, r maker) {
	t := &pciTree{}
	onboard := t.onboard()
	t.nvswitches(b.gpu.Switches)
	for i, bus := range b.gpuBuses {
		node := numaOf(i, len(b.gpuBuses), b.cpu.Sockets)
		var p place
		if b.switched {
			p = t.switched(b, bus, node)
		} else {
			p = t.direct(b, bus, node, len(m.NICs) < b.nic.count && i%4 == 0)
		}
		m.GPUs = append(m.GPUs, b.newGPU(i, p.gpu, node, r))
		m.Drives = append(m.Drives, b.newDrive(i, p.drive, r))
		if p.nic != "" {
			m.NICs = append(m.NICs, b.newNIC(len(m.NICs), p.nic, r))
		}
	}
	m.plugMore(t, b, r)
	m.NICs = append(m.NICs, NIC{
		Label: "AOC-LAN", Model: "BCM5720", Maker: "Broadcom", Serial: "BCSIM" + r.digits(7), Part: "BCM5720", Firmware: "22.71.3",
		Interface: "eno1", Address: onboard, MACs: []string{r.mac("3c:ec:ef"), r.mac("3c:ec:ef")}, Gbps: 1,
	})
	m.PCI = t.devices
}

// moreBuses is where drives and adapters that hang on no GPU's branch begin, each behind a root port of its own.
const moreBuses = 0x58

func (m *Machine) plugMore(t *pciTree, b *blueprint, r maker) {
	bus := moreBuses
	port := func(width int) string {
		bus += 2
		return t.root(bus, 1, 5, width, bus+1, 0)
	}
	for range b.moreDrives {
		at := t.endpoint(port(4), b.driveDevice(pciAddress(bus+1, 0), 0))
		m.Drives = append(m.Drives, b.newDrive(len(m.Drives), at, r))
	}
	for range b.moreNICs {
		at := t.endpoint(port(16), b.nicDevice(pciAddress(bus+1, 0), 0))
		m.NICs = append(m.NICs, b.newNIC(len(m.NICs), at, r))
	}
}

func (b *blueprint) newGPU(i int, addr string, node int, r maker) GPU {
	g := GPU{
		Index: i, Serial: "1659" + r.digits(9), UUID: "GPU-" + r.uuid(), Address: addr, Width: 16,
		Replays: 40 + r.IntN(130), Node: node,
	}
	g.Label = fmt.Sprintf("SLOT %d", i+1)
	if b.modules != nil {
		g.Module = b.modules[i]
		g.Label = fmt.Sprintf("SXM%d", g.Module)
	}
	return g
}

func (b *blueprint) newDrive(i int, addr string, r maker) Drive {
	d := b.drive
	d.Bay, d.Name, d.Address = i, fmt.Sprintf("nvme%d", i), addr
	d.Serial = "SIM6CN" + strings.ToUpper(r.hex(8))
	d.Spare, d.PowerOnHours, d.UnitsWritten = 100, 2+r.IntN(8), int64(20+r.IntN(200))
	return d
}

func (b *blueprint) newNIC(i int, addr string, r maker) NIC {
	name := fmt.Sprintf("ens%df0np0", i+1)
	if b.nic.class == "020700" {
		name = fmt.Sprintf("ibs%d", i+1)
	}
	return NIC{
		Label: fmt.Sprintf("PCIe Slot %d", i+1), Model: b.nic.model, Maker: "NVIDIA", Part: b.nic.part, Firmware: b.nic.firmware,
		Serial: "MTSIM" + r.digits(8), Interface: name, Address: addr, MACs: []string{r.mac("94:6d:ae")}, Gbps: b.nic.gbps,
	}
}
