package burnin

import (
	"context"
	"time"
)

const (
	// sourceEvery is the least time between two readings of a source under load: a
	// BMC has other work, and temperatures move slowly.
	sourceEvery = time.Minute
	// sourceShare is how much of the time a source may be busy with us at most, as one
	// part of so many: one that strains is asked less often.
	sourceShare = 10
	// sourceReadings bounds the readings under load; long loads are read less often.
	sourceReadings = 500
	// sourceFlush is after how many readings they are stored.
	sourceFlush = 10
)

// askSources reads the sources while the load runs, until ctx ends. The first reading
// is the evidence, those after it are its samples. Nothing that goes wrong with a
// source harms the load: the evidence says why it is not there.
func (r *loadRun) askSources(ctx context.Context) error {
	if len(r.Sources) == 0 {
		return nil
	}
	held := map[string]*heldSource{}
	wait := min(settle, r.Duration/3)
	for {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return r.keepSources(held, 1)
		}
		began := time.Now()
		if err := r.askOnce(ctx, held); err != nil {
			return err
		}
		wait = max(sourceEvery, r.Duration/sourceReadings, sourceShare*time.Since(began))
		if err := r.keepSources(held, sourceFlush); err != nil {
			return err
		}
	}
}

// heldSource is evidence of a source with the samples that are not stored yet.
type heldSource struct {
	*Evidence
	fresh int
}

// askOnce takes one reading of each source. The error is that of the store.
func (r *loadRun) askOnce(ctx context.Context, held map[string]*heldSource) error {
	for _, s := range r.Sources {
		got, err := s.Collect(ctx, PhaseLoad)
		if ctx.Err() != nil {
			return nil // it was cut by us, which says nothing about the source
		}
		if err != nil {
			r.note("a source was not read under load: " + err.Error())
		}
		for _, e := range got {
			if err := r.takeReading(e, held); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *loadRun) takeReading(e *Evidence, held map[string]*heldSource) error {
	h := held[e.Name()]
	if h == nil {
		stored, err := r.Store.evidence(PhaseLoad, e.Name()) // of an earlier process
		if err != nil {
			return err
		}
		if stored != nil {
			h = &heldSource{Evidence: stored}
			held[e.Name()] = h
		}
	}
	switch bad := e.Usable(); {
	case h == nil || h.Usable() != nil && bad == nil:
		held[e.Name()] = &heldSource{Evidence: e}
		return r.Store.Add(e)
	case bad != nil:
		r.Log.Warn("a reading under load failed", "machine", r.Machine.Name, "probe", e.Name(), "why", bad)
	default:
		h.Samples = append(h.Samples, Sample{At: e.Started, Out: e.Out})
		h.fresh++
	}
	return nil
}

// keepSources stores what has at least so many new samples.
func (r *loadRun) keepSources(held map[string]*heldSource, least int) error {
	for _, h := range held {
		if h.fresh < least {
			continue
		}
		if err := r.Store.Add(h.Evidence); err != nil {
			return err
		}
		h.fresh = 0
	}
	return nil
}
