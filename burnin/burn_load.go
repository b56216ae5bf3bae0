package burnin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// pollEvery is how often the node hears of us and we of it under load.
	pollEvery = 2 * time.Second
	// overtime is how long past its duration a load may still be ending, before the
	// node ends it.
	overtime = 60 * time.Second
	// settle is when under load the full probes are run: everything is warm then,
	// and a short load still has room for them.
	settle = 30 * time.Second
)

// samplePrefix names the unit that samples a probe.
const samplePrefix = "sample-"

// loadsProbe is the last evidence of the phase load: which units ran and how each
// ended. Where it is stored, the phase is over.
const loadsProbe = "loads"

// Ways in which a load is cut before its time.
var (
	// ErrStopped means that somebody stopped the load from outside.
	ErrStopped = errors.New("the load was stopped; run again to repeat it")
	errSilence = errors.New("the node heard nothing of us for too long and ended the load")
)

// load runs the phase load: units on the node, their output streamed off while
// they run, the full probes once in the middle.
func (b *burn) load(ctx context.Context) error {
	if b.Store.Has(PhaseLoad, loadsProbe) {
		b.leaveNode(ctx) // we may have been killed before that, or before our own folder was removed
		return os.RemoveAll(b.Store.path(filepath.Join(string(PhaseLoad), streamFolder)))
	}
	// What was measured after an earlier load is no longer after.
	if err := b.Store.forget(PhaseAfter); err != nil {
		return err
	}
	err := b.loadOnce(ctx)
	for n := 0; ctx.Err() == nil; n++ {
		soak := b.Soak.Hours > 0
		switch {
		case errors.Is(err, errDeadLoad), errors.Is(err, errSilence) && soak:
			b.note(err.Error() + ": the hours under load go on by the rules of the spec")
		case errors.Is(err, errSilence) && n == 0:
			b.note(err.Error() + ": it begins anew")
		default:
			return err
		}
		err = b.loadOnce(ctx)
	}
	return err
}

func (b *burn) loadOnce(ctx context.Context) error {
	folder, err := b.takeNode(ctx)
	if err != nil {
		return err
	}
	chosen, missing := choose(b.Loads, b.facts, b.node.profile())
	r := &loadRun{burn: b, folder: folder, loads: chosen[len(aloneOf(chosen)):], span: b.left(), boot: b.facts.BootID, skew: b.facts.skew}
	for _, l := range aloneOf(chosen) {
		if !b.Store.Has(PhaseLoad, l.Name) { // else an earlier span has measured it
			r.alone = append(r.alone, l)
		}
	}
	for _, l := range missing {
		err = errors.Join(err, r.noTool(l))
	}
	if err == nil {
		err = r.run(ctx)
	}
	if err != nil && errors.Is(context.Cause(ctx), ErrDetach) {
		return err
	}
	b.leaveNode(ctx)
	return err
}

// noTool records that a part stays idle because no program for it is there.
func (r *loadRun) noTool(l Load) error {
	return r.Store.Add(&Evidence{
		Probe: l.Name, Phase: PhaseLoad, Command: r.command(l), Source: r.node.Origin,
		Started: time.Now(), BootID: r.boot, Ended: EndedNoTool,
	})
}

// loadRun is one load being watched.
type loadRun struct {
	*burn
	folder *nodeFolder
	alone  []Load // measure first, see measure
	loads  []Load // keep the machine busy
	span   time.Duration
	boot   string        // id, in which it runs
	skew   time.Duration // node's clock minus ours
	stream *stream
	began  time.Time
	late   time.Time // the loads are long over
	last   *report
	seen   *lastSeen // what the units did when nothing had ended them
	fault  fault

	stretches []stretch       // of GPU loads that did not run for all GPUs from begin to end
	asked     map[string]bool // units after whose end the node was asked which GPUs answer
}

// run watches the load to its end. A node that was rebooted under load ends the
// phase with what there is: it is a finding, not an error.
func (r *loadRun) run(ctx context.Context) (err error) {
	if r.stream, err = openStream(r.Store, r.folder.id); err != nil {
		return err
	}
	r.stretches, r.asked = r.stream.stretches(), map[string]bool{}
	r.fault.watch = newFatalWatch(r)
	err = r.folder.start(ctx, followUnit, "watch", r.asRoot(followCommand), r.span+overtime)
	if err == nil {
		err = r.measure(ctx)
	}
	if err == nil {
		err = r.startAll(ctx)
	}
	if err == nil {
		err = r.watchAll(ctx)
	}
	switch {
	case errors.Is(err, errNoFolder) && ctx.Err() == nil:
		return r.gone(ctx)
	case err != nil:
		return errors.Join(err, r.abandon(ctx, err))
	}
	return r.finish(SpanDone)
}

// watchAll goes on until the loads are over and everything is fetched.
func (r *loadRun) watchAll(ctx context.Context) error {
	group, gctx := errgroup.WithContext(ctx)
	over, finish := context.WithCancel(gctx)
	group.Go(func() error {
		defer finish()
		return r.watch(gctx, group)
	})
	group.Go(func() error { return r.middle(over) })
	group.Go(func() error { return r.askSources(over) })
	return group.Wait()
}

// abandon takes loads down when we end before they do, and keeps what they have shown.
// Detached, they go on.
func (r *loadRun) abandon(ctx context.Context, why error) error {
	if errors.Is(context.Cause(ctx), ErrDetach) {
		return nil
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	stuck, err := r.folder.stop(late, endedStop)
	if stuck {
		r.note("a process of the load hangs in the node's kernel and could not be ended")
	}
	if err != nil {
		return fmt.Errorf("loads could not be stopped, the node ends them itself: %w", err)
	}
	by, dead := SpanStop, []string(nil)
	switch {
	case errors.Is(why, errSilence):
		by = SpanDeadMan
	case errors.Is(why, errDeadLoad) && r.last != nil:
		by, dead = SpanDeadLoad, r.died(r.last)
	case ctx.Err() == nil && !errors.Is(why, ErrStopped):
		return nil // something broke: what was fetched stays for the next process
	}
	if err := r.rest(late); err != nil {
		r.note("not all that the load printed was fetched: " + err.Error())
	}
	return r.interrupted(by, dead...)
}

// startAll starts the samplers, then the loads. What runs already is left alone.
func (r *loadRun) startAll(ctx context.Context) error {
	longest := r.span + r.ramp(0) + overtime
	r.began = time.Now()
	for _, p := range r.sampled() {
		if err := r.folder.start(ctx, samplePrefix+p.Name, "sample", Wrap(sampleCommand(p, r.node)), longest); err != nil {
			return err
		}
	}
	for i, l := range r.loads {
		if i > 0 {
			if err := r.pause(ctx, r.rampStep()); err != nil {
				return err
			}
		}
		if err := r.spareLost(l); err != nil {
			return err
		}
		if err := r.folder.start(ctx, l.Name, "load", r.command(l), longest); err != nil {
			return err
		}
	}
	r.late = time.Now().Add(longest + overtime)
	return nil
}

// sampled are the probes that are sampled on this node.
func (r *loadRun) sampled() []ProbeSpec {
	var out []ProbeSpec
	for _, p := range r.node.Probes {
		if p.Sampled && r.facts.Has(p.Tool) && sampleCommand(p, r.node) != "" {
			out = append(out, p)
		}
	}
	return out
}

func sampleCommand(p ProbeSpec, n *Node) string {
	if p.Sample != nil {
		if c := p.Sample(n.profile()); c != "" {
			return c
		}
	}
	if p.Command == nil {
		return ""
	}
	return p.Command(n.profile())
}

// watch polls until no load runs any more and everything is fetched.
func (r *loadRun) watch(ctx context.Context, group *errgroup.Group) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		report, err := r.fetch(ctx)
		if err != nil {
			return err
		}
		r.last = report
		if err := cut(report.ended); err != nil {
			return err
		}
		over := r.look(ctx, group, report)
		if dead := r.died(report); len(dead) > 0 && goesOn(r.spans(), Span{EndedBy: SpanDeadLoad}, r.Soak) {
			return fmt.Errorf("%w: %s", errDeadLoad, strings.Join(dead, ", "))
		}
		owed, err := r.carryOn(ctx, report)
		if err != nil {
			return err
		}
		r.progress(report)
		if over || report.ended != "" || report.loadsOver() && !owed || time.Now().After(r.late) {
			return r.drain(ctx)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// fetch polls and stores what it brings. A node that is too busy to answer is asked
// again as long as it would wait for us.
func (r *loadRun) fetch(ctx context.Context) (*report, error) {
	began := time.Now()
	report, err := r.folder.poll(ctx, r.stream.offsets())
	for errors.Is(err, errSlow) && ctx.Err() == nil && time.Since(began) < cmp.Or(r.DeadMan, defaultDeadMan) {
		report, err = r.folder.poll(ctx, r.stream.offsets())
	}
	if err != nil {
		return nil, err
	}
	return report, errors.Join(r.stream.take(report.chunks), r.see(report))
}

// drain stops the samplers and what else runs, and fetches the rest.
func (r *loadRun) drain(ctx context.Context) error {
	if _, err := r.folder.stop(ctx, endedDone); err != nil {
		return err
	}
	return r.rest(ctx)
}

// rest fetches what is left when all units have ended.
func (r *loadRun) rest(ctx context.Context) error {
	for range 200 { // a process that cannot be ended may write for ever
		report, err := r.fetch(ctx)
		if err != nil || len(report.chunks) == 0 {
			return err
		}
	}
	r.note("output under load was cut: it did not end")
	return nil
}

// cut tells a load that was ended before its time from one that is over.
func cut(ended string) error {
	switch ended {
	case endedStop:
		return ErrStopped
	case endedDeadMan:
		return errSilence
	}
	return nil
}

func (r *loadRun) progress(report *report) {
	for _, u := range report.units {
		if r.busy(u) && !u.started.IsZero() {
			began := u.started.Add(-r.skew)
			r.node.tell(Progress{Phase: PhaseLoad, Doing: r.doing(u.name), Left: max(time.Until(began.Add(r.span)), 0)})
			return
		}
	}
}

// middle runs the full probes once while the load is at its height. A node that is
// too busy to answer them goes on under load: what needs them says that they are
// missing, and whether the node is still there, watch finds out.
func (r *loadRun) middle(ctx context.Context) error {
	timer := time.NewTimer(min(settle, r.span/3))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil // the load is over, or watch says why not
	}
	skip := func(name string) bool { return r.Store.Has(PhaseLoad, name) }
	_, err := r.node.collect(ctx, PhaseLoad, skip, r.Store.Add)
	if err != nil && ctx.Err() == nil {
		r.note("under load the node was not measured in full: " + err.Error())
	}
	return nil
}
