package burnin

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// heldSource are the samples of one source while the load runs. They are appended to a
// file beside what streams off the node, from which another process of the same run
// goes on: hundreds of machines under load hold no readings in memory.
type heldSource struct {
	first *Evidence // the first reading, without what it printed
	file  string
	thin  thinner
}

func newHeld(r *loadRun, e *Evidence) (*heldSource, error) {
	first := *e
	first.Out, first.Err, first.Samples = nil, nil, nil
	h := &heldSource{
		first: &first, file: filepath.Join(r.stream.dir, "."+e.Name()),
		thin: thinner{profile: r.node.profile(), every: r.span / watchReadings, turns: maxTurns, peaks: maxPeaks},
	}
	return h, h.mend()
}

// mend cuts off what a process that was killed left of its last reading.
func (h *heldSource) mend() error {
	b, err := os.ReadFile(h.file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	whole := 0
	for err == nil && whole < len(b) {
		_, n, bad := nextSample(b[whole:])
		if bad != nil {
			err = os.Truncate(h.file, int64(whole))
			break
		}
		whole += n
	}
	if err != nil {
		return fmt.Errorf("go on with the readings under load: %w", err)
	}
	return nil
}

func (h *heldSource) add(e *Evidence) error {
	s := Sample{At: e.Started.UTC(), Out: e.Out}
	set, err := BMCSensors.Parse(e)
	if e.Probe != BMCSensors.Spec.Name || err != nil {
		set = SensorSet{}
	}
	var b bytes.Buffer
	if err := FormatSamples(&b, h.thin.take(s, set)); err != nil || b.Len() == 0 {
		return err
	}
	f, err := os.OpenFile(h.file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("keep a reading under load: %w", err)
	}
	_, err = f.Write(b.Bytes())
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("keep a reading under load: %w", err)
	}
	return nil
}

// store joins the samples with their evidence. Where no whole reading was taken, the
// samples are all there is.
func (h *heldSource) store(s *Store) error {
	raw, err := os.ReadFile(h.file)
	if err != nil || len(raw) == 0 {
		return nil // nothing was kept
	}
	samples, err := ParseSamples(raw)
	if err != nil {
		return fmt.Errorf("readings under load: %w", err)
	}
	e, err := s.evidence(PhaseLoad, h.first.Name())
	if err != nil {
		return err
	}
	if e == nil {
		e = h.first
	}
	e.Samples = samples
	return s.Add(e)
}

const (
	// watchReadings is how many readings of a source are kept of a load, evenly spread.
	// Those in which something turned or went further than ever are kept beside them, of
	// each so many at most: what flutters for three days is proven by less.
	watchReadings = 3600
	maxTurns      = 2000
	maxPeaks      = 1000
)

// thinner chooses the readings that are kept: whole ones, one in each interval, those
// in which a sensor changed its state or crossed a limit (with the ones before and
// after it), and those in which it was higher or lower than ever.
type thinner struct {
	profile *profiles.Profile
	every   time.Duration
	turns   int // that may still be kept
	peaks   int
	kept    time.Time
	before  *Sample // the latest, where it was not kept
	after   bool    // the latest was a turn
	tracks  map[string]*thinTrack
	sizes   map[bool]int // sensors in the latest reading, by whether it was short
}

// thinTrack is what is known of one sensor.
type thinTrack struct {
	word      string // its state, and where it stands to its limits
	limits    SensorLimits
	low, high Opt[float64]
}

// stretch reports whether a reading lies beyond all earlier ones.
func (t *thinTrack) stretch(v Opt[float64]) bool {
	beyond := t.low.Set && (v.V < t.low.V || v.V > t.high.V)
	if !t.low.Set || v.V < t.low.V {
		t.low = v
	}
	if !t.high.Set || v.V > t.high.V {
		t.high = v
	}
	return beyond
}

// take says what is to be kept now.
func (t *thinner) take(s Sample, set SensorSet) []Sample {
	turned, peaked := t.compare(set)
	// The one after a turn is kept too: a glitch is told from a fault by it.
	turned, t.after = (turned || t.after) && t.turns > 0, turned
	peaked = peaked && t.peaks > 0
	if set.Short && s.At.Sub(t.kept) < t.every {
		switch {
		case turned:
			t.turns--
		case peaked:
			t.peaks--
		default:
			t.before = &s
			return nil
		}
	}
	var keep []Sample
	if turned && t.before != nil {
		keep = append(keep, *t.before)
	}
	t.before, t.kept = nil, s.At
	return append(keep, s)
}

// compare notes a reading, and says whether a sensor turned in it or went further
// than ever.
func (t *thinner) compare(set SensorSet) (turned, peaked bool) {
	if t.tracks == nil {
		t.tracks, t.sizes = map[string]*thinTrack{}, map[bool]int{}
	}
	for key, s := range keyed(set.Sensors) {
		track := t.tracks[key]
		if track == nil {
			track = &thinTrack{}
			t.tracks[key] = track
		}
		if set.Short {
			s.Limits = s.Limits.or(&track.limits)
		}
		o := observe(s, t.profile)
		word := fmt.Sprint(s.State, s.Health, s.States, s.Reading.Set, o.verdict)
		turned = turned || track.word != "" && track.word != word
		track.word = word
		if s.Reading.Set && s.Kind != sensorOther {
			peaked = track.stretch(s.Reading) || peaked
		}
	}
	n := t.sizes[set.Short]
	turned = turned || n > 0 && n != len(set.Sensors)
	t.sizes[set.Short] = len(set.Sensors)
	return turned, peaked
}
