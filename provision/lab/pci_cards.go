package lab

import "fmt"

// pciCard is a function with its place.
type pciCard struct {
	name     string // QEMU's id and the name in faults: "gpu0", "nic0", "edac"
	slot     int    // on the root bus: its own address, or that of its root port
	port     bool   // sits behind a root port
	function *pciFunction
}

// place is QEMU's bus and address of the card.
func (c *pciCard) place() string {
	if c.port {
		return "bus=" + portOf(c.name)
	}
	return fmt.Sprintf("bus=pcie.0,addr=%x.0", c.slot)
}

// newCards are the cards of a machine: the memory controller, the fabric NIC
// and the GPUs.
func newCards(gpus int) ([]*pciCard, *edac) {
	e := newEDAC()
	cards := []*pciCard{
		{name: "edac", slot: slotEDAC, function: e.pciFunction},
		{name: fabricNICName, slot: slotFabric, port: true, function: newFabricNIC()},
	}
	for i := range gpus {
		cards = append(cards, &pciCard{name: gpuName(i), slot: slotGPU0 + i, port: true, function: newGPU()})
	}
	return cards, e
}

// rootPortLink is the fastest link that QEMU's root ports know. The cards offer
// no more, so that no hop of a healthy machine is degraded.
var rootPortLink = pciLink{speed: 4, width: 16}

// newGPU looks like an NVIDIA H100 SXM5 (10de:2330). It computes nothing.
func newGPU() *pciFunction {
	return newPCIFunction(pciID{vendor: 0x10de, device: 0x2330, class: 0x030200, subVendor: 0x10de, subDevice: 0x16c1, revision: 0xa1}, 16<<20).withExpress(rootPortLink)
}

// newFabricNIC looks like an NVIDIA ConnectX-7 in InfiniBand mode (15b3:1021).
func newFabricNIC() *pciFunction {
	return newPCIFunction(pciID{vendor: 0x15b3, device: 0x1021, class: 0x020700, subVendor: 0x15b3, subDevice: 0x0023}, 1<<20).withExpress(rootPortLink)
}

// fabricNICName is the card that faults call "nic0".
const fabricNICName = "nic0"

// gpuName is GPU i's name in faults.
func gpuName(i int) string { return fmt.Sprintf("gpu%d", i) }
