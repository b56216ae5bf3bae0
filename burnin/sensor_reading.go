package burnin

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// BMCSensors is what the BMC measures. provision writes it: Redfish bodies by URI,
// or {"ipmi:/sdr": {"sensors": […]}}. The text of `ipmitool sdr`, `sdr elist` and
// `sensor` is read too.
var BMCSensors = Probe[SensorSet]{
	Spec:  ProbeSpec{Name: "bmc-sensors", Phases: []Phase{PhaseBefore, PhaseLoad, PhaseAfter}},
	Parse: parseBMCSensors,
}

// SensorSet is one reading of all sensors.
type SensorSet struct {
	Sensors []BMCSensor
	Note    BMCNote
	Short   bool  // of fans, supplies and temperatures only, with limits only where they are new
	Missing error // what could not be read, or nil
}

// BMCVitalsKey is under what provision writes the rows of a short reading.
const BMCVitalsKey = "rackproof:vitals"

// Kinds of sensor, as redfish names them.
const (
	sensorTemperature = "temperature" // Cel
	sensorFan         = "fan"         // RPM or %
	sensorVoltage     = "voltage"     // V
	sensorCurrent     = "current"     // A
	sensorPower       = "power"       // W
	sensorState       = "discrete"
	sensorOther       = "other"
)

// BMCSensor is one sensor, over whichever protocol.
type BMCSensor struct {
	Name       string
	Kind       string
	Reading    Opt[float64]
	Unit       string // Cel, RPM, %, V, A, W
	Limits     SensorLimits
	Health     string   // OK, Warning, Critical; "" = not told
	State      string   // Enabled, Absent, UnavailableOffline …; "" = not told
	States     []string // of a state sensor, those asserted, in words
	Context    string   // Redfish's PhysicalContext, CPU, Fan, PowerSupply …; "" = not told
	Redundancy bool     // it is the state of a set of parts that stand in for each other
	Serial     string   // of the part that it belongs to, where the BMC tells
	source     string
}

// SensorLimits are the BMC's own limits.
type SensorLimits struct {
	UpperFatal, UpperCritical, UpperCaution Opt[float64]
	LowerFatal, LowerCritical, LowerCaution Opt[float64]
}

// asleep reports a sensor whose part is not there, switched off, or not ready: it
// measures nothing, which is no fault of it.
func (s BMCSensor) asleep() bool {
	switch s.State {
	case "Absent", "Disabled", "UnavailableOffline", "StandbyOffline", "StandbySpare", "Starting", "Updating", "Deferring", "Quiesced", "InTest", "Qualified":
		return true
	}
	return false
}

// keyed gives sensors with keys that are the same in every reading: sensors that bear
// one name are told apart by their order.
func keyed(list []BMCSensor) iter.Seq2[string, BMCSensor] {
	return func(yield func(string, BMCSensor) bool) {
		count := map[string]int{}
		for _, s := range list {
			name := s.Kind + "\x00" + strings.ToLower(s.Name)
			count[name]++
			if !yield(fmt.Sprintf("%s\x00%d", name, count[name]), s) {
				return
			}
		}
	}
}

func parseBMCSensors(e *Evidence) (SensorSet, error) {
	body, _ := e.Body()
	trimmed := bytes.TrimSpace(body)
	if len(trimmed) == 0 {
		return SensorSet{}, errors.New("bmc-sensors: nothing was printed")
	}
	if trimmed[0] != '{' {
		return parseSensorText(e)
	}
	bodies, err := parseBodies(e)
	if err != nil {
		return SensorSet{}, err
	}
	set := SensorSet{Note: bodies.note, Missing: bodies.err()}
	for _, b := range bodies.list {
		if rows, ok := b.fields["sensors"].([]any); ok {
			set.Short = set.Short || b.uri == BMCVitalsKey
			set.Sensors = append(set.Sensors, ownSensors(b.uri, rows)...)
		}
	}
	set.Sensors = append(set.Sensors, redfishSensors(bodies.list)...)
	if len(set.Sensors) == 0 {
		return set, errors.Join(errors.New("bmc-sensors: no sensor is in it"), set.Missing)
	}
	return set, nil
}

// ownSensors reads the rows that our reader writes of IPMI and of samples.
func ownSensors(uri string, rows []any) []BMCSensor {
	var out []BMCSensor
	for i, row := range rows {
		fields, ok := row.(map[string]any)
		if !ok {
			continue
		}
		b := redfishBody{uri: uri, fields: fields}
		limit := func(name string) Opt[float64] { return b.number("thresholds", name) }
		s := BMCSensor{
			Name: b.text("name"), Kind: b.text("kind"), Reading: b.number("reading"), Unit: rawText(fields["unit"]),
			Health: b.text("health"), State: b.text("state"), Context: b.text("context"), source: rawText(fields["source"]),
			Limits: SensorLimits{
				UpperFatal: limit("upper_fatal"), UpperCritical: limit("upper_critical"), UpperCaution: limit("upper_caution"),
				LowerFatal: limit("lower_fatal"), LowerCritical: limit("lower_critical"), LowerCaution: limit("lower_caution"),
			},
		}
		if states, ok := fields["states"].([]any); ok {
			for _, word := range states {
				s.States = append(s.States, rawText(word))
			}
		}
		s.Redundancy = s.Kind == sensorState && strings.Contains(strings.ToLower(s.Name), "redundancy")
		s.Unit = firstWord(s.Unit, kindUnit[s.Kind])
		if s.Name == "" {
			s.Name = firstWord(s.source, fmt.Sprintf("sensor %d", i))
		}
		out = append(out, s)
	}
	return out
}

// rawText is a word of JSON as it stands, "" for anything else.
func rawText(v any) string {
	s, _ := v.(string)
	return s
}
