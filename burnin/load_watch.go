package burnin

import (
	"fmt"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// watched judges how well a sampled probe saw the machine under load. A sample that
// cannot be read is a remark: one gets lost on a healthy machine. A longer time
// without any is a gap in the proof. useless says why a sample that was read tells
// nothing, or nil. Without samples at all there is nothing to judge here: what needs
// them says so itself.
func watched[T any](r *Readings, check string, part Part, p Probe[T], useless func(T) error, limit *profiles.Limit) []Finding {
	e := r.find(PhaseLoad, p.Spec.Name, "")
	if e == nil || len(e.Samples) == 0 {
		return nil
	}
	samples, err := Samples(r, p)
	if err != nil {
		return nil
	}
	f := About(check, "samples", part, e.Ref())
	from, to := loadSpan(r.rec)
	lost, last := 0, from
	var longest time.Duration
	var why error
	for _, s := range samples {
		err := s.Err
		if err == nil {
			err = useless(s.Value)
		}
		if err != nil {
			lost, why = lost+1, err
			continue
		}
		if !last.IsZero() {
			longest = max(longest, s.At.Sub(last))
		}
		last = s.At
	}
	if !to.IsZero() && !last.IsZero() {
		longest = max(longest, to.Sub(last))
	}
	f = f.Number(longest.Seconds(), profiles.Seconds, limit)
	switch {
	case f.Verdict == Fail || lost == len(samples):
		return []Finding{f.Missing(fmt.Errorf("for %.0f s under load no sample of %s could be read%s", longest.Seconds(), p.Spec.Name, whyLost(why)))}
	case lost > 0:
		f.Scope = "" // also where the profile sets no limit
		return []Finding{f.Judged(Warn, fmt.Sprintf("%d of %d samples under load could not be read%s", lost, len(samples), whyLost(why)))}
	}
	return []Finding{f}
}

func whyLost(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// loadSpan is when the loads kept the machine busy, by the node's clock, which is that of samples; zero
// where the evidence does not tell.
func loadSpan(rec *Record) (from, to time.Time) {
	for _, l := range Loads() {
		for _, e := range rec.stretches(&l) {
			began, err := time.Parse(time.RFC3339, e.NodeClock)
			if err != nil {
				continue
			}
			ended := began.Add(time.Duration(e.Seconds * float64(time.Second)))
			if from.IsZero() || began.Before(from) {
				from = began
			}
			if ended.After(to) {
				to = ended
			}
		}
	}
	return from, to
}
