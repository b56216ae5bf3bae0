package redfish

import "time"

// SensorKind is what a sensor measures.
type SensorKind string

// The kinds of sensor that a server has.
const (
	Temperature SensorKind = "temperature" // Cel
	FanSpeed    SensorKind = "fan"         // RPM or %
	Voltage     SensorKind = "voltage"     // V
	Current     SensorKind = "current"     // A
	PowerDraw   SensorKind = "power"       // W
	Discrete    SensorKind = "discrete"    // states only: PSU, ECC, intrusion …
	OtherSensor SensorKind = "other"
)

// Sensor is one reading of a BMC, over Redfish or IPMI.
type Sensor struct {
	Name       string     `json:"name"`
	Kind       SensorKind `json:"kind"`
	Reading    *float64   `json:"reading"` // nil: not reported, or not readable now
	Unit       string     `json:"unit"`    // as Redfish writes it (UCUM): Cel, RPM, %, V, A, W
	Thresholds Thresholds `json:"thresholds"`
	Health     string     `json:"health"`           // OK, Warning, Critical; "" = not reported
	State      string     `json:"state"`            // Enabled, Absent, UnavailableOffline …
	States     []string   `json:"states,omitempty"` // of a discrete sensor, those asserted, in words
	Context    string     `json:"context"`          // what it sits at: CPU, GPU, Intake, PowerSupply …
	Source     string     `json:"source"`           // URI, or "sdr 0x2a"
}

// Thresholds are the BMC's own limits of a sensor; nil = none.
type Thresholds struct {
	UpperFatal    *float64 `json:"upper_fatal"`    // IPMI: upper non-recoverable
	UpperCritical *float64 `json:"upper_critical"` // IPMI: upper critical
	UpperCaution  *float64 `json:"upper_caution"`  // IPMI: upper non-critical
	LowerCaution  *float64 `json:"lower_caution"`
	LowerCritical *float64 `json:"lower_critical"`
	LowerFatal    *float64 `json:"lower_fatal"`
}

// Equal reports whether two sets of limits are the same.
func (t Thresholds) Equal(o Thresholds) bool {
	same := func(a, b *float64) bool { return a == b || a != nil && b != nil && *a == *b }
	return same(t.UpperFatal, o.UpperFatal) && same(t.UpperCritical, o.UpperCritical) && same(t.UpperCaution, o.UpperCaution) &&
		same(t.LowerCaution, o.LowerCaution) && same(t.LowerCritical, o.LowerCritical) && same(t.LowerFatal, o.LowerFatal)
}

// LogEntry is one entry of a BMC's log: the IPMI system event log (SEL), or a
// Redfish log service.
type LogEntry struct {
	ID        string    `json:"id"`
	Log       string    `json:"log"`                  // "sel", or the log service's Id
	Time      time.Time `json:"time,omitzero"`        // by the BMC's clock; zero = the BMC had none (before its clock was set)
	Severity  string    `json:"severity"`             // OK, Warning, Critical; "" = the entry does not say
	Sensor    string    `json:"sensor,omitempty"`     // name, else type and number
	Kind      string    `json:"kind,omitempty"`       // sensor type: Memory, Processor, Power Supply …
	Event     string    `json:"event"`                // in words: "Uncorrectable ECC", or the BMC's message
	Asserted  *bool     `json:"asserted"`             // false: the state went away; nil: not said
	MessageID string    `json:"message_id,omitempty"` // as sent
	Raw       string    `json:"raw,omitempty"`        // the 16 bytes of a SEL record in hex
	Source    string    `json:"source"`               // URI, or "sel 0x0042"
}
