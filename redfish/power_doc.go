package redfish

import "fmt"

// powerDoc is the older body of a chassis with voltages, consumption and power
// supplies.
type powerDoc struct {
	Control    list[controlDoc]    `json:"PowerControl"`
	Voltages   list[rowDoc]        `json:"Voltages"`
	Supplies   list[supplyDoc]     `json:"PowerSupplies"`
	Redundancy list[redundancyDoc] `json:"Redundancy"`
}

type controlDoc struct {
	URI      link             `json:"@odata.id"`
	Name     text             `json:"Name"`
	Consumed number           `json:"PowerConsumedWatts"`
	Status   maybe[statusDoc] `json:"Status"`
}

func (d powerDoc) sensors(uri link) []Sensor {
	var out []Sensor
	for i, p := range d.Control {
		source := p.URI
		if source == "" {
			source = fragment(uri, "PowerControl", i)
		}
		if p.Consumed.ok {
			out = append(out, Sensor{
				Name: firstOf(string(p.Name), "power"), Kind: PowerDraw, Reading: p.Consumed.pointer(), Unit: "W",
				Health: p.Status.value.Health.clean(), State: p.Status.value.State.clean(), Source: string(source),
			})
		}
	}
	for i, v := range d.Voltages {
		s := v.sensor(Voltage, v.Volts, "V", fragment(uri, "Voltages", i))
		if s.Reading == nil && s.Thresholds == (Thresholds{}) { // iDRAC lists "power good" lines here
			s.Kind, s.Unit = Discrete, ""
		}
		out = append(out, s)
	}
	supplies := make([][]Sensor, len(d.Supplies))
	names := map[string]bool{}
	for i, p := range d.Supplies {
		source := p.ID
		if source == "" {
			source = fragment(uri, "PowerSupplies", i)
		}
		supplies[i] = p.sensors(source)
		names[supplies[i][0].Name] = true
	}
	for i, rows := range supplies {
		for _, s := range rows {
			if len(names) < len(supplies) { // iLO 5 calls each of them HpeServerPowerSupply, in the order of their bays
				s.Name = fmt.Sprintf("PSU %d", i+1) + s.Name[len(rows[0].Name):]
			}
			out = append(out, s)
		}
	}
	for i, r := range d.Redundancy {
		out = append(out, r.sensor("PowerSupply", fragment(uri, "Redundancy", i)))
	}
	return out
}

// powerSubsystemDoc is a PowerSubsystem.
type powerSubsystemDoc struct {
	Supplies   link                `json:"PowerSupplies"`
	Redundancy list[redundancyDoc] `json:"PowerSupplyRedundancy"`
}

// supplyDoc is one power supply, of either schema.
type supplyDoc struct {
	psuDoc
	Input  number `json:"PowerInputWatts"`
	Output number `json:"PowerOutputWatts"`
	Volts  number `json:"LineInputVoltage"`
	Line   text   `json:"LineInputStatus"`
}

// sensors are the supply's state, first, and what it measures.
func (d supplyDoc) sensors(source link) []Sensor {
	p := d.psu(source)
	state := Sensor{Name: p.Label, Kind: Discrete, Health: p.Health, State: p.State, Context: "PowerSupply", Source: string(source)}
	if line := d.Line.clean(); line != "" && line != "Normal" {
		state.States = []string{"input " + line}
	}
	out := []Sensor{state}
	for _, m := range []struct {
		what    string
		kind    SensorKind
		reading number
	}{{" input", PowerDraw, d.Input}, {" output", PowerDraw, d.Output}, {" input voltage", Voltage, d.Volts}} {
		if m.reading.ok {
			out = append(out, Sensor{
				Name: p.Label + m.what, Kind: m.kind, Reading: m.reading.pointer(), Unit: unitOfKind(m.kind), Context: "PowerSupply", Source: string(source),
			})
		}
	}
	return out
}
