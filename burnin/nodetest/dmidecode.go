package nodetest

import "fmt"

// dmiGPU is a GPU's slot in DMI type 9.
type dmiGPU struct{ Slot, Address string }

// dmidecode answers `dmidecode`: the whole table with its end mark.
func (s *system) dmidecode() string {
	m := s.M
	data := struct {
		*Machine
		SocketNumbers []int
		Threads       int
		GPUs          []dmiGPU
	}{Machine: m, Threads: 2 * m.CPU.Cores}
	for i := range m.CPU.Sockets {
		data.SocketNumbers = append(data.SocketNumbers, i+1)
	}
	if m.GPUKind.Form == "pcie" { // modules of a baseboard are in no slot
		for i, g := range m.GPUs {
			data.GPUs = append(data.GPUs, dmiGPU{Slot: fmt.Sprintf("SLOT%d PCIe 5.0 X16", i+1), Address: g.Address})
		}
	}
	return page("dmidecode.tmpl", data)
}
