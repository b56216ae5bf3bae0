package lab

import (
	"fmt"
	"math/bits"
)

// IPMI event types and sensor types (IPMI 2.0 tables 42-1 and 42-3).
const (
	eventThreshold = 0x01
	eventSpecific  = 0x6f // sensor-specific states

	typeTemperature = 0x01
	typeFan         = 0x04
	typePowerSupply = 0x08
	typeMemory      = 0x0c
	typeWatchdog    = 0x23
)

func (s sensor) sensorType() byte {
	return map[sensorKind]byte{temperature: typeTemperature, fanSpeed: typeFan, powerSupply: typePowerSupply, memoryECC: typeMemory}[s.kind]
}

// redfishType is the SensorType of a Redfish log entry (DSP8010, LogEntry).
func (s sensor) redfishType() string {
	return map[sensorKind]string{temperature: "Temperature", fanSpeed: "Fan", powerSupply: "Power Supply / Converter", memoryECC: "Memory"}[s.kind]
}

func (s sensor) unit() string {
	return map[sensorKind]string{temperature: "Cel", fanSpeed: "RPM"}[s.kind]
}

// threshold is one of a sensor's six, in the order in which ipmi_sim looks at
// them.
type threshold struct {
	offset   byte // of its event: even = going low, odd = going high
	limit    byte
	low      bool
	name     string
	severity string
}

func (s sensor) thresholds() []threshold {
	names := [3]string{"non-critical", "critical", "non-recoverable"}
	severities := [3]string{"Warning", "Critical", "Critical"}
	var all []threshold
	for i, limit := range s.lower {
		all = append(all, threshold{byte(2 * i), limit, true, "Lower " + names[i], severities[i]})
	}
	for i, limit := range s.upper {
		all = append(all, threshold{byte(2*i + 7), limit, false, "Upper " + names[i], severities[i]})
	}
	present := all[:0]
	for _, t := range all {
		if t.limit != 0 {
			present = append(present, t)
		}
	}
	return present
}

func (t threshold) crossed(value byte) bool {
	if t.low {
		return value <= t.limit
	}
	return value >= t.limit
}

// health is what Redfish says of a sensor with this value.
func (s sensor) health(value byte) string {
	if s.kind == powerSupply && value&psuInputLost != 0 {
		return "Critical"
	}
	health := "OK"
	for _, t := range s.thresholds() {
		if t.crossed(value) && health != "Critical" {
			health = t.severity
		}
	}
	return health
}

// events are what a BMC logs when a value changes: each threshold that is
// crossed, each state that comes or goes. ipmi_sim finds the same by itself.
func (s sensor) events(from, to byte) []SELEntry {
	if s.discrete() {
		return s.stateEvents(from, to)
	}
	var events []SELEntry
	for _, t := range s.thresholds() {
		if t.crossed(from) == t.crossed(to) {
			continue
		}
		direction, severity := "going high", t.severity
		if t.low {
			direction = "going low"
		}
		if t.crossed(from) {
			severity = "OK"
		}
		events = append(events, SELEntry{
			Sensor: s.number, SensorType: s.sensorType(), EventType: eventThreshold, Deassert: t.crossed(from),
			Data: [3]byte{0x50 | t.offset, to, t.limit}, Severity: severity,
			Message: fmt.Sprintf("%s: %s %s, reading %d %s, threshold %d %s", s.name, t.name, direction,
				int(to)*s.factor, s.unit(), int(t.limit)*s.factor, s.unit()),
		})
	}
	return events
}

// stateNames are the states of the discrete sensors here, by kind and bit.
var stateNames = map[sensorKind]map[int]string{
	powerSupply: {0: "Presence detected", 1: "Power Supply failure detected", 3: "Power Supply input lost (AC/DC)"},
	memoryECC:   {0: "Correctable ECC", 1: "Uncorrectable ECC", 6: "Presence detected"},
}

func (s sensor) stateEvents(from, to byte) []SELEntry {
	var events []SELEntry
	for changed := (from ^ to) & byte(s.eventMask()); changed != 0; changed &= changed - 1 {
		bit := bits.TrailingZeros8(changed)
		e := SELEntry{
			Sensor: s.number, SensorType: s.sensorType(), EventType: eventSpecific, Deassert: to&(1<<bit) == 0,
			Data: [3]byte{byte(bit), 0xff, 0xff}, Severity: "Critical", Message: s.name + ": " + stateNames[s.kind][bit],
		}
		if e.Deassert {
			e.Severity = "OK"
		}
		events = append(events, e)
	}
	return events
}
