package lab

// Sensors are the values that both BMCs of a machine show.
type Sensors struct {
	dir string
}

// newSensors keeps one file per sensor under dir, which ipmi_sim polls.
func newSensors(dir string) *Sensors { return &Sensors{dir: dir} }

// SELEntry is one event of the system event log.
type SELEntry struct {
	Sensor     byte // sensor number
	SensorType byte
	EventType  byte // event/reading type code
	Deassert   bool
	Data       [3]byte
	Message    string // for the Redfish log
	Severity   string // Redfish: OK, Warning, Critical
}
