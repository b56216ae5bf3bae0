package burnin

import (
	"fmt"
	"strings"
	"testing"
)

func TestProcessorsOwn(t *testing.T) {
	for text, want := range map[string]bool{
		"mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 4: 9c00000000010151":                                               true,  // instruction cache, level 1
		"mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 0: be0000000000110a":                                               true,  // level 2, filtered
		"mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 2: 9000004000010015":                                               true,  // translation buffer
		"mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 3: be00000000000400":                                               true,  // internal timer
		"mce: [Hardware Error]: CPU 2: Machine Check: 0 Bank 21: dc2040000400011b":                                              false, // AMD, memory controller
		"mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 7: 8c00004000010091":                                               false, // Intel, memory controller, channel 1
		"mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 4: dc00400008080813":                                               false, // AMD before Zen, DRAM on the bus
		"1 error: Corrected error, no action required., CPU 2, bank (bank=21), mcgcap=0x0000011d, status=0xdc2040000400011b, a": false,
		"1 error: Corrected error, no action required., CPU 2, bank (bank=1), mcgcap=0x0000011d, status=0x9c20000000010151, ad": true,
		"mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 0: 90000040000f0005":                                               true,  // internal parity
		"mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 0: 9000004000000001":                                               false, // unclassified
		"mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 0: 9000004000000e0b":                                               false, // input and output
		"[Hardware Error]: CPU:2 (15:2:0) MC2_STATUS[-|CE|MiscV|-|-|-|-|CECC]: 0x98444000010c0176":                              true,
		"[Hardware Error]: CPU:4 (19:11:1) MC1_STATUS[Over|UE|MiscV|AddrV|-|-|SyndV|-|Poison|-]: 0xbc00080001010135":            false, // bad when it came
		"EDAC MC0: 1 CE memory read error on CPU_SrcID#0_Channel#1_DIMM#0":                                                      false,
	} {
		if got := processorsOwn(text); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
}

// The reports of several lines, as kernels print them, and whom each is laid to.
var machineChecks = []struct{ name, lines, want string }{
	{
		"AMD, cache of level 2", `mce: [Hardware Error]: Machine check events logged
[Hardware Error]: Corrected error, no action required.
[Hardware Error]: CPU:2 (19:11:1) MC2_STATUS[-|CE|MiscV|AddrV|-|-|SyndV|CECC|-|-|-]: 0x9c2040000002010a
[Hardware Error]: Error Addr: 0x0000000012345678
[Hardware Error]: IPID: 0x000200b000000000, Syndrome: 0x000000005d000000`, "corrected processors",
	},
	{
		"AMD, cache of level 3", `[Hardware Error]: Uncorrected, software restartable error.
[Hardware Error]: CPU:0 (19:11:1) MC7_STATUS[-|UE|MiscV|AddrV|-|-|SyndV|UECC|-|-|-]: 0xbc20200000040e1b
[Hardware Error]: IPID: 0x000700b000000000, Syndrome: 0x000000005d000000`, "uncorrected processors",
	},
	{
		"AMD, memory controller", `mce: [Hardware Error]: Machine check events logged
[Hardware Error]: Corrected error, no action required.
[Hardware Error]: CPU:2 (19:11:1) MC21_STATUS[Over|CE|MiscV|AddrV|-|-|SyndV|CECC|-|-|-]: 0xdc2040000400011b
[Hardware Error]: IPID: 0x0000009600550f00, Syndrome: 0x000000005d000000`, "corrected",
	},
	{
		"AMD before Zen", `[Hardware Error]: MC2 Error: VB Data ECC or parity error.
[Hardware Error]: Error Status: Corrected error, no action required.
[Hardware Error]: CPU:2 (15:2:0) MC2_STATUS[-|CE|MiscV|-|-|-|-|CECC]: 0x98444000010c0176`, "corrected processors",
	},
	{
		"AMD, two at once", `[Hardware Error]: Corrected error, no action required.
[Hardware Error]: Corrected error, no action required.
[Hardware Error]: CPU:2 (19:11:1) MC2_STATUS[-|CE|MiscV|AddrV|-|-|SyndV|CECC|-|-|-]: 0x9c2040000002010a`, "corrected, corrected processors",
	},
	{
		"Intel, its cache", `mce: [Hardware Error]: Machine check events logged
mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 4: 9c00000000010151
mce: [Hardware Error]: TSC 1234567890 ADDR 1234000`, "corrected processors",
	},
	{
		"Intel, its cache, announced behind it", `mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 4: 9c00000000010151
mce: [Hardware Error]: Machine check events logged`, "corrected processors",
	},
	{
		"Intel, memory", `mce: [Hardware Error]: Machine check events logged
EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x0)`, "corrected CPU_SrcID#0_MC#0_Chan#1_DIMM#0",
	},
	{"announced and not told", `mce: [Hardware Error]: Machine check events logged`, "unclear"},
	{
		"announced twice and told once", `mce: [Hardware Error]: Machine check events logged
mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 4: 9c00000000010151
mce: [Hardware Error]: Machine check events logged`, "corrected processors, unclear",
	},
	{
		"the firmware, of a processor", `{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 0
{1}[Hardware Error]: event severity: corrected
{1}[Hardware Error]:  Error 0, type: corrected
{1}[Hardware Error]:   section_type: general processor error`, "corrected processors",
	},
	{
		"the firmware, of memory", `{1}[Hardware Error]: event severity: recoverable
{1}[Hardware Error]:  Error 0, type: recoverable
{1}[Hardware Error]:   section_type: memory error`, "uncorrected",
	},
}

func TestMachineChecks(t *testing.T) {
	for _, c := range machineChecks {
		var log strings.Builder
		for i, line := range strings.Split(c.lines, "\n") {
			fmt.Fprintf(&log, "[  700.0000%02d] %s\n", i, line)
		}
		d, err := parseKernelLog(loose(log.String()))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range d.Memory {
			words := []string{string(e.Kind)}
			if e.Own {
				words = append(words, "processors")
			}
			if e.Part != "" {
				words = append(words, e.Part)
			}
			got = append(got, strings.Join(words, " "))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
}

// Errors of one second have one stamp on a wall clock, and are several.
func TestErrorsOfOneSecond(t *testing.T) {
	line := "[Mon Nov 30 10:00:00 2026] EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0\n"
	reading := func(phase Phase, lines int) *Evidence {
		return &Evidence{Probe: "kernel-log", Phase: phase, Source: FromLoose, Ended: EndedUnknown, Out: []byte(strings.Repeat(line, lines))}
	}
	r := NewReadings(&Record{Evidence: []*Evidence{reading(PhaseBefore, 2), reading(PhaseAfter, 5)}})
	early, fresh := 0, 0
	for _, e := range logMemoryEvents(phaseReadings(r, KernelLog)) {
		if e.early {
			early++
		} else {
			fresh++
		}
	}
	if early != 2 || fresh != 3 {
		t.Errorf("%d early, %d fresh, want 2 and 3", early, fresh)
	}
}
