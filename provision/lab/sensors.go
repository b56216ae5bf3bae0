package lab

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// sensorKind is what a sensor measures.
type sensorKind int

const (
	temperature sensorKind = iota
	fanSpeed
	powerSupply // discrete
	memoryECC   // discrete, events only in practice
)

// sensor is one sensor of a machine as both of its BMCs have it. Values are the
// byte that IPMI knows; a reading is the value times the factor, in the kind's
// unit. A discrete value is its state bits.
type sensor struct {
	name     string
	number   byte
	kind     sensorKind
	entity   byte // IPMI 2.0 table 43-13
	instance byte
	healthy  byte
	lower    limits
	upper    limits
	factor   int
	absent   bool   // nothing is in its place: it cannot be read
	context  string // Redfish PhysicalContext
}

// limits are the non-critical, critical and non-recoverable threshold; 0 = none.
type limits [3]byte

// State bits of discrete sensors (IPMI 2.0 table 42-3).
const (
	psuPresent   = 1 << 0
	psuInputLost = 1 << 3
	eccPresent   = 1 << 6
)

// Entity ids (IPMI 2.0 table 43-13).
const (
	entityProcessor = 3
	entityDisk      = 4
	entityPSU       = 10
	entityAddIn     = 11
	entityFan       = 29
	entityDIMM      = 32
	entityInlet     = 55
	entityChassis   = 23
)

// fanFactor makes a fan's value a speed: 90 is 9000 RPM.
const fanFactor = 100

// sensorsOf are the sensors of a machine. There is one processor; the second
// socket's sensor is there and cannot be read, as on a board that is half full.
func sensorsOf(s Spec) []sensor {
	temp := func(n byte, name string, entity, instance, healthy byte, upper limits, context string) sensor {
		return sensor{name: name, number: n, kind: temperature, entity: entity, instance: instance, healthy: healthy, upper: upper, factor: 1, context: context}
	}
	all := []sensor{
		temp(1, "CPU0 Temp", entityProcessor, 1, 45, limits{95, 100, 105}, "CPU"),
		temp(2, "CPU1 Temp", entityProcessor, 2, 0, limits{95, 100, 105}, "CPU"),
		temp(3, "Inlet Temp", entityInlet, 1, 24, limits{42, 45, 47}, "Intake"),
		temp(4, "Exhaust Temp", entityChassis, 1, 38, limits{70, 75, 80}, "Exhaust"),
		temp(5, "DIMM_A1 Temp", entityDIMM, 1, 36, limits{85, 90, 95}, "Memory"),
		temp(6, "NVMe0 Temp", entityDisk, 1, 33, limits{70, 75, 80}, "StorageDevice"),
		temp(7, "NVMe1 Temp", entityDisk, 2, 34, limits{70, 75, 80}, "StorageDevice"),
	}
	all[1].absent = true
	for i := range s.GPUs {
		all = append(all, temp(byte(10+i), fmt.Sprintf("GPU%d Temp", i), entityAddIn, byte(i+1), byte(41+i), limits{87, 92, 95}, "GPU"))
	}
	for i := range 4 {
		all = append(all, sensor{
			name: fmt.Sprintf("FAN%d", i+1), number: byte(20 + i), kind: fanSpeed, entity: entityFan, instance: byte(i + 1),
			healthy: byte(90 + i%2), lower: limits{15, 10, 5}, factor: fanFactor, context: "Fan",
		})
	}
	for i := range 2 {
		all = append(all, sensor{
			name: fmt.Sprintf("PSU%d Status", i+1), number: byte(30 + i), kind: powerSupply, entity: entityPSU, instance: byte(i + 1),
			healthy: psuPresent, factor: 1, context: "PowerSupply",
		})
	}
	for i, d := range s.DIMMs {
		all = append(all, sensor{
			name: d.Slot + " ECC", number: byte(40 + i), kind: memoryECC, entity: entityDIMM, instance: byte(i + 1),
			healthy: eccPresent, factor: 1, context: "Memory",
		})
	}
	return all
}

// file is the sensor's file below the machine's folder of sensors.
func (s sensor) file() string { return strings.ReplaceAll(s.name, " ", "_") }

// discrete sensors have states, the others thresholds.
func (s sensor) discrete() bool { return s.kind == powerSupply || s.kind == memoryECC }

// Sensors are the values that both BMCs of a machine show. They are kept in one
// file per sensor, which ipmi_sim polls, and outlive a BMC that loses power.
type Sensors struct {
	dir  string
	list []sensor

	mu       sync.Mutex
	values   map[byte]byte // by number
	onChange []func(s sensor, from, to byte)
}

// newSensors writes the files of a healthy machine.
func newSensors(spec Spec) (*Sensors, error) {
	s := &Sensors{dir: spec.Path("sensors"), list: sensorsOf(spec), values: map[byte]byte{}}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("sensors: %w", err)
	}
	for _, one := range s.list {
		if err := s.write(one, one.healthy); err != nil {
			return nil, err
		}
		s.values[one.number] = one.healthy
	}
	return s, nil
}

// write replaces a sensor's file in one step: ipmi_sim may read at any time.
func (s *Sensors) write(one sensor, value byte) error {
	path := filepath.Join(s.dir, one.file())
	temporary := path + ".new"
	if err := os.WriteFile(temporary, []byte(strconv.Itoa(int(value))+"\n"), 0o600); err != nil {
		return fmt.Errorf("sensor %s: %w", one.name, err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("sensor %s: %w", one.name, err)
	}
	return nil
}

// named finds a sensor, or says which there are.
func (s *Sensors) named(name string) (sensor, error) {
	var names []string
	for _, one := range s.list {
		if strings.EqualFold(one.name, name) {
			return one, nil
		}
		names = append(names, one.name)
	}
	return sensor{}, usagef("no sensor %q; there are %s", name, strings.Join(names, ", "))
}

// Set changes a sensor's reading, in degrees or RPM; of a discrete sensor its
// state bits. Both BMCs show it within a second, and log what it crosses.
func (s *Sensors) Set(name string, reading float64) error {
	one, err := s.named(name)
	if err != nil {
		return err
	}
	value := math.Round(reading / float64(one.factor))
	if value < 0 || value > math.MaxUint8 {
		return usagef("sensor %s: %g is out of its range, 0 to %d", one.name, reading, math.MaxUint8*one.factor)
	}
	return s.change(one, byte(value))
}

// Heal gives a sensor back the reading of a healthy machine.
func (s *Sensors) Heal(name string) error {
	one, err := s.named(name)
	if err != nil {
		return err
	}
	return s.change(one, one.healthy)
}

func (s *Sensors) change(one sensor, to byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.values[one.number]
	if from == to {
		return nil
	}
	if err := s.write(one, to); err != nil {
		return err
	}
	s.values[one.number] = to
	for _, f := range s.onChange {
		f(one, from, to)
	}
	return nil
}

// follow calls f after each change, one at a time. The values cannot be asked
// for from within f.
func (s *Sensors) follow(f func(s sensor, from, to byte)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onChange = append(s.onChange, f)
}

// value is what a sensor's file holds.
func (s *Sensors) value(number byte) byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[number]
}

// Names are the names of all sensors, in the order of their numbers.
func (s *Sensors) Names() []string {
	all := slices.Clone(s.list)
	slices.SortFunc(all, func(a, b sensor) int { return int(a.number) - int(b.number) })
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = one.name
	}
	return names
}
