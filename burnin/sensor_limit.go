package burnin

import (
	"fmt"
	"math"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// observation is what one reading of one sensor says.
type observation struct {
	sensor  BMCSensor
	judged  bool // it could be read
	held    bool // and there was something to hold the reading against
	verdict Verdict
	why     string
	limit   Opt[float64]
	from    Provenance
	margin  sensorMargin
}

// observe judges one reading by the BMC's own limits and words, and by the least
// speed of a fan that the profile states.
func observe(s BMCSensor, p *profiles.Profile) observation {
	o := observation{sensor: s, from: Provenance{Kind: string(profiles.FromVendor), Source: "the BMC's own limit of this sensor"}}
	q := s.quantity()
	// A supply without input is shown as one that is off, and as Critical.
	lost := q == "supply" && s.Health == "Critical" && s.State != "Absent"
	if q == "" || s.asleep() && !lost {
		return o
	}
	if s.Kind == sensorState {
		return o.ofState(p)
	}
	if !s.Reading.Set {
		return o
	}
	o.judged, o.verdict = true, Pass
	limits := s.limits()
	o.held = limits != SensorLimits{} || s.Health != "" || s.Kind == sensorFan && p.Air.Fan.Set()
	o.against(limits)
	o.margin = marginOf(s)
	if o.verdict < Fail && s.Kind == sensorFan && p.Air.Fan.Set() && s.Reading.V < p.Air.Fan.Number(profiles.RPM) {
		o.verdict, o.limit = Fail, Opt[float64]{V: p.Air.Fan.Number(profiles.RPM), Set: true}
		o.from = Provenance{Kind: string(p.Air.Fan.Provenance), Source: p.Air.Fan.Source}
		o.why = fmt.Sprintf("%s stands still: %g %s", s.Name, s.Reading.V, s.Unit)
	}
	o.byHealth()
	return o
}

// limits are those of the BMC's limits that can be meant. An upper limit of 0 with no
// lower one is one that was never set: whatever is warm, turns or draws power is over it.
func (s BMCSensor) limits() SensorLimits {
	l := s.Limits.apart()
	if s.Kind != sensorTemperature && s.Kind != sensorFan && s.Kind != sensorPower {
		return l
	}
	for _, pair := range []struct{ upper, lower *Opt[float64] }{
		{&l.UpperFatal, &l.LowerFatal}, {&l.UpperCritical, &l.LowerCritical}, {&l.UpperCaution, &l.LowerCaution},
	} {
		if pair.upper.Set && pair.upper.V == 0 && !pair.lower.Set {
			*pair.upper = Opt[float64]{}
		}
	}
	return l
}

// or gives the limits that were known before where a short reading leaves them out, and
// makes those that it states known.
func (l SensorLimits) or(known *SensorLimits) SensorLimits {
	if l == (SensorLimits{}) {
		return *known
	}
	*known = l
	return l
}

// apart drops pairs of limits between which no reading fits: some BMCs show 0 for
// limits that are not set.
func (l SensorLimits) apart() SensorLimits {
	for _, pair := range []struct{ upper, lower *Opt[float64] }{
		{&l.UpperFatal, &l.LowerFatal}, {&l.UpperCritical, &l.LowerCritical}, {&l.UpperCaution, &l.LowerCaution},
	} {
		if pair.upper.Set && pair.lower.Set && pair.upper.V <= pair.lower.V {
			*pair.upper, *pair.lower = Opt[float64]{}, Opt[float64]{}
		}
	}
	return l
}

// against compares a reading with the BMC's limits: the critical ones fail, the
// caution ones warn.
func (o *observation) against(l SensorLimits) {
	v := o.sensor.Reading.V
	for _, c := range []struct {
		limit   Opt[float64]
		crossed bool
		verdict Verdict
		what    string
	}{
		{l.UpperFatal, l.UpperFatal.Set && v >= l.UpperFatal.V, Fail, "at or over the BMC's fatal limit"},
		{l.UpperCritical, l.UpperCritical.Set && v >= l.UpperCritical.V, Fail, "at or over the BMC's critical limit"},
		{l.LowerFatal, l.LowerFatal.Set && v <= l.LowerFatal.V, Fail, "at or under the BMC's fatal limit"},
		{l.LowerCritical, l.LowerCritical.Set && v <= l.LowerCritical.V, Fail, "at or under the BMC's critical limit"},
		{l.UpperCaution, l.UpperCaution.Set && v >= l.UpperCaution.V, Warn, "at or over the BMC's warning limit"},
		{l.LowerCaution, l.LowerCaution.Set && v <= l.LowerCaution.V, Warn, "at or under the BMC's warning limit"},
	} {
		if c.crossed && c.verdict > o.verdict {
			o.verdict, o.limit = c.verdict, c.limit
			o.why = fmt.Sprintf("%s: %g %s, %s of %g %s", o.sensor.Name, v, o.sensor.Unit, c.what, c.limit.V, o.sensor.Unit)
		}
	}
}

// byHealth takes the BMC's own word where it is the worse one.
func (o *observation) byHealth() {
	s := o.sensor
	verdict := map[string]Verdict{"Critical": Fail, "Warning": Warn}[s.Health]
	if verdict <= o.verdict {
		return
	}
	o.verdict = verdict
	o.why = fmt.Sprintf("the BMC rates %s as %s", s.Name, s.Health)
	if s.Reading.Set {
		o.why += fmt.Sprintf(" at %g %s", s.Reading.V, s.Unit)
	}
	if len(s.States) > 0 {
		o.why += ": " + strings.Join(s.States, ", ")
	}
}

// stateWords are what IPMI calls the sensors of a class, so that a state that stands
// alone ("Failure detected") is read as one of that class.
var stateWords = map[Class]string{ClassPSU: "power supply", ClassFan: "fan", ClassDIMM: "memory", ClassCPU: "processor"}

// ofState judges a sensor that has states only.
func (o observation) ofState(p *profiles.Profile) observation {
	s := o.sensor
	if s.Health == "" && s.State == "" && len(s.States) == 0 {
		return o
	}
	o.judged, o.held, o.verdict = true, true, Pass
	class := bmcClass(s.Name, s.Context, p)
	for _, state := range s.States {
		name, rule, ok := p.EventOf(strings.Join([]string{stateWords[class], s.Name, state}, " "))
		verdict := eventVerdicts[rule.Verdict]
		// What is unknown of a log is for the check of the log: a BMC goes on showing
		// that it was cleared once.
		if !ok || verdict == Unknown || verdict <= o.verdict {
			continue
		}
		o.verdict, o.why = verdict, fmt.Sprintf("%s says %q", s.Name, state)
		o.from = Provenance{Kind: string(profiles.FromSpec), Source: "events " + name + ": " + rule.Source}
	}
	o.byHealth()
	if s.Redundancy && o.verdict == Warn { // what the BMC rates as a warning is that redundancy is lost
		o.verdict = Fail
	}
	return o
}

// eventVerdicts are the verdicts of a rule for a state that is so now. Corrected
// errors are counted by the log.
var eventVerdicts = map[string]Verdict{"fail": Fail, "warn": Warn, "unknown": Unknown, "pass": Pass, profiles.Corrected: Warn}

// state is the BMC's word of why a sensor is not read.
func (o observation) state() string {
	if o.sensor.State == "" {
		return ""
	}
	return " (" + o.sensor.State + ")"
}

// sensorMargin is how near a reading came to a critical limit.
type sensorMargin struct {
	set   bool
	left  float64 // share of the limit that was left
	limit float64
	upper bool
	of    BMCSensor
}

func marginOf(s BMCSensor) sensorMargin {
	l := s.limits()
	var nearest sensorMargin
	for _, c := range []struct {
		limit Opt[float64]
		upper bool
	}{{l.UpperCritical, true}, {l.UpperFatal, true}, {l.LowerCritical, false}, {l.LowerFatal, false}} {
		if !c.limit.Set {
			continue
		}
		away := c.limit.V - s.Reading.V
		if !c.upper {
			away = -away
		}
		nearest = nearest.closer(sensorMargin{set: true, left: away / max(math.Abs(c.limit.V), 1), limit: c.limit.V, upper: c.upper, of: s})
	}
	return nearest
}

func (m sensorMargin) closer(o sensorMargin) sensorMargin {
	if o.set && (!m.set || o.left < m.left) {
		return o
	}
	return m
}

func (m sensorMargin) String() string {
	if !m.set {
		return ""
	}
	return fmt.Sprintf("; nearest to its limit: %s at %g of %g %s", m.of.Name, m.of.Reading.V, m.limit, m.of.Unit)
}

// findingUnits are the units of findings, which profiles spell their own way.
var findingUnits = map[string]profiles.Unit{"Cel": profiles.Celsius, "RPM": profiles.RPM, "W": profiles.Watt, "V": profiles.Volt, "%": profiles.Percent}

func (s BMCSensor) findingUnit() string { return firstWord(string(findingUnits[s.Unit]), s.Unit) }
