package burnin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// bmcSensors asks whether what the BMC measures stayed within the BMC's own limits,
// idle, under load and after it, and whether its fans turn and its power supplies
// have power. Of all readings the worst counts.
var bmcSensors = Check{
	Name:   "bmc.sensors",
	Title:  "Temperatures, fans, voltages and power supplies stayed within the BMC's limits",
	Probes: []string{"bmc-sensors"},
	BMC:    true,
	Judge:  judgeBMCSensors,
}

func judgeBMCSensors(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	const check = "bmc.sensors"
	w := watchSensors(r, p)
	if len(w.readings) == 0 {
		return []Finding{About(check, "all", machinePart, w.refs...).Missing(w.open)}
	}
	var out []Finding
	for _, kind := range sensorQuantities {
		out = append(out, w.judgeKind(r, kind, p)...)
	}
	if len(out) == 0 {
		return []Finding{About(check, "all", machinePart, w.refs...).Missing(errors.New("the BMC lists sensors, and none of them can be read"))}
	}
	out = append(out, w.vanished(r, p)...)
	if f, ok := w.inlet(p); ok {
		out = append(out, f)
	}
	return out
}

// sensorQuantities are the quantities of the check, in the order of a report.
var sensorQuantities = []string{"temperature", "fan", "supply", "redundancy", "voltage", "current", "power", "state"}

// quantity is the question to which a sensor's reading belongs; "" is none.
func (s BMCSensor) quantity() string {
	switch s.Kind {
	case sensorTemperature, sensorFan, sensorVoltage, sensorCurrent, sensorPower:
		return s.Kind
	case sensorState:
		switch {
		case s.Redundancy:
			return "redundancy"
		case s.Context == "PowerSupply" || s.Context == "" && bmcClasses[1].form.MatchString(s.Name):
			return "supply"
		}
		return "state"
	}
	return ""
}

// judgeKind answers one question: a finding for each sensor that is out of limits,
// and one for all others.
func (w *sensorWatch) judgeKind(r *Readings, quantity string, p *profiles.Profile) []Finding {
	var out []Finding
	judged, bare, closest := 0, 0, sensorMargin{}
	for _, key := range w.order {
		track := w.tracks[key]
		if track.sensor.quantity() != quantity || !track.judged {
			continue
		}
		if !track.held && track.verdict == Pass {
			bare++
			continue
		}
		judged++
		if track.verdict > Pass {
			out = append(out, w.finding(r, quantity, track, p))
		} else {
			closest = closest.closer(track.margin)
		}
	}
	f := About("bmc.sensors", quantity, machinePart, w.refs...)
	if judged == 0 {
		return f.ofBare(bare, quantity)
	}
	f.Measured, f.Unit = float64(judged-len(out)), string(profiles.Count)
	switch {
	case w.open != nil:
		f = f.Missing(w.open)
	case len(out) < judged:
		if closest.set { // the one that came nearest to its limit stands for all
			f.Measured, f.Limit, f.Unit = closest.of.Reading.V, closest.limit, closest.of.findingUnit()
			f.Relation = map[bool]string{true: string(profiles.Max), false: string(profiles.Min)}[closest.upper]
		}
		f = f.Judged(Pass, fmt.Sprintf("%d of %d in order over %d readings%s", judged-len(out), judged, len(w.readings), closest))
	default:
		return out
	}
	return append(out, f)
}

// ofBare is the answer where no sensor of a kind has a limit, and the BMC rates none.
// What must have been watched is open; what few BMCs rate is recorded.
func (f Finding) ofBare(bare int, quantity string) []Finding {
	switch {
	case bare == 0:
		return nil
	case quantity == sensorTemperature || quantity == sensorFan:
		return []Finding{f.Missing(fmt.Errorf("the BMC shows %d, without a limit of any, and rates none of them", bare))}
	}
	f.Measured, f.Unit = float64(bare), string(profiles.Count)
	return []Finding{f.recorded()}
}

// finding names the part of a sensor that is out of limits.
func (w *sensorWatch) finding(r *Readings, quantity string, t *sensorTrack, p *profiles.Profile) Finding {
	s := t.sensor
	class := bmcClass(s.Name, s.Context, p)
	if quantity == "redundancy" && s.Context == "Fan" {
		class = ClassFan
	} else if quantity == "redundancy" || quantity == "supply" {
		class = ClassPSU
	}
	part := bmcPart(r, class, s.Name, s.Name)
	if s.Serial != "" {
		part.Serial = s.Serial
	}
	f := About("bmc.sensors", quantity, part, t.ref)
	f.ID = strings.Join([]string{"bmc.sensors", quantity, part.Name, s.Name}, "/") // one part has several sensors
	f.Provenance = &t.limitFrom
	if t.worst.Set {
		f.Measured, f.Unit = t.worst.V, s.findingUnit()
	} else {
		f.Measured = firstWord(strings.Join(append([]string{s.Health}, s.States...), ", "), s.State)
	}
	if t.limit.Set {
		f.Limit = t.limit.V
	}
	return f.Judged(t.verdict, t.why)
}

// inlet judges the air that the machine takes in against the profile.
func (w *sensorWatch) inlet(p *profiles.Profile) (Finding, bool) {
	if !p.Air.Inlet.Set() {
		return Finding{}, false
	}
	f := About("bmc.sensors", "inlet", Part{Class: ClassAir, Name: "inlet"}, w.refs...)
	at := w.inletTrack()
	if at == nil {
		return f.Missing(errors.New("the BMC shows no temperature of the inlet")), true
	}
	return f.Number(at.high, profiles.Celsius, p.Air.Inlet).Because("%s was %g C at most", at.sensor.Name, at.high), true
}

// vanished names the sensors that were read once and are no longer listed, or give
// no reading though their part is there.
func (w *sensorWatch) vanished(r *Readings, p *profiles.Profile) []Finding {
	var out []Finding
	for _, key := range w.order {
		t := w.tracks[key]
		if t.lost == "" || t.verdict > Warn {
			continue
		}
		s := t.sensor
		part := bmcPart(r, bmcClass(s.Name, s.Context, p), s.Name, s.Name)
		f := About("bmc.sensors", "readable", part, w.refs...)
		f.ID = strings.Join([]string{"bmc.sensors", "readable", part.Name, s.Name}, "/")
		out = append(out, f.Missing(fmt.Errorf("%s was read at first, and %s", s.Name, t.lost)))
	}
	return out
}
