package profiles

import "testing"

// TestEventsOfTheCatalogue: what BMCs write, in IPMI's words as ipmitool prints them
// and in messages as platform logs have them, and the rule that must know it.
func TestEventsOfTheCatalogue(t *testing.T) {
	p, err := Open().Profile("hgx-h100-8")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, rule, verdict string }{
		{"Memory | Memory #0x53 | Correctable ECC", "memory_corrected", Corrected},
		{"Memory | DIMM P1-A1 | Uncorrectable ECC", "memory_uncorrected", "fail"},
		{"Memory | #0x53 | Correctable ECC logging limit reached", "memory_corrected_limit", "fail"},
		{"Event Logging Disabled | #0x72 | Correctable memory error logging disabled", "memory_corrected_limit", "fail"},
		{"Memory | #0x53 | Parity", "memory_parity", "fail"},
		{"Corrected Memory Error threshold exceeded (Processor 1, Memory Module 3)", "memory_corrected_limit", "fail"},
		{"Multi-bit memory errors detected on a memory device at location(s) DIMM_A3.", "memory_uncorrected", "fail"},
		{"Processor | #0x30 | IERR", "cpu_internal_error", "fail"},
		{"CPU 1 machine check error detected.", "cpu_internal_error", "fail"},
		{"Processor | #0x30 | Correctable machine check error", "cpu_corrected", "warn"},
		{"Processor | #0x30 | Thermal Trip", "thermal_trip", "fail"},
		{"Processor | CPU1 | Presence detected", "presence", "pass"},
		{"Critical Interrupt | #0x31 | PCI SERR", "bus_fatal", "fail"},
		{"Critical Interrupt | #0x31 | Bus Fatal Error", "bus_fatal", "fail"},
		{"Critical Interrupt | #0x31 | Bus Correctable error", "bus_corrected", "warn"},
		{"A fatal error was detected on a component at bus 23 device 0 function 0.", "bus_fatal", "fail"},
		{"Power Supply | PS1 Status | Failure detected", "supply_failed", "fail"},
		{"Power Supply | PS1 Status | Power Supply AC lost", "supply_input_lost", "fail"},
		{"The power input for power supply 1 is lost.", "supply_input_lost", "fail"},
		{"Power Supply | PS1 Status | Presence detected", "presence", "pass"},
		{"Power Unit | Pwr Unit Redund | Redundancy Lost", "redundancy_lost", "fail"},
		{"Power Unit | Pwr Unit Redund | Fully Redundant", "", ""},
		{"Power Unit | #0x01 | Power off/down", "power_control", "pass"},
		{"Power Unit | #0x01 | Soft-power control failure", "power_unit_failed", "fail"},
		{"Power Unit | #0x01 | 240VA power down", "power_unit_failed", "fail"},
		{"Fan | FAN4 | Lower Critical going low", "fan_failed", "fail"},
		{"Fan | FAN4 | Lower Non-critical going low", "fan_slow", "warn"},
		{"Fan 1A RPM is less than the lower critical threshold.", "fan_failed", "fail"},
		{"Fan | Fan Redundancy | Redundancy Lost", "fan_failed", "fail"},
		{"Temperature | CPU1 Temp | Upper Critical going high", "limit_critical", "fail"},
		{"Temperature | CPU1 Temp | Upper Non-critical going high", "limit_caution", "warn"},
		{"Temperature | CPU1 Temp | Upper Non-recoverable going high", "limit_critical", "fail"},
		{"Voltage | 12V | Lower Critical going low", "limit_critical", "fail"},
		{"Watchdog2 | #0xca | Timer expired", "watchdog", "fail"},
		{"Watchdog2 | #0xca | Hard reset", "watchdog", "fail"},
		{"OS Boot | #0x22 | boot completed - device not specified", "boot", "pass"},
		{"System Event | #0x83 | OEM System boot event", "boot", "pass"},
		{"System Boot Initiated | #0x20 | Initiated by power up", "boot", "pass"},
		{"OS Stop/Shutdown | #0x20 | OS graceful shutdown", "os_stop", "pass"},
		{"OS Stop/Shutdown | #0x20 | Run-time critical stop", "os_crash", "fail"},
		{"System ACPI Power State | #0x21 | S5/G2: soft-off", "power_control", "pass"},
		{"Event Logging Disabled | #0x72 | Log area reset/cleared", "log_cleared", "unknown"},
		{"Event Logging Disabled | #0x72 | Log full", "log_full", "unknown"},
		{"Event Logging Disabled | #0x72 | Log almost full", "log_almost_full", "warn"},
		{"System Event | #0x83 | Timestamp Clock Sync", "clock_set", "pass"},
		{"Drive Slot / Bay | HDD 1 | Drive Fault", "drive_failed", "fail"},
		{"Drive Slot / Bay | HDD 1 | Drive Present", "presence", "pass"},
		{"Physical Security | Intrusion | General Chassis intrusion", "chassis_open", "warn"},
		{"System Firmware Error | #0x06 | Unknown Error", "firmware_error", "fail"},
		{"System Firmwares | #0x06 | System Firmware Progress", "boot", "pass"},
		{"OEM record e0 000001370000", "", ""},
	} {
		name, rule, ok := p.EventOf(c.text)
		if name != c.rule || rule.Verdict != c.verdict || ok != (c.rule != "") {
			t.Errorf("%q is %q (%s), want %q (%s)", c.text, name, rule.Verdict, c.rule, c.verdict)
		}
	}
}

// Every rule can be reached by its own words, says where it comes from, and has a rank
// of its own, so that the order is never by chance.
func TestEventRulesAreTold(t *testing.T) {
	p, err := Open().Profile("hgx-h100-8")
	if err != nil {
		t.Fatal(err)
	}
	ranks := map[int]string{}
	for name, rule := range p.Events {
		if other := ranks[rule.Rank]; other != "" {
			t.Errorf("%s and %s have the same rank %d", name, other, rule.Rank)
		}
		ranks[rule.Rank] = name
		reached := false
		for _, word := range rule.Any {
			text := word
			for _, also := range rule.All {
				text += " " + also
			}
			found, _, _ := p.EventOf(text)
			reached = reached || found == name
		}
		if !reached || rule.Meaning == "" || rule.Source == "" {
			t.Errorf("%s: reached %v, meaning %q, source %q", name, reached, rule.Meaning, rule.Source)
		}
	}
}
