package burnin

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// sourceEvery is the least time between two readings of all that a source has under
	// load: a BMC has other work, and its log and voltages move slowly.
	sourceEvery = time.Minute
	// sourceShare is how much of the time a source may be busy with those at most, as one
	// part of so many: one that strains is asked less often.
	sourceShare = 10
	// sourceReadings bounds those readings under load; long loads are read less often.
	sourceReadings = 500

	// watchEvery and watchShare are the same of the short readings of a Watcher.
	watchEvery = time.Second
	watchShare = 5
)

// Watcher is a Source of which what moves under load can be read often: the fans, the
// power supplies and the temperatures of a BMC.
type Watcher interface {
	// Watch reads that. A reading that failed is evidence that is not usable; the error
	// is that of ctx, or wraps errors.ErrUnsupported where there is no short way.
	Watch(ctx context.Context) (*Evidence, error)
}

// askSources reads the sources while the load runs, until ctx ends. The first reading
// is the evidence, those after it are its samples. Nothing that goes wrong with a
// source harms the load: the evidence says why it is not there.
func (r *loadRun) askSources(ctx context.Context) error {
	group, gctx := errgroup.WithContext(ctx)
	for _, s := range r.Sources {
		a := &asker{loadRun: r, source: s, held: map[string]*heldSource{}}
		group.Go(func() error {
			err := a.ask(gctx)
			return errors.Join(err, a.keep())
		})
	}
	return group.Wait()
}

// asker asks one source, one question at a time.
type asker struct {
	*loadRun
	source Source
	held   map[string]*heldSource
	well   bool // the last reading could be used
	pace   pace
}

// ask reads all of the source at long intervals, and of a Watcher in between what can be
// read fast.
func (a *asker) ask(ctx context.Context) error {
	watcher, _ := a.source.(Watcher)
	whole, short := time.Now().Add(min(settle, a.span/3)), time.Now()
	a.well = true
	for {
		next, watch := whole, watcher != nil && a.well && short.Before(whole)
		if watch {
			next = short
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		began := time.Now()
		var err error
		if watch {
			var more bool
			if more, err = a.watch(ctx, watcher); !more {
				watcher = nil
			}
		} else {
			err = a.collect(ctx)
			whole = time.Now().Add(max(sourceEvery, a.span/sourceReadings, sourceShare*time.Since(began)))
		}
		if err != nil {
			return err
		}
		short = time.Now().Add(a.pace.rest(time.Since(began), watch))
	}
}

// pace is how often short readings are taken: once a second, of a source that takes
// longer than a fifth of that less often, so that it has the rest of the time for
// its own work. One slow answer slows it at once, it quickens again over some.
type pace struct{ slow time.Duration }

// rest is how long to wait after a reading that took so long.
func (p *pace) rest(took time.Duration, short bool) time.Duration {
	if !short { // it says nothing about how long a short one takes
		return max(watchEvery, took)
	}
	p.slow = max(took, p.slow-(p.slow-took)/8)
	return max(watchEvery-took, (watchShare-1)*p.slow)
}

// collect takes one whole reading. The error is that of the store.
func (a *asker) collect(ctx context.Context) error {
	got, err := a.source.Collect(ctx, PhaseLoad)
	if ctx.Err() != nil {
		return nil // it was cut by us, which says nothing about the source
	}
	if err != nil {
		a.note("a source was not read under load: " + err.Error())
	}
	a.well = err == nil
	for _, e := range got {
		if err := a.take(e); err != nil {
			return err
		}
	}
	return nil
}

// watch takes one short reading; more is false where there are none.
func (a *asker) watch(ctx context.Context, w Watcher) (more bool, err error) {
	e, err := w.Watch(ctx)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return false, nil
	case err != nil || e == nil:
		return true, nil // cut by us
	}
	if err := e.Usable(); err != nil { // it is left alone until a whole reading succeeds
		a.well = false
		a.Log.Warn("a reading under load failed", "machine", a.Machine.Name, "probe", e.Name(), "why", err)
		return true, nil
	}
	return true, a.log(e)
}

// take keeps a whole reading: as the evidence where there is none that can be used,
// else as a sample of it.
func (a *asker) take(e *Evidence) error {
	stored, err := a.Store.evidence(PhaseLoad, e.Name())
	if err != nil {
		return err
	}
	bad := e.Usable()
	a.well = a.well && bad == nil
	switch {
	case stored == nil || stored.Usable() != nil && bad == nil:
		return a.Store.Add(e)
	case bad != nil:
		a.Log.Warn("a reading under load failed", "machine", a.Machine.Name, "probe", e.Name(), "why", bad)
		return nil
	}
	return a.log(e)
}

// log adds a reading to the samples.
func (a *asker) log(e *Evidence) error {
	h := a.held[e.Name()]
	if h == nil {
		var err error
		if h, err = newHeld(a.loadRun, e); err != nil {
			return err
		}
		a.held[e.Name()] = h
	}
	return h.add(e)
}

// keep stores the samples with the evidence to which they belong.
func (a *asker) keep() error {
	var err error
	for _, h := range a.held {
		err = errors.Join(err, h.store(a.Store))
	}
	return err
}
