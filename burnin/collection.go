package burnin

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// collection is one phase being collected. The jobs that are left run in one command;
// where the connection is lost under it, those that had not ended are run again.
type collection struct {
	node  *Node
	phase Phase
	skip  func(name string) bool
	each  func(*Evidence) error

	seen *bootSeen
	jobs []job
	got  map[string]*Evidence // by name
	lost map[string]int       // how often the connection was lost while a job ran
	hung map[string]bool      // families
	idle int                  // rounds in a row that brought nothing
}

// maxIdle is how many of them there are before the node is given up.
const maxIdle = 2

func (c *collection) run(ctx context.Context) error {
	c.hung = map[string]bool{}
	for c.idle < maxIdle {
		if err := c.look(ctx); err != nil {
			return err
		}
		left := c.left()
		if len(left) == 0 {
			return nil
		}
		if err := c.round(ctx, left); err != nil {
			return err
		}
	}
	return fmt.Errorf("the node was booted anew %d times while probes of the phase %s were to be run: look at its console", c.idle, c.phase)
}

// look lists the jobs of the boot at hand. What is known before anything is run is told
// at once.
func (c *collection) look(ctx context.Context) error {
	if c.seen != nil {
		return nil
	}
	var err error
	if c.seen, err = c.node.look(ctx); err != nil {
		return err
	}
	c.jobs = c.node.listJobs(c.phase, c.seen)
	for _, j := range c.left() {
		if !j.missing {
			continue
		}
		e := c.evidence(j)
		e.Started, e.Ended = time.Now().UTC(), EndedNoTool
		e.NodeClock = e.Started.Add(c.seen.facts.skew).UTC().Format(time.RFC3339)
		if err := c.keep(j, e); err != nil {
			return err
		}
	}
	return nil
}

// left are the jobs without evidence.
func (c *collection) left() []job {
	var left []job
	for _, j := range c.jobs {
		if c.got[j.name()] == nil && (c.skip == nil || !c.skip(j.name())) {
			left = append(left, j)
		}
	}
	return left
}

// evidence is that of a job, without what came of it.
func (c *collection) evidence(j job) *Evidence {
	f := c.seen.facts
	return &Evidence{
		Probe: j.probe.Name, Instance: j.instance, Phase: c.phase, Source: c.node.Origin, Command: f.elevated(j),
		BootID: f.BootID, ToolVersion: c.seen.survey.versions[j.probe.Name], Simulated: f.Simulated(),
		StandIn: f.StandsIn(j.probe.Tool) || f.StandsIn(j.probe.Name),
	}
}

// keep takes an evidence in, and tells of it.
func (c *collection) keep(j job, e *Evidence) error {
	e.Seal()
	c.got[j.name()] = e
	c.hung[j.probe.Family] = j.probe.Family != "" && (c.hung[j.probe.Family] || e.Ended == EndedTimeout)
	c.node.tell(Progress{Phase: c.phase, Doing: j.name(), Done: len(c.got), Total: len(c.got) + len(c.left())})
	c.node.log().Debug("probe ended", "probe", e.Ref(), "ended", e.Ended, "seconds", e.Seconds)
	if c.each == nil {
		return nil
	}
	return c.each(e)
}

// round is one command on the node.
type round struct {
	*collection
	jobs  map[string]job // those that have not ended
	start PhaseStart
	at    time.Time            // our clock at the start
	begun map[string]time.Time // our clock, of those that run
	some  bool                 // anything ended
	other bool                 // the node has booted since we looked
}

// round runs jobs. What ended is kept; the error is that of the transport or of each.
func (c *collection) round(ctx context.Context, jobs []job) error {
	r := &round{collection: c, jobs: map[string]job{}, begun: map[string]time.Time{}}
	for _, j := range jobs {
		r.jobs[j.name()] = j
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	reader := &phaseReader{start: r.started, begin: r.began, end: func(f PhaseFrame) error { return r.ended(f, cancel) }}
	facts := c.seen.facts
	out, err := c.node.Shell.Run(ctx, phaseCommand(facts.BootID, phaseJobs(jobs, facts, c.hung), reader))
	if len(out.Out) > 0 { // a shell that does not stream
		r.at = out.Started
		_, _ = reader.Write(out.Out)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.other {
		c.node.log().Warn("the node has booted since it was looked at", "phase", c.phase)
		c.node.forget(c.seen)
		c.seen = nil
		c.idle++
		return nil
	}
	if err == nil {
		err = reader.err
	} else if !errors.Is(err, errDropped) && out.Ended != EndedTimeout {
		return r.broken(out, err)
	}
	return r.close(out, err)
}

func (r *round) started(s PhaseStart) {
	r.start = s
	if r.at.IsZero() {
		r.at = time.Now()
	}
	r.other = s.BootID != r.seen.facts.BootID
}

func (r *round) began(name string) {
	if _, ok := r.jobs[name]; ok {
		r.begun[name] = time.Now()
	}
}

// ended makes evidence of a frame. Times are those of the node's uptime, told from the
// moment at which we saw the round begin: a clock that is set meanwhile changes nothing.
func (r *round) ended(f PhaseFrame, cancel context.CancelCauseFunc) error {
	j, ok := r.jobs[f.Name]
	if !ok {
		return fmt.Errorf("the node tells of %.80q, which was not asked for", f.Name)
	}
	delete(r.jobs, f.Name)
	delete(r.begun, f.Name)
	r.some = true
	e := r.evidence(j)
	e.Out, e.Err, e.Ended, e.Seconds = f.Out, f.Err, f.Ended, (f.Done - f.Began).Seconds()
	if f.Ended == EndedExit {
		e.Exit = &f.Exit
	}
	e.Started = r.at.Add(f.Began - r.start.Uptime).UTC()
	e.NodeClock = r.start.Clock.Add(f.Began - r.start.Uptime).UTC().Format(time.RFC3339)
	if err := r.keep(j, e); err != nil {
		cancel(err)
		return err
	}
	return nil
}

// close looks at what did not come back. A phase that is over time says so of every
// probe that it left; where it was cut, those that ran may have been the reason, and
// are only run once more.
func (r *round) close(out Output, err error) error {
	if len(r.jobs) == 0 {
		return nil
	}
	late := out.Ended == EndedTimeout
	if r.some || len(r.begun) > 0 || late {
		r.idle = 0
	} else if r.idle++; r.idle >= maxIdle {
		return r.broken(out, err)
	}
	for _, j := range r.collection.jobs {
		began, ran := r.begun[j.name()]
		if _, open := r.jobs[j.name()]; !open || !ran && (!late || len(r.begun) > 0) {
			continue
		}
		if r.lost[j.name()]++; !late && r.lost[j.name()] < 2 {
			continue
		}
		e := r.gone(j, began, EndedLost)
		if late {
			e.Ended = EndedTimeout
		}
		if err := r.keep(j, e); err != nil {
			return err
		}
	}
	return nil
}

// gone is the evidence of a job of which no end came.
func (r *round) gone(j job, began time.Time, how Ended) *Evidence {
	if began.IsZero() {
		began = time.Now()
	}
	e := r.evidence(j)
	e.Started, e.Ended, e.Seconds = began.UTC(), how, time.Since(began).Seconds()
	e.NodeClock = e.Started.Add(r.seen.facts.skew).UTC().Format(time.RFC3339)
	return e
}

// broken ends the collection: the way to the node is gone. The probes that ran are lost.
func (r *round) broken(out Output, err error) error {
	ref := "phase " + string(r.phase)
	for _, j := range r.collection.jobs {
		if began, ran := r.begun[j.name()]; ran {
			e := r.gone(j, began, EndedLost)
			e.Seal()
			r.got[j.name()] = e
			ref = e.Ref()
		}
	}
	if err == nil {
		return fmt.Errorf("%s: the node did not run the probes (%s)%s", ref, endWords(out), firstLine(out.Err))
	}
	return fmt.Errorf("%s: %w", ref, err)
}
