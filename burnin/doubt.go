package burnin

import (
	"fmt"
	"time"
)

// wrapped reports whether the output must end in our end mark: everything that we
// ran on a node ourselves, but for samples and loads. Files handed over and what a BMC said have
// none.
func (e *Evidence) wrapped() bool {
	if e.Phase == PhaseBMC || e.sample || e.Phase == PhaseLoad && isLoad(e.Probe) {
		return false
	}
	return e.Source == FromSSH || e.Source == FromLocal || e.Source == FromScript
}

// doubt says why the output cannot prove that all is well, or nil: it was cut, or
// its command failed. What it shows of damage stands all the same. anyExit is that of
// the probe.
func (e *Evidence) doubt(anyExit bool) error {
	if e.Source == FromLoose {
		return nil // a loose file proves nothing as a whole, and says so itself
	}
	if e.Ended != "" && e.Ended != EndedExit {
		return fmt.Errorf("%s did not come to its end (%s)", e.Ref(), e.Ended)
	}
	if e.Exit != nil && *e.Exit != 0 && !anyExit {
		return fmt.Errorf("%s ended with exit status %d, so what it shows is not known to be all", e.Ref(), *e.Exit)
	}
	sampled := len(e.Samples) > 0 && len(e.Out) == 0
	if !e.wrapped() || sampled {
		return nil
	}
	switch _, rc, ok := cutEndMark(e.Out); {
	case !ok:
		return fmt.Errorf("%s was cut short: its end mark is missing", e.Ref())
	case rc != 0 && !anyExit:
		return fmt.Errorf("%s ended with exit status %d, so what it shows is not known to be all", e.Ref(), rc)
	}
	return nil
}

// believed takes a good word back that rests on evidence in doubt. Evidence that
// could not be read at all was not used, and changes nothing.
func (r *Readings) believed(f Finding) Finding {
	if f.NotRun != "" || f.Verdict != Pass && f.Verdict != Warn {
		return f
	}
	for _, ref := range f.Evidence {
		if why := r.doubts()[ref]; why != nil {
			return f.Missing(why)
		}
	}
	return f
}

// doubts are the reasons not to believe evidence that was read, by its ref.
func (r *Readings) doubts() map[string]error {
	if r.doubtful != nil {
		return r.doubtful
	}
	anyExit := map[string]bool{}
	for _, p := range Probes() {
		anyExit[p.Name] = p.AnyExit
	}
	r.doubtful = map[string]error{}
	for _, e := range r.rec.Evidence {
		if e.Usable() == nil || len(e.Samples) > 0 {
			if why := e.doubt(anyExit[e.Probe]); why != nil {
				r.doubtful[e.Ref()] = why
			}
		}
	}
	r.doubtOrder()
	return r.doubtful
}

// takenBefore compares by our clock and, where both tell it, by the node's: two people's
// laptops may differ, and a node may set its clock, but not both at once.
func (e *Evidence) takenBefore(o *Evidence) bool {
	if !e.Started.Before(o.Started) {
		return false
	}
	mine, err1 := time.Parse(time.RFC3339, e.NodeClock)
	other, err2 := time.Parse(time.RFC3339, o.NodeClock)
	return err1 != nil || err2 != nil || mine.Before(other)
}

// doubtOrder doubts evidence of one probe that was taken in another order than that
// of its phases: pages that were exchanged show growth as its opposite.
func (r *Readings) doubtOrder() {
	last := map[string]*Evidence{} // by name
	for _, phase := range machinePhases {
		for _, e := range r.rec.Evidence {
			if e.Phase != phase || e.Started.IsZero() || e.Source == FromLoose {
				continue
			}
			if prior := last[e.Name()]; prior != nil && e.takenBefore(prior) {
				why := fmt.Errorf("%s was taken before %s, so one stands in place of the other", e.Ref(), prior.Ref())
				r.doubtful[e.Ref()], r.doubtful[prior.Ref()] = why, why
			}
			last[e.Name()] = e
		}
	}
}
