package nodetest

import (
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing that can be wrong with a machine.
type Fault struct {
	Name, Title string
	plant       func(*Machine) error
}

// Faults that Break plants, in the order of the demo's table. Each shows in every
// page where it would show on real hardware, and nowhere else.
var Faults = []Fault{
	{"gpu-x8", "one GPU's PCIe link trains at 8 of 16 lanes", func(m *Machine) error {
		g, err := m.gpu(5)
		if err != nil {
			return err
		}
		g.Width = 8
		return m.narrow(g.Address, 8)
	}},
	{"nvlink-down", "one NVLink of one GPU does not train", nvlinkDown},
	{"dimm-missing", "a DIMM is not seen", func(m *Machine) error {
		i := len(m.DIMMs) * 5 / 8
		d := m.DIMMs[i]
		m.DIMMs[i] = DIMM{Slot: d.Slot, Socket: d.Socket, Channel: d.Channel}
		return nil
	}},
	{"ecc-uncorrected", "a GPU counted uncorrectable errors", func(m *Machine) error {
		g, err := m.gpu(4)
		if err != nil {
			return err
		}
		g.Uncorrectable = 2
		return nil
	}},
	{"xid79", "a GPU falls off the bus under load", func(m *Machine) error {
		g, err := m.gpu(6)
		if err != nil {
			return err
		}
		g.FallsUnderLoad = true
		return nil
	}},
	{"nvme-worn", "a drive's spare is below its threshold", func(m *Machine) error {
		if len(m.Drives) < 4 {
			return fmt.Errorf("%s has no drive 4", m.Profile)
		}
		d := &m.Drives[3]
		d.Spare, d.Used, d.PowerOnHours, d.UnitsWritten = 4, 103, 31876, 27_000_000_000
		return nil
	}},
	{"gds-compat", "cuFile falls back to the compatible path", func(m *Machine) error {
		m.GDS = "compat"
		return nil
	}},
	{"crossed-cables", "another machine answers at the host address", func(m *Machine) error {
		other, err := New(m.Profile, m.Name+" (the other machine)", uint64(len(m.Name)))
		if err != nil {
			return err
		}
		m.Impostor = other
		return nil
	}},
	{"driver-mismatch", "the NVIDIA library was updated, the kernel module was not", func(m *Machine) error {
		m.Module = "570.133.20"
		return nil
	}},
	{"fan-dead", "a fan stands still", func(m *Machine) error {
		m.Fans[3].RPM = 0
		return nil
	}},
	{"sel-ecc", "the BMC logs an uncorrectable memory error", func(m *Machine) error {
		slot := m.DIMMs[len(m.DIMMs)/4].Slot
		m.Logged = append(m.Logged, Logged{"Critical", "Memory", "[MEM-0002] Uncorrectable ECC @" + slot})
		return nil
	}},
	{"nvlink-sometimes", "one NVLink of one GPU trains in two of three starts", everyThird(nvlinkDown)},
	{"gpu-hot", "a GPU gets too hot under load, and slows down for it", func(m *Machine) error {
		g, err := m.gpu(3)
		if err != nil {
			return err
		}
		g.Hot = true
		return nil
	}},
	{"gpu-power-low", "somebody lowered the power limit of a GPU", func(m *Machine) error {
		g, err := m.gpu(1)
		if err != nil {
			return err
		}
		g.PowerLimit = m.GPUKind.Watts * 5 / 7
		return nil
	}},
	{"hung-nvidia-smi", "nvidia-smi never returns", func(m *Machine) error {
		m.HungSMI = true
		return nil
	}},
}

// everyThird shows a fault in every third start of a machine only.
func everyThird(plant func(*Machine) error) func(*Machine) error {
	return func(m *Machine) error {
		m.Sometimes = plant
		return plant(m.clone()) // it must be able to have it
	}
}

func nvlinkDown(m *Machine) error {
	g, err := m.gpu(2)
	if err != nil {
		return err
	}
	if m.GPUKind.Links == 0 {
		return fmt.Errorf("%s has no NVLink", m.Profile)
	}
	g.DownLinks = []int{7}
	return nil
}

// FaultNames lists the names that Break accepts.
func FaultNames() []string {
	names := make([]string, len(Faults))
	for i, f := range Faults {
		names[i] = f.Name
	}
	return names
}

// Break plants a fault by name.
func (m *Machine) Break(name string) error {
	i := slices.IndexFunc(Faults, func(f Fault) bool { return f.Name == name })
	if i < 0 {
		return fmt.Errorf("no fault %q of a machine: there are %s", name, strings.Join(FaultNames(), ", "))
	}
	if err := Faults[i].plant(m); err != nil {
		return fmt.Errorf("fault %s: %w", name, err)
	}
	m.faults = append(m.faults, name)
	return nil
}

func (m *Machine) gpu(i int) (*GPU, error) {
	if i >= len(m.GPUs) {
		return nil, fmt.Errorf("%s has no GPU %d", m.Profile, i)
	}
	return &m.GPUs[i], nil
}
