package burnin

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/rackproof/rackproof/profiles"
)

// Readings gives checks the parsed output of probes, and says why one is absent.
// Each output is parsed once. Safe for concurrent use.
type Readings struct {
	rec *Record

	mu      sync.Mutex
	cache   map[*Evidence]parsed
	samples map[*Evidence]any // slices of SampleReading
	answers map[asking][]Finding

	found  map[evidenceName]*Evidence
	probes map[string]bool // of which there is evidence without an instance
	strain bool            // there is evidence of a load

	gpus   partLists[gpuPart]
	drives partLists[nvmePart]

	doubtful map[string]error // see doubts
	started  []bootReadings   // see boots
}

type parsed struct {
	value any
	err   error
	ref   string
}

type evidenceName struct {
	phase           Phase
	probe, instance string
}

// NewReadings reads from rec, which must not change any more.
func NewReadings(rec *Record) *Readings {
	r := &Readings{
		rec: rec, cache: make(map[*Evidence]parsed, len(rec.Evidence)), samples: map[*Evidence]any{}, answers: map[asking][]Finding{},
		found: make(map[evidenceName]*Evidence, len(rec.Evidence)), probes: map[string]bool{},
	}
	for _, e := range slices.Backward(rec.Evidence) { // of two with one name the first counts
		r.index(e)
	}
	return r
}

func (r *Readings) index(e *Evidence) {
	r.found[evidenceName{e.Phase, e.Probe, e.Instance}] = e
	r.probes[e.Probe] = r.probes[e.Probe] || e.Instance == ""
	r.strain = r.strain || e.Phase == PhaseLoad
}

// find returns the evidence of a probe in a phase ("" instance matches only ""), or nil.
func (r *Readings) find(phase Phase, probe, instance string) *Evidence {
	return r.found[evidenceName{phase, probe, instance}]
}

// Machine is what provision knows of the machine.
func (r *Readings) Machine() *Machine { return &r.rec.Machine }

// Coverage says what the record can prove.
func (r *Readings) Coverage() Coverage { return r.rec.Meta.Coverage }

// Reading is the parsed output of one probe in one phase, or the reason why there
// is none. Ref cites the evidence ("before/nvidia-smi"); it is set also when the
// evidence is there but could not be read, so that a person can look.
type Reading[T any] struct {
	Value    T
	Err      error // nil: Value is good
	Ref      string
	Evidence *Evidence // nil: the probe was not run in this phase
}

// OK reports whether Value is good.
func (r Reading[T]) OK() bool { return r.Err == nil }

// ErrNotRun is why a reading is absent when its probe was not run at all.
var ErrNotRun = errors.New("not run")

// Read returns the reading of p in phase.
func Read[T any](r *Readings, p Probe[T], phase Phase) Reading[T] {
	return readInstance(r, p, phase, "")
}

// ReadAll returns the readings of every instance of p in phase, by instance name.
func ReadAll[T any](r *Readings, p Probe[T], phase Phase) map[string]Reading[T] {
	all := map[string]Reading[T]{}
	for _, e := range r.rec.Evidence {
		if e.Phase == phase && e.Probe == p.Spec.Name {
			all[e.Instance] = readInstance(r, p, phase, e.Instance)
		}
	}
	return all
}

// ReadAny returns the first good reading of p among phases, in the order given,
// or the first absent one with its reason.
func ReadAny[T any](r *Readings, p Probe[T], phases ...Phase) Reading[T] {
	var first Reading[T]
	for i, ph := range phases {
		got := Read(r, p, ph)
		if got.OK() {
			return got
		}
		if i == 0 || (first.Evidence == nil && got.Evidence != nil) {
			first = got
		}
	}
	return first
}

func readInstance[T any](r *Readings, p Probe[T], phase Phase, instance string) Reading[T] {
	e := r.find(phase, p.Spec.Name, instance)
	if e == nil {
		return Reading[T]{Err: fmt.Errorf("%s: %w in phase %s", p.Spec.Name, ErrNotRun, phase)}
	}
	return readOnce(r, p, e)
}

func readOnce[T any](r *Readings, p Probe[T], e *Evidence) Reading[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c, ok := r.cache[e]; ok {
		v, _ := c.value.(T)
		return Reading[T]{Value: v, Err: c.err, Ref: c.ref, Evidence: e}
	}
	var (
		v   T
		err = e.Usable()
	)
	if twin, ok := r.twin(e); err == nil && ok {
		v, _ = twin.(T)
	} else if err == nil {
		v, err = p.Parse(e)
	}
	c := parsed{value: v, err: err, ref: e.Ref()}
	r.cache[e] = c
	return Reading[T]{Value: v, Err: err, Ref: c.ref, Evidence: e}
}

// twin is what was read from evidence that says byte for byte what e says, of the same probe before
// the load or behind it: most of what a healthy machine shows. Only a good reading is shared, since a bad one names its
// evidence, and none of a load, whose reading asks for its times.
func (r *Readings) twin(e *Evidence) (any, bool) {
	other := PhaseBefore
	switch e.Phase {
	case PhaseBefore:
		other = PhaseAfter
	case PhaseAfter:
	default:
		return nil, false
	}
	o := r.find(other, e.Probe, e.Instance)
	c, known := r.cache[o]
	if !known || c.err != nil || o.span != e.span || o.Ended != e.Ended || o.Source != e.Source || (o.Exit == nil) != (e.Exit == nil) || o.Exit != nil && *o.Exit != *e.Exit {
		return nil, false
	}
	return c.value, bytes.Equal(o.Out, e.Out) && bytes.Equal(o.Err, e.Err)
}

// asking is one check asked of one machine. Some are asked twice: by the judgement, and
// by a check that compares what they measured.
type asking struct {
	check   string
	profile *profiles.Profile
	spec    *profiles.Spec
}

// answer is what a check finds, asked once. The slice is shared: read it, do not change it.
func (r *Readings) answer(check string, p *profiles.Profile, s *profiles.Spec, judge func(*Readings, *profiles.Profile, *profiles.Spec) []Finding) []Finding {
	key := asking{check, p, s}
	r.mu.Lock()
	known, ok := r.answers[key]
	r.mu.Unlock()
	if !ok {
		known = judge(r, p, s)
		r.mu.Lock()
		r.answers[key] = known
		r.mu.Unlock()
	}
	return known
}

// SampleReading is one parsed sample; a sample that could not be parsed carries
// its error and is never dropped silently.
type SampleReading[T any] struct {
	Sample
	Value T
	Err   error
}

// Samples returns the parsed samples of p under load, in time order, and the
// reason when there are none. Where a load-phase capture exists but no samples
// (a loose file), the capture itself is the only sample. The slice is shared: read
// it, do not change it.
func Samples[T any](r *Readings, p Probe[T]) ([]SampleReading[T], error) {
	e := r.find(PhaseLoad, p.Spec.Name, "")
	if e == nil {
		return nil, fmt.Errorf("%s: %w in phase %s", p.Spec.Name, ErrNotRun, PhaseLoad)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.samples[e].([]SampleReading[T]); ok {
		return known, nil
	}
	raw := e.Samples
	if len(raw) == 0 {
		if err := e.Usable(); err != nil {
			return nil, err
		}
		raw = []Sample{{At: e.Started, Out: e.Out}}
	}
	out := make([]SampleReading[T], 0, len(raw))
	for _, s := range raw {
		one := *e
		one.Out, one.Samples, one.sample, one.Exit = s.Out, nil, true, nil
		if _, rc, ok := cutEndMark(s.Out); ok {
			one.Exit = &rc
		}
		v, err := p.Parse(&one)
		out = append(out, SampleReading[T]{Sample: s, Value: v, Err: err})
	}
	slices.SortStableFunc(out, func(a, b SampleReading[T]) int { return a.At.Compare(b.At) })
	r.samples[e] = out
	return out, nil
}
