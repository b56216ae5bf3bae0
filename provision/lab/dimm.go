package lab

import "fmt"

// DIMM is one memory slot as SMBIOS type 17 tells it.
type DIMM struct {
	Slot         string // silkscreen label, "DIMM_A1"
	SizeMB       int    // 0 = nothing in the slot
	SpeedMTs     int    // rated and configured
	ECC          bool   // total width 72 bits instead of 64
	Manufacturer string
	Serial       string
	PartNumber   string
}

// dimmCount is how many slots a machine has.
const dimmCount = 8

// HealthyDIMMs is the memory that machine n was built with: eight modules of
// 256 MB, together the 2 GiB that the VM has.
func HealthyDIMMs(n int) []DIMM {
	d := make([]DIMM, dimmCount)
	for i := range d {
		d[i] = DIMM{
			Slot: fmt.Sprintf("DIMM_%c1", 'A'+i), SizeMB: memoryMB / dimmCount, SpeedMTs: 4800, ECC: true,
			Manufacturer: Manufacturer, Serial: fmt.Sprintf("D%02d%05d", n, i+1), PartNumber: "LD5-4800R-256M",
		}
	}
	return d
}
