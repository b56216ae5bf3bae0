package nodetest

import (
	"fmt"
	"strings"
)

// Machine is one simulated server. It is built by [New] and changed by
// [Machine.Break]; a Node takes a copy at each boot, so that a fault planted or
// repaired later shows after the next one.
type Machine struct {
	Name    string
	Profile string // name of the hardware profile it is a healthy example of

	Manufacturer, Product, Board, ChassisPart string
	UUID                                      string // SMBIOS, lower case
	SystemSerial, ChassisSerial, BoardSerial  string
	BaseboardSerial                           string // of the GPU baseboard, "" where there is none
	BMCMAC                                    string
	BIOSVersion, BMCVersion                   string

	CPU    CPU
	DIMMs  []DIMM
	GPUs   []GPU
	Drives []Drive
	NICs   []NIC
	PSUs   []PSU
	Fans   []Fan
	PCI    []PCIDevice // every device, bridges included, parents before children

	GPUKind GPUKind
	Driver  string // user-space library
	Module  string // loaded kernel module; differs after an update without restart

	HungSMI   bool                 // nvidia-smi never comes back
	GDS       string               // path that cuFile takes: "nvfs", or "compat"
	Sometimes func(*Machine) error // plants what is wrong in every third start only; nil = nothing
	MIGFault  MIGFault             // of the last GPU, when instances are made; "" = none
	Impostor  *Machine             // another machine that answers at this one's host address
	Logged    []Logged             // what the BMC logs after each boot, beside what it always does

	faults []string
}

// CPU describes the processors of all sockets.
type CPU struct {
	Sockets, Cores int // cores of one socket, two threads each
	Vendor, Model  string
	MHz, MaxMHz    int
}

// DIMM is one memory slot. An empty slot has GiB 0.
type DIMM struct {
	Slot          string // silkscreen label
	Socket        int    // from 0
	Channel       int    // from 0, within the socket
	GiB           int
	Rated, Runs   int // MT/s
	Maker, Part   string
	Serial        string
	Uncorrectable int // errors since start
	Correctable   int
}

// GPUKind is what all GPUs of a machine have in common.
type GPUKind struct {
	Product, Architecture    string
	Form                     string // "sxm" or "pcie"
	DeviceID, SubsystemID    string // "2330", "16c1"
	MiB, ReservedMiB, BAR1   int
	Gen, IdleGen             int // PCIe generation under load and idle
	Watts                    int
	VBIOS, PartNumber, Board string
	Links                    int // NVLinks of a GPU
	LinkRate                 float64
	GraphicsMHz, MemoryMHz   int
	Switches                 int  // NVSwitches of the baseboard on the PCI bus
	Fabric                   bool // nvidia-smi reports the state of the fabric that Fabric Manager set up
	MIG                      bool // it can be cut into instances
}

// GPU is one GPU. Index is its place in nvidia-smi's list (PCI order), which is
// not its place on the board: that is Label, and Module where the board numbers
// its modules.
type GPU struct {
	Index, Module  int
	Label          string // as the BMC names the place: "SXM5", "SLOT 3"
	Serial, UUID   string
	Address        string // PCI, dddd:bb:dd.f
	Width          int    // lanes trained
	Replays        int    // since reset; never zero on a machine that has worked
	DownLinks      []int  // NVLinks that did not train
	Uncorrectable  int    // SRAM errors since the driver was loaded, also in the aggregate
	FallsUnderLoad bool   // leaves the bus a moment after load comes on (XID 79)
	TakesLoadDown  bool   // and the program that works on it dies without a word
	PowerLimit     int    // W that somebody set; 0 = the part's own
	Hot            bool   // slows down for heat under load
	Node           int    // NUMA
}

// Drive is one NVMe drive.
type Drive struct {
	Bay             int // as printed on the front, from 0
	Name            string
	Maker, Model    string
	Serial, Version string
	Bytes           int64
	Address         string
	Spare, Used     int // per cent
	PowerOnHours    int
	UnitsWritten    int64 // of 512 000 bytes
}

// NIC is one network adapter with one port for every MAC address.
type NIC struct {
	Label, Model, Maker, Serial, Part, Firmware string
	Interface                                   string // host's name of the first port
	Address                                     string
	MACs                                        []string
	Gbps                                        int
	Polling                                     bool // its ports find nobody at the other end
}

// PSU is one power supply.
type PSU struct {
	Bay                  int
	Model, Serial, Maker string
	Watts                int
}

// Fan is one fan of the chassis.
type Fan struct {
	Label string // as printed beside it
	RPM   int
}

// Logged is an entry that the BMC writes to its event log.
type Logged struct{ Severity, Sensor, Message string }

// RAMGiB is the memory that is plugged.
func (m *Machine) RAMGiB() int {
	sum := 0
	for _, d := range m.DIMMs {
		sum += d.GiB
	}
	return sum
}

// Faults lists the faults planted with Break.
func (m *Machine) Faults() []string { return append([]string(nil), m.faults...) }

// clone copies m deeply enough that Break on one does not show in the other.
func (m *Machine) clone() *Machine {
	c := *m
	c.DIMMs = append([]DIMM(nil), m.DIMMs...)
	c.GPUs = append([]GPU(nil), m.GPUs...)
	c.Drives = append([]Drive(nil), m.Drives...)
	c.NICs = append([]NIC(nil), m.NICs...)
	c.Fans = append([]Fan(nil), m.Fans...)
	c.Logged = append([]Logged(nil), m.Logged...)
	c.PCI = append([]PCIDevice(nil), m.PCI...)
	c.faults = append([]string(nil), m.faults...)
	return &c
}

// host is the machine that answers at the host address: m, but for crossed cables.
func (m *Machine) host() *Machine {
	if m.Impostor != nil {
		return m.Impostor
	}
	return m
}

// NumaNode gives the node of the socket that GPU i of n hangs on.
func numaOf(i, n, sockets int) int { return i * sockets / n }

// longAddress is "00000000:A8:00.0" of "0000:a8:00.0", as nvidia-smi writes it.
func longAddress(a string) string { return "0000" + strings.ToUpper(a) }

func pciAddress(bus, device int) string {
	return fmt.Sprintf("0000:%02x:%02x.0", bus, device)
}
