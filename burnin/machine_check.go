package burnin

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	// "mce: [Hardware Error]: CPU 2: Machine Check: 0 Bank 21: dc2040000400011b"
	mceStatus = regexp.MustCompile(`Bank (\d+): ([0-9a-f]{16})\b`)
	// "… mcgcap=0x0000011d, status=0xdc2040000400011b, addr=0x7d41b7940" of rasdaemon
	rasStatus = regexp.MustCompile(`\bstatus=\s*0x([0-9a-f]{1,16})\b`)
	// "[Hardware Error]: CPU:2 (19:11:1) MC1_STATUS[-|CE|MiscV|…]: 0x9820000000010151" of AMD's decoder
	amdStatus = regexp.MustCompile(`\bMC\d+_STATUS\[([^\]]*)\]: 0x([0-9a-f]{1,16})\b`)
	// "[Hardware Error]: IPID: 0x000700b040000000, Syndrome: …"
	amdIPID = regexp.MustCompile(`\bIPID: 0x([0-9a-f]{1,16})\b`)
)

// Hardware ids of MCA_IPID, bits 32 to 43 (AMD PPR, machine check architecture; the kernel's
// table of SMCA bank types).
const (
	smcaCore   = 0xb0 // load-store, fetch, decode, execution and floating point units, caches of all levels
	smcaMemory = 0x96 // unified memory controller
)

// mceUncorrected is the bit MCi_STATUS.UC (Intel SDM volume 3, machine-check
// architecture; AMD APM volume 2, machine check registers).
const mceUncorrected = uint64(1) << 61

// processorsOwn reports whether the text of a machine check says that the processor
// erred, and no memory module: an error of its translation buffers, of a cache of its
// own (levels 0 to 2), or inside it. Both makers write these codes alike (Intel SDM
// volume 3, "Interpreting the MCA error codes"; AMD APM volume 2, "Machine-check error
// codes"). Level 3 of a cache error means any level, and AMD's memory controllers say
// that too (bank 21 of the example, a DIMM), so it is not taken for the processor's
// unless the bank's id names the core. Data that was bad when it came is not of the core.
func processorsOwn(text string) bool {
	digits := ""
	if m := mceStatus.FindStringSubmatch(text); m != nil {
		digits = m[2]
	} else if m := rasStatus.FindStringSubmatch(text); m != nil {
		digits = m[1]
	} else if m := amdStatus.FindStringSubmatch(text); m != nil {
		if strings.Contains(m[1], "Poison") {
			return false
		}
		digits = m[2]
	}
	status, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		return false
	}
	if m := amdIPID.FindStringSubmatch(text); m != nil {
		ipid, _ := strconv.ParseUint(m[1], 16, 64)
		if unit := ipid >> 32 & 0xfff; unit == smcaCore || unit == smcaMemory {
			return unit == smcaCore
		}
	}
	return ownCode(uint16(status))
}

// ownCode reads the error code of a machine check, the lowest 16 bits of its status.
func ownCode(code uint16) bool {
	const corrected = uint16(1) << 12 // Intel: many of them, filtered
	code &^= corrected
	switch {
	case code >= 0x0002 && code <= 0x0006: // Intel, simple codes: microcode ROM, BINIT, FRC, internal parity, SMM handler
		return true
	case code&0xfff0 == 0x0010: // 0000 0000 0001 TTLL
		return true
	case code&0xff00 == 0x0100: // 0000 0001 RRRR TTLL
		return code&0x3 != 0x3
	}
	return code&0xfc00 == 0x0400 // 0000 01xx xxxx xxxx
}

// reportLines is how many lines of one report of a machine check, or of the firmware, stand together.
const reportLines = 8

// after are the lines behind line i that may be of its report.
func (d *KernelLogData) after(i int) []KernelLine {
	return d.Lines[i+1 : min(i+reportLines, len(d.Lines))]
}

// amdReport is the report of AMD's decoder that begins in line i: how bad it is stands in the
// first line, what erred in the next.
func (d *KernelLogData) amdReport(i int) string {
	report := []string{d.Lines[i].Text}
	for _, l := range d.after(i) {
		if amdSeverity.MatchString(l.Text) {
			break // the next report
		}
		if amdStatus.MatchString(l.Text) || amdIPID.MatchString(l.Text) {
			report = append(report, l.Text)
		}
	}
	return strings.Join(report, "; ")
}

const checksLogged = "Machine check events logged"

// checkTold reports whether the machine check that line i only announces is told beside it.
// The kernel announces first and prints the report next; older ones print it first.
func (d *KernelLogData) checkTold(i int) bool {
	for _, l := range d.after(i) {
		if strings.Contains(l.Text, checksLogged) {
			break // what follows is of that one
		}
		if isCheckReport(l.Text) {
			return true
		}
	}
	told := false
	for _, l := range d.Lines[max(0, i-reportLines):i] {
		if strings.Contains(l.Text, checksLogged) {
			return false // what stands before this line is of that one
		}
		told = told || isCheckReport(l.Text)
	}
	return told
}

func isCheckReport(text string) bool {
	return edacForm.MatchString(text) || amdSeverity.MatchString(text) || strings.Contains(text, hardwareError) && mceStatus.MatchString(text)
}
