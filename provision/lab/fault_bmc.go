package lab

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// bmcFaults are those that the BMC measures, and those of the BMC itself.
func bmcFaults() []Fault {
	return []Fault{
		{
			Name: "cpu-hot", Value: "[CELSIUS], default 102", Does: "CPU0 Temp is over its critical threshold",
			put: func(_ context.Context, _ *Lab, m *Machine, value string) (string, error) {
				degrees, err := number(value, 102, 0, 255)
				if err != nil {
					return "", err
				}
				return "", m.sensors.Set(hotSensor, float64(degrees))
			},
			heal: func(_ context.Context, _ *Lab, m *Machine) error { return m.sensors.Heal(hotSensor) },
		},
		{
			Name: "fan-dead", Value: "[FAN], default " + deadFan, Does: "a fan stands still",
			put: sensorFault("FAN", deadFan, 0), heal: healSensors("FAN"),
		},
		{
			Name: "psu-lost", Value: "[PSU], default " + lostPSU, Does: "a power supply has no input",
			put: sensorFault("PSU", lostPSU, psuPresent|psuInputLost), heal: healSensors("PSU"),
		},
		{
			Name: "bmc-dies", Does: "the BMC answers nobody, neither on its network nor to the host",
			put: func(ctx context.Context, _ *Lab, m *Machine, _ string) (string, error) {
				return "", m.bmc.die(ctx, m.spec)
			},
			heal: func(ctx context.Context, _ *Lab, m *Machine) error { return m.bmc.revive(ctx, m.spec) },
		},
		{
			Name: "bmc-slow", Value: "[SECONDS], default 3", Does: "every answer of the BMC is late, over IPMI and over Redfish",
			put: bmcSlow, heal: func(_ context.Context, _ *Lab, m *Machine) error { return m.bmc.slow(0) },
		},
	}
}

// The parts that faults hit unless another is named.
const (
	hotSensor = "CPU0 Temp"
	deadFan   = "FAN2"
	lostPSU   = "PSU2"
)

// sensorFault gives the sensor of the part that the value names, "FAN3" or just
// "3", a reading.
func sensorFault(kind, part string, reading float64) putFault {
	return func(_ context.Context, _ *Lab, m *Machine, value string) (string, error) {
		name := strings.ToUpper(value)
		if name == "" {
			name = part
		}
		if _, err := strconv.Atoi(name); err == nil {
			name = kind + name
		}
		for _, s := range m.sensors.list {
			if strings.HasPrefix(name, kind) && (s.name == name || s.name == name+" Status") {
				return "", m.sensors.Set(s.name, reading)
			}
		}
		return "", usagef("value %q; give one like %s", value, part)
	}
}

// healSensors makes all sensors of one kind healthy.
func healSensors(kind string) func(context.Context, *Lab, *Machine) error {
	return func(_ context.Context, _ *Lab, m *Machine) error {
		for _, s := range m.sensors.list {
			if !strings.HasPrefix(s.name, kind) {
				continue
			}
			if err := m.sensors.Heal(s.name); err != nil {
				return err
			}
		}
		return nil
	}
}

func bmcSlow(_ context.Context, _ *Lab, m *Machine, value string) (string, error) {
	seconds := 3.0
	if value != "" {
		var err error
		if seconds, err = strconv.ParseFloat(value, 64); err != nil || !(seconds > 0 && seconds <= 60) {
			return "", usagef("value %q; give seconds, up to 60", value)
		}
	}
	return "", m.bmc.slow(time.Duration(seconds * float64(time.Second)))
}

// LogECC adds what a memory controller tells the BMC of an error in a DIMM, named
// by its slot.
func (m *Machine) LogECC(slot string, uncorrectable bool) error {
	one, err := m.sensors.named(slot + " ECC")
	if err != nil {
		return err
	}
	bit, severity := 0, "Warning"
	if uncorrectable {
		bit, severity = 1, "Critical"
	}
	const dataIsDIMM = 0xa0 // bytes 2 and 3 are the maker's: here the number of the module
	m.Log(SELEntry{
		Sensor: one.number, SensorType: one.sensorType(), EventType: eventSpecific, Data: [3]byte{dataIsDIMM | byte(bit), 0xff, one.instance - 1},
		Severity: severity, Message: fmt.Sprintf("%s: %s", one.name, stateNames[memoryECC][bit]),
	})
	return nil
}
