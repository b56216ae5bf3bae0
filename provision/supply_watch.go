package provision

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/redfish"
)

// supplyWatch looks in the readings of one burn-in for what concerns more than the machine:
// the feeds and the air. One reading may be wrong, so two in a row count.
type supplyWatch struct {
	redundant bool // it was seen so in this burn-in: what was lost before is the checks' matter
	lost      int  // readings in a row
	hot       int
	inlet     string // the last word about the air
	told      bool
}

const supplyReadings = 2

// see takes one reading.
func (w *supplyWatch) see(list []redfish.Sensor, p *profiles.Profile) {
	switch redundancy(list) {
	case "OK":
		w.redundant, w.lost = true, 0
	case "Warning", "Critical":
		if w.redundant {
			w.lost++
		}
	}
	w.inlet = overInlet(list, p)
	if w.inlet == "" {
		w.hot = 0
		return
	}
	w.hot++
}

// failed says once what has happened; "" = nothing, or it was said.
func (w *supplyWatch) failed() string {
	what := ""
	switch {
	case w.told:
	case w.lost >= supplyReadings:
		what = "its power supplies lost their redundancy"
	case w.hot >= supplyReadings:
		what = w.inlet
	}
	w.told = w.told || what != ""
	return what
}

// redundancy is the BMC's word of its power supplies as a set; "" where it has none.
func redundancy(list []redfish.Sensor) string {
	for _, s := range list {
		if s.Kind != redfish.Discrete || s.Context != "PowerSupply" || !strings.Contains(strings.ToLower(s.Name+s.Source), "redundancy") {
			continue
		}
		if s.Health != "" {
			return s.Health
		}
	}
	return ""
}

var (
	inletName = regexp.MustCompile(`(?i)inlet|ambient|intake`)
	noInlet   = regexp.MustCompile(`(?i)gpu|psu|p/s|power`)
)

// overInlet says where the air that comes in is over the BMC's critical limit, or over the
// profile's.
func overInlet(list []redfish.Sensor, p *profiles.Profile) string {
	s, ok := inletOf(list)
	if !ok {
		return ""
	}
	for _, limit := range []*float64{s.Thresholds.UpperCritical, s.Thresholds.UpperFatal} {
		if limit != nil && *s.Reading >= *limit {
			return fmt.Sprintf("%s is %g C, and its BMC's limit is %g C", s.Name, *s.Reading, *limit)
		}
	}
	if p != nil && p.Air.Inlet.Set() && p.Air.Inlet.Relation == profiles.Max {
		if limit := p.Air.Inlet.Number(profiles.Celsius); *s.Reading > limit {
			return fmt.Sprintf("%s is %g C, and its profile's limit is %g C", s.Name, *s.Reading, limit)
		}
	}
	return ""
}

// inletOf is the sensor of the air that comes in: of several the coolest, since some
// boards have one behind the fans.
func inletOf(list []redfish.Sensor) (found redfish.Sensor, ok bool) {
	for _, s := range list {
		if s.Kind != redfish.Temperature || s.Reading == nil || !inletName.MatchString(s.Name) || noInlet.MatchString(s.Name) {
			continue
		}
		if !ok || *s.Reading < *found.Reading {
			found, ok = s, true
		}
	}
	return found, ok
}
