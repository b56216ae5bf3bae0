package burnin

import (
	"regexp"
	"strconv"
)

var (
	// "mce: [Hardware Error]: CPU 2: Machine Check: 0 Bank 21: dc2040000400011b"
	mceStatus = regexp.MustCompile(`Bank (\d+): ([0-9a-f]{16})\b`)
	// "… mcgcap=0x0000011d, status=0xdc2040000400011b, addr=0x7d41b7940" of rasdaemon
	rasStatus = regexp.MustCompile(`\bstatus=\s*0x([0-9a-f]{1,16})\b`)
)

// mceUncorrected is the bit MCi_STATUS.UC (Intel SDM volume 3, machine-check
// architecture; AMD APM volume 2, machine check registers).
const mceUncorrected = uint64(1) << 61

// processorsOwn reports whether the text of a machine check says that the processor
// erred, and no memory module: an error of its translation buffers, of a cache of its
// own (levels 0 to 2), or inside it. Both makers write these codes alike (Intel SDM
// volume 3, "Interpreting the MCA error codes"; AMD APM volume 2, "Machine-check error
// codes"). Level 3 of a cache error means any level, and AMD's memory controllers say
// that too (bank 21 of the example, a DIMM), so it is not taken for the processor's.
func processorsOwn(text string) bool {
	digits := ""
	if m := mceStatus.FindStringSubmatch(text); m != nil {
		digits = m[2]
	} else if m := rasStatus.FindStringSubmatch(text); m != nil {
		digits = m[1]
	}
	status, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		return false
	}
	const corrected = uint16(1) << 12 // Intel: many of them, filtered
	code := uint16(status) &^ corrected
	switch {
	case code&0xfff0 == 0x0010: // 0000 0000 0001 TTLL
		return true
	case code&0xff00 == 0x0100: // 0000 0001 RRRR TTLL
		return code&0x3 != 0x3
	}
	return code&0xfc00 == 0x0400 // 0000 01xx xxxx xxxx
}
