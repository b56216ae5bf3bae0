package redfish

import "strings"

// rowDoc is a row of Thermal or Power: a temperature, a fan or a voltage.
type rowDoc struct {
	URI     link             `json:"@odata.id"`
	Name    text             `json:"Name"`
	Fan     text             `json:"FanName"`
	Member  text             `json:"MemberId"`
	Celsius number           `json:"ReadingCelsius"`
	Volts   number           `json:"ReadingVolts"`
	Reading number           `json:"Reading"`
	RPM     number           `json:"ReadingRPM"` // of fans in the oldest schema
	Units   text             `json:"ReadingUnits"`
	Context text             `json:"PhysicalContext"`
	Status  maybe[statusDoc] `json:"Status"`

	UpperFatal    number `json:"UpperThresholdFatal"`
	UpperCritical number `json:"UpperThresholdCritical"`
	UpperCaution  number `json:"UpperThresholdNonCritical"`
	LowerCaution  number `json:"LowerThresholdNonCritical"`
	LowerCritical number `json:"LowerThresholdCritical"`
	LowerFatal    number `json:"LowerThresholdFatal"`
}

func (r rowDoc) sensor(kind SensorKind, reading number, unit string, source link) Sensor {
	if r.URI != "" {
		source = r.URI
	}
	s := Sensor{
		Name: firstOf(string(r.Name), string(r.Fan), string(r.Member), source.id()), Kind: kind, Reading: reading.pointer(), Unit: unit,
		Health: r.Status.value.Health.clean(), State: r.Status.value.State.clean(), Context: r.Context.clean(), Source: string(source),
		Thresholds: Thresholds{
			UpperFatal: r.UpperFatal.pointer(), UpperCritical: r.UpperCritical.pointer(), UpperCaution: r.UpperCaution.pointer(),
			LowerCaution: r.LowerCaution.pointer(), LowerCritical: r.LowerCritical.pointer(), LowerFatal: r.LowerFatal.pointer(),
		}.apart(),
	}
	if s.State == "Absent" { // iLO 5 and the X10 show 0 for what is not there
		s.Reading = nil
	}
	return s
}

// apart drops pairs of limits between which no reading fits: the X10 shows 0 for
// limits that are not set.
func (t Thresholds) apart() Thresholds {
	for _, pair := range []struct{ upper, lower **float64 }{
		{&t.UpperFatal, &t.LowerFatal}, {&t.UpperCritical, &t.LowerCritical}, {&t.UpperCaution, &t.LowerCaution},
	} {
		if *pair.upper != nil && *pair.lower != nil && **pair.upper <= **pair.lower {
			*pair.upper, *pair.lower = nil, nil
		}
	}
	return t
}

// thermalDoc is the older body of a chassis with all temperatures and fans.
type thermalDoc struct {
	Temperatures list[rowDoc]        `json:"Temperatures"`
	Fans         list[rowDoc]        `json:"Fans"`
	Redundancy   list[redundancyDoc] `json:"Redundancy"`
}

func (d thermalDoc) sensors(uri link) []Sensor {
	var out []Sensor
	for i, r := range d.Temperatures {
		out = append(out, r.sensor(Temperature, r.Celsius, "Cel", fragment(uri, "Temperatures", i)))
	}
	for i, r := range d.Fans {
		out = append(out, r.fan(fragment(uri, "Fans", i)))
	}
	for i, r := range d.Redundancy {
		out = append(out, r.sensor("Fan", fragment(uri, "Redundancy", i)))
	}
	return out
}

func (r rowDoc) fan(source link) Sensor {
	reading, unit := r.Reading, unitOf(string(r.Units))
	if !reading.ok && r.RPM.ok {
		reading, unit = r.RPM, "RPM"
	}
	if unit == "" {
		unit = "RPM" // the schema's default
	}
	s := r.sensor(FanSpeed, reading, unit, source)
	if s.Context == "" || strings.EqualFold(s.Context, "SystemBoard") {
		s.Context = "Fan"
	}
	return s
}

// redundancyDoc is a set of fans or supplies that stand in for each other.
type redundancyDoc struct {
	Name   text             `json:"Name"`
	Mode   text             `json:"Mode"`
	Type   text             `json:"RedundancyType"`
	Status maybe[statusDoc] `json:"Status"`
}

func (r redundancyDoc) sensor(context string, source link) Sensor {
	return Sensor{
		Name: firstOf(string(r.Name), context+" redundancy"), Kind: Discrete, Health: r.Status.value.Health.clean(), State: r.Status.value.State.clean(),
		Context: context, Source: string(source),
	}
}

// coolingDoc is a ThermalSubsystem.
type coolingDoc struct {
	Fans    link `json:"Fans"`
	Metrics link `json:"ThermalMetrics"`
}

type fanDoc struct {
	hardware
	Context text `json:"PhysicalContext"`
	Speed   maybe[struct {
		Percent number `json:"Reading"`
		RPM     number `json:"SpeedRPM"`
	}] `json:"SpeedPercent"`
}

func (d fanDoc) sensor(uri link) Sensor {
	p := d.part(uri)
	s := Sensor{Name: firstOf(p.Label, p.Name), Kind: FanSpeed, Health: p.Health, State: p.State, Context: "Fan", Source: string(uri)}
	// A DGX H100 writes revolutions into the percentage too.
	if s.Reading, s.Unit = d.Speed.value.RPM.pointer(), "RPM"; s.Reading == nil {
		s.Reading, s.Unit = d.Speed.value.Percent.pointer(), "%"
	}
	return s
}

// excerptDoc is a copy of a sensor's reading.
type excerptDoc struct {
	From    link   `json:"DataSourceUri"`
	Name    text   `json:"DeviceName"`
	Context text   `json:"PhysicalContext"`
	Reading number `json:"Reading"`
}

func (d excerptDoc) sensor(kind SensorKind, name string, source link) Sensor {
	if d.From != "" {
		source = d.From
	}
	return Sensor{
		Name: firstOf(string(d.Name), d.From.id(), name), Kind: kind, Reading: d.Reading.pointer(), Unit: unitOfKind(kind),
		Context: d.Context.clean(), Source: string(source),
	}
}

type thermalMetricsDoc struct {
	Temperatures list[excerptDoc] `json:"TemperatureReadingsCelsius"`
}

func (d thermalMetricsDoc) sensors(uri link) []Sensor {
	var out []Sensor
	for i, r := range d.Temperatures {
		out = append(out, r.sensor(Temperature, "temperature", fragment(uri, "TemperatureReadingsCelsius", i)))
	}
	return out
}

// environmentDoc is the EnvironmentMetrics of a chassis.
type environmentDoc struct {
	Temperature maybe[excerptDoc] `json:"TemperatureCelsius"`
	Power       maybe[excerptDoc] `json:"PowerWatts"`
	Fans        list[excerptDoc]  `json:"FanSpeedsPercent"`
}

func (d environmentDoc) sensors(uri link) []Sensor {
	var out []Sensor
	if d.Temperature.ok {
		out = append(out, d.Temperature.value.sensor(Temperature, "temperature", uri+"#/TemperatureCelsius"))
	}
	if d.Power.ok {
		out = append(out, d.Power.value.sensor(PowerDraw, "power", uri+"#/PowerWatts"))
	}
	for i, r := range d.Fans {
		s := r.sensor(FanSpeed, "fan", fragment(uri, "FanSpeedsPercent", i))
		s.Context = "Fan"
		if s.Unit = "%"; r.Reading.value > 100 { // XCC writes revolutions there
			s.Unit = "RPM"
		}
		out = append(out, s)
	}
	return out
}
