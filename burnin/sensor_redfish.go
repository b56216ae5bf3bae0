package burnin

import (
	"fmt"
	"slices"
	"strings"
)

// redfishSensors reads every sensor that bodies show, each once: BMCs show one
// reading as a Sensor, in a row of Thermal or Power, as a Fan and as a copy in the
// metrics. What tells more goes first.
func redfishSensors(bodies []redfishBody) []BMCSensor {
	var c sensorCollector
	for _, b := range bodies {
		if b.kind() == "Sensor" {
			c.add(b.sensor())
		}
	}
	c.way++
	for _, b := range bodies {
		switch b.kind() {
		case "Thermal":
			c.addRows(b, "Temperatures", redfishBody.temperature)
			c.addRows(b, "Fans", redfishBody.fanRow)
			c.addRows(b, "Redundancy", redfishBody.fanRedundancy)
		case "Power":
			c.addRows(b, "PowerControl", redfishBody.consumption)
			c.addRows(b, "Voltages", redfishBody.voltage)
			c.addSupplies(b)
			c.addRows(b, "Redundancy", redfishBody.supplyRedundancy)
		}
	}
	c.way++
	fans, temperatures := c.has(sensorFan), c.has(sensorTemperature)
	for _, b := range bodies {
		switch kind := b.kind(); {
		case kind == "PowerSupply":
			c.addSupply(b, 0)
		case kind == "PowerSubsystem":
			c.addRows(b, "PowerSupplyRedundancy", redfishBody.supplyRedundancy)
		case kind == "ThermalSubsystem":
			c.addRows(b, "FanRedundancy", redfishBody.fanRedundancy)
		case kind == "Fan" && !fans:
			c.add(b.fan())
		case kind == "ThermalMetrics" && !temperatures:
			c.addRows(b, "TemperatureReadingsCelsius", redfishBody.excerpt)
		}
	}
	return c.list
}

// sensorCollector takes each sensor once, and each power supply.
type sensorCollector struct {
	list     []BMCSensor
	way      int            // in which sensors are shown now: as Sensor, as row, as another body
	names    map[string]int // kind and name → the way in which it was first shown
	supplies map[string]bool
}

func (c *sensorCollector) has(kind string) bool {
	return slices.ContainsFunc(c.list, func(s BMCSensor) bool { return s.Kind == kind })
}

// add takes a sensor unless it was shown in another way: in one way two sensors may
// bear one name, and both count.
func (c *sensorCollector) add(s BMCSensor) {
	if c.names == nil {
		c.names = map[string]int{}
	}
	key := s.Kind + " " + strings.ToLower(s.Name)
	if way, ok := c.names[key]; ok && way != c.way {
		return
	}
	c.names[key] = c.way
	c.list = append(c.list, s)
}

func (c *sensorCollector) addRows(b redfishBody, name string, read func(redfishBody) BMCSensor) {
	for _, row := range b.rows(name) {
		c.add(read(row))
	}
}

// rows are the objects of a list in a body, each with its own URI.
func (b redfishBody) rows(name string) []redfishBody {
	list, _ := b.at(name).([]any)
	var out []redfishBody
	for i, item := range list {
		if fields, ok := item.(map[string]any); ok {
			out = append(out, redfishBody{uri: fmt.Sprintf("%s#/%s/%d", b.uri, name, i), fields: fields})
		}
	}
	return out
}

// reading starts a sensor with what all kinds of body share.
func (b redfishBody) reading(kind, unit string) BMCSensor {
	id := b.uri[strings.LastIndexByte(b.uri, '/')+1:]
	return BMCSensor{
		Name: firstWord(b.text("Name"), b.text("FanName"), b.text("Id"), b.text("MemberId"), id), Kind: kind, Unit: unit,
		Health: b.text("Status", "Health"), State: b.text("Status", "State"), Context: b.text("PhysicalContext"), source: b.uri,
		Limits: SensorLimits{
			UpperFatal: b.number("UpperThresholdFatal"), UpperCritical: b.number("UpperThresholdCritical"), UpperCaution: b.number("UpperThresholdNonCritical"),
			LowerFatal: b.number("LowerThresholdFatal"), LowerCritical: b.number("LowerThresholdCritical"), LowerCaution: b.number("LowerThresholdNonCritical"),
		},
	}
}

// sensor reads a Sensor.
func (b redfishBody) sensor() BMCSensor {
	unit := sensorUnit(rawText(b.fields["ReadingUnits"]))
	s := b.reading(sensorKind(rawText(b.fields["ReadingType"]), unit), unit)
	s.Reading = b.number("Reading")
	limit := func(name string) Opt[float64] { return b.number("Thresholds", name, "Reading") }
	s.Limits = SensorLimits{
		UpperFatal: limit("UpperFatal"), UpperCritical: limit("UpperCritical"), UpperCaution: limit("UpperCaution"),
		LowerFatal: limit("LowerFatal"), LowerCritical: limit("LowerCritical"), LowerCaution: limit("LowerCaution"),
	}
	// A state is shown with a reading of 0 and no unit (XCC).
	if s.Kind == "" || unit == "" && s.Kind != sensorFan && s.Reading.Set && s.Reading.V == 0 {
		s.Kind, s.Reading = sensorState, Opt[float64]{}
	}
	if s.Unit == "" {
		s.Unit = kindUnit[s.Kind]
	}
	return s
}

// sensorUnits are the spellings seen of a unit.
var sensorUnits = map[string]string{
	"c": "Cel", "cel": "Cel", "degrees c": "Cel", "rpm": "RPM", "percent": "%", "%": "%", "v": "V", "volts": "V", "a": "A", "amps": "A", "w": "W", "watts": "W",
}

func sensorUnit(s string) string {
	if u, ok := sensorUnits[strings.ToLower(strings.TrimSpace(s))]; ok {
		return u
	}
	return strings.TrimSpace(s)
}

var kindUnit = map[string]string{sensorTemperature: "Cel", sensorFan: "RPM", sensorVoltage: "V", sensorCurrent: "A", sensorPower: "W"}

// sensorKind tells the kind by the unit first: XCC calls its power a "Current" in
// watts. "" is neither.
func sensorKind(readingType, unit string) string {
	switch unit {
	case "Cel":
		return sensorTemperature
	case "RPM":
		return sensorFan
	case "V":
		return sensorVoltage
	case "A":
		return sensorCurrent
	case "W":
		return sensorPower
	}
	switch readingType {
	case "Temperature":
		return sensorTemperature
	case "Rotational":
		return sensorFan
	case "Voltage":
		return sensorVoltage
	case "Current":
		return sensorCurrent
	case "Power":
		return sensorPower
	case "":
		if unit == "" {
			return ""
		}
	}
	return sensorOther
}

func (b redfishBody) temperature() BMCSensor {
	s := b.reading(sensorTemperature, "Cel")
	s.Reading = b.number("ReadingCelsius")
	return s.awake()
}

// awake drops what some BMCs show in place of a reading of what is not there: 0.
func (s BMCSensor) awake() BMCSensor {
	if s.asleep() {
		s.Reading = Opt[float64]{}
	}
	return s
}

func (b redfishBody) fanRow() BMCSensor {
	s := b.reading(sensorFan, sensorUnit(rawText(b.fields["ReadingUnits"])))
	if s.Reading = b.number("Reading"); !s.Reading.Set {
		s.Reading = b.number("ReadingRPM")
	}
	if s.Unit == "" {
		s.Unit = "RPM"
	}
	s.Context = "Fan"
	return s.awake()
}

// fan reads a Fan of the newer schema, whose speed a DGX H100 writes into the
// percentage too.
func (b redfishBody) fan() BMCSensor {
	s := b.reading(sensorFan, "RPM")
	s.Name, s.Context = firstWord(placeLabel(b), s.Name), "Fan"
	if s.Reading = b.number("SpeedPercent", "SpeedRPM"); !s.Reading.Set {
		s.Reading, s.Unit = b.number("SpeedPercent", "Reading"), "%"
	}
	return s.awake()
}

func (b redfishBody) excerpt() BMCSensor {
	s := b.reading(sensorTemperature, "Cel")
	s.Name = firstWord(b.text("DeviceName"), s.Name)
	s.Reading = b.number("Reading")
	return s
}

func (b redfishBody) voltage() BMCSensor {
	s := b.reading(sensorVoltage, "V")
	s.Reading = b.number("ReadingVolts")
	if !s.Reading.Set && s.Limits == (SensorLimits{}) { // a "power good" line (iDRAC)
		s.Kind, s.Unit = sensorState, ""
	}
	return s.awake()
}

func (b redfishBody) consumption() BMCSensor {
	s := b.reading(sensorPower, "W")
	s.Reading = b.number("PowerConsumedWatts")
	return s
}

func (b redfishBody) fanRedundancy() BMCSensor    { return b.redundancy("Fan") }
func (b redfishBody) supplyRedundancy() BMCSensor { return b.redundancy("PowerSupply") }

func (b redfishBody) redundancy(context string) BMCSensor {
	s := b.reading(sensorState, "")
	s.Name = firstWord(b.text("Name"), context+" redundancy")
	s.Context, s.Redundancy = context, true
	return s
}

// addSupplies takes the supplies of a Power. Where all bear one name they are
// numbered in the order of their bays (iLO 5).
func (c *sensorCollector) addSupplies(b redfishBody) {
	rows := b.rows("PowerSupplies")
	names := map[string]bool{}
	for _, r := range rows {
		names[r.text("Name")] = true
	}
	for i, r := range rows {
		n := 0
		if len(names) < len(rows) {
			n = i + 1
		}
		c.addSupply(r, n)
	}
}

// addSupply takes the state of a supply, and what it measures. n is its number
// where it has no name of its own.
func (c *sensorCollector) addSupply(b redfishBody, n int) {
	s := b.reading(sensorState, "")
	s.Name = firstWord(placeLabel(b), s.Name)
	if n > 0 {
		s.Name = fmt.Sprintf("PSU %d", n)
	}
	s.Context, s.Serial = "PowerSupply", b.text("SerialNumber")
	if line := b.text("LineInputStatus"); line != "" && line != "Normal" {
		s.States = []string{"input " + line}
	}
	for _, twin := range []string{s.Serial, strings.ToLower(s.Name)} {
		if c.supplies[twin] {
			return
		}
	}
	if c.supplies == nil {
		c.supplies = map[string]bool{}
	}
	c.supplies[strings.ToLower(s.Name)] = true
	if s.Serial != "" {
		c.supplies[s.Serial] = true
	}
	c.list = append(c.list, s)
	for _, m := range []struct{ field, what, kind string }{
		{"PowerInputWatts", " input", sensorPower}, {"PowerOutputWatts", " output", sensorPower}, {"LineInputVoltage", " input voltage", sensorVoltage},
	} {
		if v := b.number(m.field); v.Set {
			c.add(BMCSensor{Name: s.Name + m.what, Kind: m.kind, Unit: kindUnit[m.kind], Reading: v, Context: s.Context, source: b.uri})
		}
	}
}
