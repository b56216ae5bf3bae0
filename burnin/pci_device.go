package burnin

import (
	"iter"
	"slices"
	"strings"
)

// Classes of PCI devices, as the first four hex digits of the class code.
const (
	pciVGA     = "0300"
	pciGPU     = "0302" // 3D controller
	pciNVMe    = "0108"
	pciNIC     = "0200"
	pciFabric  = "0207" // InfiniBand
	pciBridge  = "0604"
	vendorNV   = "10de"
	deadWidth  = 63  // all ones in the six width bits of a link status register
	deadWidth8 = 255 // the same, read by a tool that takes a whole byte
)

// PCILink is the state of a link. Speed is in GT/s; zero is not known.
type PCILink struct {
	Speed float64
	Width int
}

// PCIError is one counter of Advanced Error Reporting.
type PCIError struct {
	Kind  string // "correctable", "nonfatal", "fatal"
	Name  string // "RxErr"
	Count uint64 // since the device was last reset
}

// PCIDevice is one PCI device, as lspci or sysfs shows it.
type PCIDevice struct {
	Address string // 0000:19:00.0
	Class   string // "0302"; "" when the words of lspci are not known to us
	Vendor  string // "10de"; "" when not shown
	Device  string // "2330"; "" when not shown
	Name    string // words of lspci; "" from sysfs
	Parent  string // address of the bridge above, "" = at the root complex, or not shown
	Link    PCILink
	Max     PCILink // what the device says that it could do; for print only
	Dead    string  // why the device does not answer ("rev ff"), "" = it answers
	Driver  string
	NUMA    Opt[int]
	Slot    string                  // number of the physical slot, where the machine tells it
	ACS     Opt[string]             // control word of Access Control Services as lspci has it: "SrcValid+ TransBlk- …"
	Virtual bool                    // virtual function of a network adapter
	Errors  []PCIError              // AER, in the order of the kernel; none: it keeps no counters
	Told    map[string]Opt[float64] // of a root port: errors that it was told of by all devices below, by kind as Errors
	NetDevs []PCINetDev
	Drives  []PCIDrive
	Moved   Opt[uint64] // bytes moved by its drives and ports since boot
}

// PCINetDev is a network port of a device.
type PCINetDev struct {
	Name, MAC string
	State     string       // "up", "down" …; "" when not shown
	Speed     Opt[float64] // Mb/s
	Downs     Opt[float64] // how often the link was lost since boot
}

// PCIDrive is an NVMe controller of a device. Bytes is zero when not shown.
type PCIDrive struct {
	Name, Model, Serial, State string
	Bytes                      uint64       // size of its namespaces
	Temperature                Opt[float64] // °C, composite, where the kernel shows it
}

// ID returns vendor and device as profiles name them, "10de:2330", or "".
func (d *PCIDevice) ID() string {
	if d.Vendor == "" || d.Device == "" {
		return ""
	}
	return d.Vendor + ":" + d.Device
}

// Is reports whether the device has one of the classes.
func (d *PCIDevice) Is(classes ...string) bool { return slices.Contains(classes, d.Class) }

// PCITree is what one tool showed of the PCI bus.
type PCITree struct {
	Devices  []PCIDevice
	Complete bool // the list is whole: a device that is not in it was not there
	Links    bool // the tool showed link states at all: lspci without -vv, or without root, does not

	at map[string]int // index of Devices by address; nil: not made
}

// indexed makes the index of a tree that is whole.
func (t *PCITree) indexed() *PCITree {
	t.at = make(map[string]int, len(t.Devices))
	for i := range slices.Backward(t.Devices) { // of two with one address the first counts
		t.at[t.Devices[i].Address] = i
	}
	return t
}

// At returns the device at a normalised address, or nil.
func (t *PCITree) At(address string) *PCIDevice {
	if t.at != nil {
		if i, ok := t.at[address]; ok {
			return &t.Devices[i]
		}
		return nil
	}
	for i := range t.Devices {
		if t.Devices[i].Address == address {
			return &t.Devices[i]
		}
	}
	return nil
}

// Of returns the devices of some classes, in order of address, without virtual
// functions.
func (t *PCITree) Of(classes ...string) []*PCIDevice {
	var out []*PCIDevice
	for i := range t.Devices {
		if d := &t.Devices[i]; d.Is(classes...) && !d.Virtual {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b *PCIDevice) int { return strings.Compare(a.Address, b.Address) })
	return out
}

// NVIDIA returns the GPUs of NVIDIA; the graphics chip of a BMC has the same class
// and another vendor, an NVSwitch the vendor and another class.
func (t *PCITree) NVIDIA() []*PCIDevice {
	return slices.DeleteFunc(t.Of(pciGPU, pciVGA), func(d *PCIDevice) bool { return d.Vendor != vendorNV })
}

// Above returns the bridges between a device and the root complex, nearest first.
func (t *PCITree) Above(address string) []*PCIDevice {
	path := make([]*PCIDevice, 0, 4) // as deep as servers are
	for d := t.At(address); d != nil && d.Parent != "" && len(path) < len(t.Devices); {
		d = t.At(d.Parent)
		if d != nil {
			path = append(path, d)
		}
	}
	return path
}

// pciSpeed reads "32GT/s", "32.0 GT/s PCIe" or "16 GT/s"; zero when unknown.
func pciSpeed(text string) float64 {
	text = strings.TrimSpace(text)
	if i := strings.Index(text, "GT/s"); i > 0 {
		return leadingNumber(text[:i])
	}
	return 0
}

// errorsOf lists the counters of a kind; none: the kernel keeps none.
func (d *PCIDevice) errorsOf(kind string) iter.Seq[PCIError] {
	return func(yield func(PCIError) bool) {
		for _, e := range d.Errors {
			if e.Kind == kind && !yield(e) {
				return
			}
		}
	}
}
