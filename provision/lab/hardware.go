package lab

import "slices"

// hardware is the machine's state that outlives a power cycle: what is plugged
// in and what is broken. The links of the cards are kept by the cards.
type hardware struct {
	stranger bool // tells another UUID and serial than the BMC
	dimms    []DIMM
	drive    drive // of the second NVMe
}

// drive is what is wrong with a drive.
type drive struct {
	missing  bool
	critical byte  // SMART critical warning bits
	bad      int64 // sector that cannot be read; 0 = none
	iops     int   // throttled to; 0 = not
}

// memory is what the DIMMs make together, in MB.
func (h hardware) memory() int {
	sum := 0
	for _, d := range h.dimms {
		sum += d.SizeMB
	}
	return sum
}

// clone is a copy that shares nothing.
func (h hardware) clone() hardware {
	h.dimms = slices.Clone(h.dimms)
	return h
}

// identity is the spec that SMBIOS is filled from.
func (h hardware) identity(s Spec) Spec {
	if h.stranger {
		s.N += strangerOffset
	}
	return s
}

// strangerOffset makes the number of a machine that is not in the lab.
const strangerOffset = 50
