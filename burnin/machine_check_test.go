package burnin

import "testing"

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
		"EDAC MC0: 1 CE memory read error on CPU_SrcID#0_Channel#1_DIMM#0":                                                      false,
	} {
		if got := processorsOwn(text); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
}
