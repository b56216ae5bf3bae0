package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// sensorPoll is how often ipmi_sim looks at a sensor's file, in milliseconds.
const sensorPoll = 200

// watchdogSensor is the number under which the BMC logs what its watchdog did.
const watchdogSensor = 0

// ipmiPort is the same before and behind the relay: in answer to a serial console
// ipmi_sim tells its own.
const ipmiPort = 623

// simAddress is where ipmi_sim listens; the relay in front of it has the BMC's
// address.
func (s Spec) simAddress() string { return fmt.Sprintf("127.0.1.%d", s.N) }

// lanConfig is ipmi_sim's lan.conf: addresses, accounts and the programs that
// are its hardware. It holds the password.
func lanConfig(s Spec, program, dir string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	const auths = "none md2 md5 straight"
	line("name %q", s.Name)
	line("set_working_mc 0x20")
	line("  startlan 1")
	line("    addr %s %d", s.simAddress(), ipmiPort)
	line("    priv_limit admin")
	for _, level := range []string{"callback", "user", "operator", "admin"} {
		line("    allowed_auths_%s %s", level, auths)
	}
	line("    guid %s", strings.ReplaceAll(s.UUID(), "-", ""))
	line("    lan_config_program %q", fmt.Sprintf("%s lan-config %d", program, s.N))
	line("  endlan")
	line("  chassis_control %q", fmt.Sprintf("%s chassis %s %s", program, dir, s.Name))
	line("  serial 15 127.0.0.1 %d codec VM", s.KCSPort())
	line("  sol %q 115200", fmt.Sprintf("tcp:127.0.0.1:%d", s.SOLPort()))
	line("  startnow false")
	line(`  user 1 false "" "" user 10 %s`, auths)
	line("  user 2 true %q %q admin 10 %s", BMCUser, BMCPassword, auths)
	return b.String()
}

// emulation is ipmi_sim's command file: the controller, its sensors with their
// present values, and the FRU.
func emulation(sensors *Sensors, fru string, fruSize int) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("mc_setbmc 0x20")
	line("mc_add 0x20 0x20 no-device-sdrs 0x23 2 0x17 0x9f 0x1291 0xf02 persist_sdr")
	line("sel_enable 0x20 %d 0x0a", selLimit)
	line("sensor_add 0x20 0 %d %#02x %#02x event-only", watchdogSensor, typeWatchdog, eventSpecific)
	line("sensor_set_event_support 0x20 0 %d enable scanning per-state %015b %015b %015b %015b", watchdogSensor, 0xf, 0, 0xf, 0)
	for _, one := range sensors.list {
		for _, l := range one.commands(sensors.value(one.number), filepath.Join(sensors.dir, one.file())) {
			line("%s", l)
		}
	}
	line("mc_add_fru_data 0x20 0 %d file 0 %q", fruSize, fru)
	line("mc_enable 0x20")
	return b.String()
}

// commands make one sensor in ipmi_sim. What it shows at the start is no event.
func (s sensor) commands(value byte, file string) []string {
	event := eventThreshold
	if s.discrete() {
		event = eventSpecific
	}
	lines := []string{fmt.Sprintf("sensor_add 0x20 0 %d %#02x %#02x poll %d file %q", s.number, s.sensorType(), event, sensorPoll, file)}
	enable := "enable scanning"
	if s.absent {
		enable = "disable no-scanning"
	}
	if !s.discrete() {
		lines = append(lines, s.thresholdCommand())
	}
	lines = append(lines, fmt.Sprintf("sensor_set_event_support 0x20 0 %d %s per-state %015b %015b %015b %015b",
		s.number, enable, s.eventMask(), s.eventMask(), s.eventMask(), s.eventMask()))
	if !s.discrete() && !s.absent {
		lines = append(lines, fmt.Sprintf("sensor_set_value 0x20 0 %d %d 0", s.number, value))
	}
	return append(lines, fmt.Sprintf("main_sdr_add 0x20 % #x", s.sdr()))
}

// eventMask are the crossings and states that are logged. That something is
// present is no event: it would be one at each start.
func (s sensor) eventMask() uint16 {
	var mask uint16
	for bit := range stateNames[s.kind] {
		mask |= 1 << bit
	}
	switch s.kind {
	case powerSupply:
		mask &^= psuPresent
	case memoryECC:
		mask &^= eccPresent
	case temperature, fanSpeed:
		for _, t := range s.thresholds() {
			mask |= 1 << t.offset
		}
	}
	return mask
}

// fromTheTop are the thresholds from upper non-recoverable down to lower
// non-critical, the order of ipmi_sim's command and of the SDR.
func (s sensor) fromTheTop() [6]byte {
	return [6]byte{s.upper[2], s.upper[1], s.upper[0], s.lower[2], s.lower[1], s.lower[0]}
}

func (s sensor) thresholdCommand() string {
	enabled, values := "", ""
	for _, limit := range s.fromTheTop() {
		bit := "0"
		if limit != 0 {
			bit = "1"
		}
		enabled += bit
		values += fmt.Sprintf(" %d", limit)
	}
	return fmt.Sprintf("sensor_set_threshold 0x20 0 %d settable %s%s", s.number, enabled, values)
}

// writeSimConfig writes what ipmi_sim reads and returns its arguments.
func writeSimConfig(m *Machine, program, labDir string) ([]string, error) {
	for _, path := range []string{program, labDir} {
		if strings.ContainsAny(path, " \t\"'\\$`") {
			return nil, fmt.Errorf("ipmi_sim cannot run %q; use a path without blanks and quotes", path)
		}
	}
	dir := m.spec.Path("ipmi")
	lan, emu, fru, state := filepath.Join(dir, "lan.conf"), filepath.Join(dir, "bmc.emu"), filepath.Join(dir, "fru.bin"), filepath.Join(dir, "state")
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, err
	}
	image := m.spec.fru()
	files := map[string][]byte{
		lan: []byte(lanConfig(m.spec, program, labDir)), fru: image,
		emu: []byte(emulation(m.sensors, fru, len(image))),
	}
	for path, content := range files {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return nil, err
		}
	}
	// The records of sensors are made anew; the event log stays.
	_ = os.Remove(filepath.Join(state, "ipmi_sim", m.spec.Name, "sdr.20.main"))
	return []string{"-c", lan, "-f", emu, "-s", state}, nil
}
