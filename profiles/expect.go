package profiles

// Expect is what one order adds to a model: the batch's `expect:`. Nil is not stated.
type Expect struct {
	DIMMs     *int      `yaml:"dimms,omitempty"`
	DIMMSize  *Quantity `yaml:"dimm_size,omitempty"`
	GPUs      *int      `yaml:"gpus,omitempty"`
	Drives    *int      `yaml:"drives,omitempty"`     // NVMe drives
	DriveSize *Quantity `yaml:"drive_size,omitempty"` // the least capacity of each
	NICs      *int      `yaml:"nics,omitempty"`
	PSUs      *int      `yaml:"psus,omitempty"`
}
