package burnin

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// sensorWatch follows every sensor over all readings of an attempt.
type sensorWatch struct {
	readings []sensorMoment // that could be used, in their order
	refs     []string
	order    []string // keys of tracks, as the sensors were first listed
	tracks   map[string]*sensorTrack
	open     error // why sensors in order prove nothing, or nil
}

// sensorMoment is one reading of all sensors.
type sensorMoment struct {
	ref string
	set SensorSet
}

// sensorTrack is one sensor over the readings.
type sensorTrack struct {
	sensor    BMCSensor // as in its worst reading
	judged    bool      // at least once it could be read
	held      bool      // and there was something to hold the reading against
	verdict   Verdict
	why       string
	ref       string
	worst     Opt[float64] // reading at that
	limit     Opt[float64]
	limitFrom Provenance
	margin    sensorMargin
	high      float64 // the highest reading
	first     int     // reading in which it was first read
	last      int     // reading in which it was last read
	lost      string  // how it is gone at the end
	limits    SensorLimits
	failing   int // how many of the next readings confirm that it is out of limits
}

// watchSensors reads all phases and samples. Readings before and after a load belong
// together, and at least one of a longer load is of the load itself.
func watchSensors(r *Readings, p *profiles.Profile) *sensorWatch {
	w := &sensorWatch{tracks: map[string]*sensorTrack{}}
	full := phaseReadings(r, BMCSensors)
	if len(full) == 0 {
		w.open = fmt.Errorf("bmc-sensors: %w", ErrNotRun)
	}
	underLoad := false
	for _, reading := range full {
		if reading.Evidence != nil {
			w.refs = append(w.refs, reading.Ref)
		}
		if !reading.OK() {
			w.open = errors.Join(w.open, reading.Err)
			continue
		}
		w.open = errors.Join(w.open, reading.Value.Missing)
		w.readings = append(w.readings, sensorMoment{reading.Ref, reading.Value})
		if reading.Evidence.Phase == PhaseLoad {
			underLoad = true
			w.addSamples(r)
		}
	}
	// A load that was shorter than the time between two readings may end without one.
	long := r.loaded() && loadedSeconds(r.rec) >= sourceEvery.Seconds()
	if !underLoad && len(full) > 0 && w.addSamples(r) == 0 && long {
		w.open = errors.Join(w.open, errors.New("no reading of the sensors was taken under load"))
	}
	for i := range w.readings {
		w.take(i, p)
	}
	w.findLost()
	return w
}

// addSamples adds the readings that were taken while the load ran. One that failed
// is no loss among many.
func (w *sensorWatch) addSamples(r *Readings) (taken int) {
	e := r.find(PhaseLoad, BMCSensors.Spec.Name, "")
	if e == nil || len(e.Samples) == 0 {
		return 0
	}
	samples, err := Samples(r, BMCSensors)
	if err != nil {
		return 0
	}
	for _, s := range samples {
		if s.Err == nil {
			w.readings = append(w.readings, sensorMoment{e.Ref(), s.Value})
			taken++
		}
	}
	return taken
}

// take judges the sensors of one reading.
func (w *sensorWatch) take(i int, p *profiles.Profile) {
	for key, s := range keyed(w.readings[i].set.Sensors) {
		t := w.tracks[key]
		if t == nil {
			t = &sensorTrack{sensor: s, first: -1, last: -1}
			w.tracks[key] = t
			w.order = append(w.order, key)
		}
		t.take(s, i, w.readings[i], p)
	}
}

func (t *sensorTrack) take(s BMCSensor, at int, m sensorMoment, p *profiles.Profile) {
	if m.set.Short {
		s.Limits = s.Limits.or(&t.limits)
	} else {
		t.limits = s.Limits
	}
	o := observe(s, p)
	t.doubt(&o, m.set.Short)
	if !o.judged {
		if t.judged && t.lost == "" {
			t.lost = "now gives no reading" + o.state()
		}
		return
	}
	if !t.judged {
		t.first, t.high = at, s.Reading.V
	}
	t.judged, t.last, t.lost = true, at, ""
	t.held = t.held || o.held
	t.high = max(t.high, s.Reading.V)
	if o.verdict == Pass {
		t.margin = t.margin.closer(o.margin)
	}
	worse := o.verdict > t.verdict
	further := o.verdict == t.verdict && s.Kind == sensorTemperature && s.Reading.V > t.worst.V
	if worse || further {
		t.sensor, t.verdict, t.why, t.ref, t.worst, t.limit, t.limitFrom = s, o.verdict, o.why, m.ref, s.Reading, o.limit, o.from
	}
}

// confirmedIn is within how many readings behind the first a second one out of limits
// confirms it. One that gives no figure is none of them.
const confirmedIn = 2

// doubt takes a figure that one short reading alone shows for a remark: read once a
// second for days, the bus of a healthy BMC misreads now and then. Two in a row, two with
// a good one between, or a whole reading, count.
func (t *sensorTrack) doubt(o *observation, short bool) {
	switch {
	case !o.judged:
	case o.verdict != Fail:
		t.failing = max(t.failing-1, 0)
	default:
		if short && o.sensor.Kind != sensorState && t.failing == 0 {
			o.verdict, o.why = Warn, o.why+", in one short reading alone"
		}
		t.failing = confirmedIn
	}
}

// findLost marks the sensors that the last reading no longer lists. A fan or a
// supply that is no longer there is not only unread.
func (w *sensorWatch) findLost() {
	end := w.lastWhole()
	for _, t := range w.tracks {
		if !t.judged || t.last >= end && t.lost == "" {
			continue
		}
		if t.lost == "" {
			t.lost = "is not listed at the end"
		}
		q := t.sensor.quantity()
		if (q == "fan" || q == "supply") && strings.Contains(t.lost, "Absent") && t.verdict < Fail {
			t.verdict, t.why, t.ref = Fail, t.sensor.Name+" was there, and is gone at the end", w.readings[end].ref
			t.worst, t.limit = Opt[float64]{}, Opt[float64]{}
		}
	}
}

// lastWhole is the last reading that lists all there is; a short one leaves sensors out.
func (w *sensorWatch) lastWhole() int {
	for i := len(w.readings) - 1; i > 0; i-- {
		if !w.readings[i].set.Short {
			return i
		}
	}
	return 0
}

var noInlet = regexp.MustCompile(`(?i)gpu|psu|p/s|power`)

// inletTrack is the sensor at which air comes in: of those that are called so, the
// coolest, since some boards have a second one behind the fans.
func (w *sensorWatch) inletTrack() *sensorTrack {
	var found *sensorTrack
	for _, key := range w.order {
		t := w.tracks[key]
		s := t.sensor
		if s.Kind != sensorTemperature || !t.judged || !bmcClasses[len(bmcClasses)-1].form.MatchString(s.Name) || noInlet.MatchString(s.Name) {
			continue
		}
		if found == nil || t.high < found.high {
			found = t
		}
	}
	return found
}
