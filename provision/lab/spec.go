package lab

import (
	"fmt"
	"path/filepath"
	"slices"
)

// Firmware is what a machine starts with.
type Firmware string

// The two kinds of firmware.
const (
	BIOS Firmware = "bios" // SeaBIOS
	UEFI Firmware = "uefi" // OVMF with its variables in <dir>/vars.fd
)

// Addresses inside the lab's network namespace. Both networks are /24.
const (
	ProvisioningBridge  = "brprov"
	ProvisioningAddress = "10.77.0.1" // DHCP, and where rackproof's netboot listens
	BMCBridge           = "brbmc"
	BMCNetworkAddress   = "10.77.1.1"
)

// The account of every BMC of the lab. It guards nothing: the BMCs exist only
// inside the namespace.
const (
	BMCUser     = "admin"
	BMCPassword = "admin-lab"
)

// What SMBIOS and the BMC's FRU say of every machine.
const (
	Manufacturer = "LabVendor"
	Product      = "GPUServer-8x"
	BoardProduct = "MB-8x"
	SKU          = "SKU1"
)

// MaxMachines is how many machines fit into the lab's address and port scheme.
const MaxMachines = 9

// Spec is how a machine of the lab is built.
type Spec struct {
	N        int      // 1 to MaxMachines; addresses and serials follow from it
	Name     string   // "lab1"
	Firmware Firmware // BIOS if empty
	GPUs     int      // 1 to 8
	DIMMs    []DIMM   // in slot order
	Dir      string   // folder of the machine's files
}

// DefaultGPUs is how many GPUs a machine has if nobody says.
const DefaultGPUs = 2

// NewSpec is the healthy machine number n with its files under dir/<name>.
func NewSpec(n int, dir string) Spec {
	name := fmt.Sprintf("lab%d", n)
	return Spec{N: n, Name: name, Firmware: BIOS, GPUs: DefaultGPUs, DIMMs: HealthyDIMMs(n), Dir: filepath.Join(dir, name)}
}

// UUID is the SMBIOS system UUID.
func (s Spec) UUID() string { return fmt.Sprintf("4c4c4544-0000-2010-8020-%012d", s.N) }

// Serial is the system serial number.
func (s Spec) Serial() string { return fmt.Sprintf("SN%06d", s.N) }

// BoardSerial is the mainboard's serial number.
func (s Spec) BoardSerial() string { return fmt.Sprintf("MB%05d", s.N) }

// ChassisSerial is the chassis' serial number.
func (s Spec) ChassisSerial() string { return fmt.Sprintf("CH%05d", s.N) }

// AssetTag is the asset tag of chassis and FRU.
func (s Spec) AssetTag() string { return fmt.Sprintf("ASSET-%d", s.N) }

// HostMAC is the address of the NIC that netboots.
func (s Spec) HostMAC() string { return fmt.Sprintf("52:54:00:77:00:%02x", s.N) }

// HostIP is the address that DHCP gives to the host.
func (s Spec) HostIP() string { return fmt.Sprintf("10.77.0.%d", 100+s.N) }

// BMCMAC is the address that the BMC reports of itself.
func (s Spec) BMCMAC() string { return fmt.Sprintf("52:54:00:bc:00:%02x", s.N) }

// BMCIP is where the BMC answers: IPMI on 623/udp, Redfish on 443/tcp.
func (s Spec) BMCIP() string { return fmt.Sprintf("10.77.1.%d", 10+s.N) }

// DriveSerial is the serial number of NVMe drive i, from 0.
func (s Spec) DriveSerial(i int) string { return fmt.Sprintf("NVME%d%d", s.N, i) }

// KCSPort is where ipmi_sim waits on 127.0.0.1 for QEMU's ipmi-bmc-extern.
func (s Spec) KCSPort() int { return 9012 + 100*s.N }

// SOLPort is where the serial console is served on 127.0.0.1 for ipmi_sim.
func (s Spec) SOLPort() int { return 9013 + 100*s.N }

// Tap is the machine's interface on the provisioning bridge.
func (s Spec) Tap() string { return fmt.Sprintf("tap%d", s.N) }

// Path is a file of the machine.
func (s Spec) Path(name string) string { return filepath.Join(s.Dir, name) }

// Check refuses a machine that cannot be built.
func (s Spec) Check() error {
	switch {
	case s.N < 1 || s.N > MaxMachines:
		return fmt.Errorf("machine number %d: there is room for 1 to %d", s.N, MaxMachines)
	case s.GPUs < 1 || s.GPUs > 8:
		return fmt.Errorf("%s: %d GPUs; give 1 to 8", s.Name, s.GPUs)
	case !slices.Contains([]Firmware{BIOS, UEFI}, s.Firmware):
		return fmt.Errorf("%s: firmware %q; give bios or uefi", s.Name, s.Firmware)
	}
	return nil
}
