package redfish

import (
	"fmt"
	"strings"
)

// sensorDoc is one Sensor.
type sensorDoc struct {
	URI        link                 `json:"@odata.id"`
	ID         text                 `json:"Id"`
	Name       text                 `json:"Name"`
	Type       text                 `json:"ReadingType"`
	Reading    number               `json:"Reading"`
	Units      text                 `json:"ReadingUnits"`
	Context    text                 `json:"PhysicalContext"`
	Status     maybe[statusDoc]     `json:"Status"`
	Thresholds maybe[thresholdsDoc] `json:"Thresholds"`
}

type thresholdDoc = maybe[struct {
	Reading number `json:"Reading"`
}]

type thresholdsDoc struct {
	UpperFatal    thresholdDoc `json:"UpperFatal"`
	UpperCritical thresholdDoc `json:"UpperCritical"`
	UpperCaution  thresholdDoc `json:"UpperCaution"`
	LowerCaution  thresholdDoc `json:"LowerCaution"`
	LowerCritical thresholdDoc `json:"LowerCritical"`
	LowerFatal    thresholdDoc `json:"LowerFatal"`
}

func (d sensorDoc) given() bool { return d.ID != "" || d.Name != "" }

func (d sensorDoc) sensor(uri link) Sensor {
	t := d.Thresholds.value
	s := Sensor{
		Name: firstOf(string(d.Name), uri.id()), Unit: unitOf(string(d.Units)), Reading: d.Reading.pointer(),
		Health: d.Status.value.Health.clean(), State: d.Status.value.State.clean(), Context: d.Context.clean(), Source: string(uri),
		Thresholds: Thresholds{
			UpperFatal: t.UpperFatal.value.Reading.pointer(), UpperCritical: t.UpperCritical.value.Reading.pointer(),
			UpperCaution: t.UpperCaution.value.Reading.pointer(), LowerCaution: t.LowerCaution.value.Reading.pointer(),
			LowerCritical: t.LowerCritical.value.Reading.pointer(), LowerFatal: t.LowerFatal.value.Reading.pointer(),
		}.apart(),
	}
	s.Kind = sensorKind(string(d.Type), s.Unit)
	// XCC shows its discrete sensors with a reading of 0, a type and no unit.
	if s.Kind == "" || s.Unit == "" && s.Kind != FanSpeed && d.Reading.ok && d.Reading.value == 0 {
		s.Kind, s.Reading, s.Unit = Discrete, nil, ""
		return s
	}
	if s.Unit == "" {
		s.Unit = unitOfKind(s.Kind)
	}
	return s
}

// pointer gives the number, or nil where it is absent.
func (n number) pointer() *float64 {
	if !n.ok {
		return nil
	}
	return &n.value
}

// units are spellings seen beside those of UCUM that the schema asks for.
var units = map[string]string{
	"c": "Cel", "cel": "Cel", "rpm": "RPM", "percent": "%", "%": "%", "v": "V", "volts": "V", "a": "A", "amps": "A", "w": "W", "watts": "W",
}

func unitOf(s string) string {
	if u, ok := units[strings.ToLower(s)]; ok {
		return u
	}
	return s
}

// sensorKind tells the kind by the unit first: XCC calls its power a "Current" in
// watts and its fans an "AirFlow" in RPM. No type and no unit is a state.
func sensorKind(readingType, unit string) SensorKind {
	switch unit {
	case "Cel":
		return Temperature
	case "RPM":
		return FanSpeed
	case "V":
		return Voltage
	case "A":
		return Current
	case "W":
		return PowerDraw
	}
	switch readingType {
	case "Temperature":
		return Temperature
	case "Rotational":
		return FanSpeed
	case "Voltage":
		return Voltage
	case "Current":
		return Current
	case "Power":
		return PowerDraw
	case "":
		if unit == "" {
			return ""
		}
	}
	return OtherSensor
}

func unitOfKind(k SensorKind) string {
	switch k {
	case Temperature:
		return "Cel"
	case FanSpeed:
		return "RPM"
	case Voltage:
		return "V"
	case Current:
		return "A"
	case PowerDraw:
		return "W"
	case Discrete, OtherSensor:
	}
	return ""
}

// fragment is the URI of a row inside a body.
func fragment(uri link, list string, i int) link { return link(fmt.Sprintf("%s#/%s/%d", uri, list, i)) }
