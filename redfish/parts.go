package redfish

// Part is what every piece of hardware has. Label is the name printed on the
// board or shown by the BMC, by which a technician finds it; absent texts are
// "".
type Part struct {
	Name         string `json:"name"`
	Label        string `json:"label"`
	Manufacturer string `json:"manufacturer"`
	Model        string `json:"model"`
	Serial       string `json:"serial"`
	PartNumber   string `json:"part_number"`
	State        string `json:"state"`  // Enabled, Absent …
	Health       string `json:"health"` // OK, Warning, Critical
	URI          string `json:"uri"`
}

// In the parts below a nil number is one that the BMC does not report.

// CPU is one processor package.
type CPU struct {
	Part
	Cores   *int64 `json:"cores"`
	Threads *int64 `json:"threads"`
	MaxMHz  *int64 `json:"max_mhz"`
}

// DIMM is one memory module that is plugged in.
type DIMM struct {
	Part
	SizeMiB   *int64 `json:"size_mib"`
	SpeedMTs  *int64 `json:"speed_mts"` // it runs at
	RatedMTs  *int64 `json:"rated_mts"` // it could run at
	Type      string `json:"type"`      // DDR5 …
	ECC       string `json:"ecc"`       // MultiBitECC …, "" where not reported
	BusBits   *int64 `json:"bus_bits"`  // with check bits
	DataBits  *int64 `json:"data_bits"`
	RankCount *int64 `json:"ranks"`
}

// GPU is one accelerator, whether a module or a card.
type GPU struct {
	Part
	PCIAddress string `json:"pci_address"` // dddd:bb:dd.f where the BMC reports it
	MemoryMiB  *int64 `json:"memory_mib"`
	Firmware   string `json:"firmware"`
	UUID       string `json:"uuid"`
	ECCEnabled *bool  `json:"ecc_enabled"`
}

// NIC is one network adapter.
type NIC struct {
	Part
	MACs     []string `json:"macs"`
	Firmware string   `json:"firmware"`
}

// Drive is one disk.
type Drive struct {
	Part
	Bytes    *int64 `json:"bytes"`
	Protocol string `json:"protocol"` // NVMe, SATA …
	Media    string `json:"media"`    // SSD, HDD
	Bay      string `json:"bay"`
	Firmware string `json:"firmware"`
}

// PSU is one power supply.
type PSU struct {
	Part
	Watts    *int64 `json:"watts"` // rated output
	Firmware string `json:"firmware"`
}

// Firmware is one entry of the firmware inventory.
type Firmware struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Version    string `json:"version"`    // as the BMC writes it: "11.01.01", "BIOS Date: 08/04/2023 Ver 1.4"
	Updateable *bool  `json:"updateable"` // nil: not reported
	URI        string `json:"uri"`
}

// Inventory is what the BMC knows to be in the machine. Slots that it reports as
// empty are no parts; the labels of empty memory slots are kept, because a
// missing DIMM is named by them.
type Inventory struct {
	System     Identity   `json:"system"`
	CPUs       []CPU      `json:"cpus"`
	DIMMs      []DIMM     `json:"dimms"`
	GPUs       []GPU      `json:"gpus"`
	NICs       []NIC      `json:"nics"`
	Drives     []Drive    `json:"drives"`
	PSUs       []PSU      `json:"psus"`
	Firmware   []Firmware `json:"firmware"`
	EmptyDIMMs []string   `json:"empty_dimm_slots"`
	Partial    []string   `json:"partial"` // "uri: why" of what could not be read
}
