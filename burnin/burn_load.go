package burnin

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	if b.Resume && b.Store.Has(PhaseLoad, loadsProbe) {
		b.leaveNode(ctx) // we may have been killed before that, or before our own folder was removed
		return os.RemoveAll(b.Store.path(filepath.Join(string(PhaseLoad), streamFolder)))
	}
	// What was measured after an earlier load is no longer after.
	if err := b.Store.forget(PhaseAfter); err != nil {
		return err
	}
	err := b.loadOnce(ctx)
	if errors.Is(err, errSilence) && ctx.Err() == nil {
		b.note(err.Error() + ": it begins anew")
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
	for _, l := range missing {
		err = errors.Join(err, b.noTool(l))
	}
	r := &loadRun{burn: b, folder: folder, alone: aloneOf(chosen), loads: chosen[len(aloneOf(chosen)):]}
	if err == nil {
		err = r.run(ctx)
	}
	if err != nil && errors.Is(context.Cause(ctx), ErrDetach) {
		return err
	}
	b.leaveNode(ctx)
	return err
}

// leaveNode leaves the node as it was found, also after a cancelled context. What
// keeps us from it is noted and no error: the node's dead-man timer ends all.
func (b *burn) leaveNode(ctx context.Context) {
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if _, err := ReleaseNode(clean, b.node.Shell, b.Root, b.Run); err != nil {
		b.note("the folder on the node was not removed: " + err.Error())
	}
}

// takeNode acquires the node. A load of ours that was cut (by the dead-man timer,
// by a stop) is cleared away and begins anew.
func (b *burn) takeNode(ctx context.Context) (*nodeFolder, error) {
	claim := Claim{Run: b.Run, Attempt: b.Attempt, Owner: b.Owner, DeadMan: b.DeadMan, Root: b.Root}
	folder, err := acquire(ctx, b.node.Shell, claim)
	if err != nil {
		return nil, err
	}
	if folder.again && cut(folder.ended) != nil {
		b.note("the earlier load was cut (" + folder.ended + "): it begins anew")
		if _, err := ReleaseNode(ctx, b.node.Shell, b.Root, b.Run); err != nil {
			return nil, err
		}
		if folder, err = acquire(ctx, b.node.Shell, claim); err != nil {
			return nil, err
		}
	}
	if folder.again && streamID(b.Store) == folder.id {
		b.remark("picked up the running load")
		return folder, nil
	}
	// What was fetched earlier is of another load, or incomplete.
	if err := b.Store.forget(PhaseLoad); err != nil {
		return nil, err
	}
	if folder.again {
		return folder, nil
	}
	return folder, b.gpusFree(ctx)
}

// gpusFree refuses to load GPUs on which somebody works.
func (b *burn) gpusFree(ctx context.Context) error {
	if !b.facts.Has("nvidia-smi") {
		return nil
	}
	err := gpusIdle(ctx, b.node.Shell)
	if errors.Is(err, ErrGPUBusy) {
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
		defer cancel()
		_, _ = ReleaseNode(release, b.node.Shell, b.Root, b.Run)
	}
	return err
}

// gpusIdle is ErrGPUBusy where somebody works on the GPUs.
func gpusIdle(ctx context.Context, sh Shell) error {
	out, err := sh.Run(ctx, Command{
		Line:     nodeLine("gpu-work", nil, "exec nvidia-smi --query-compute-apps=pid,process_name --format=csv,noheader"),
		Deadline: 20 * time.Second,
	})
	if err != nil && out.Ended != EndedTimeout {
		return err
	}
	if work := bytes.TrimSpace(out.Out); out.Ended == EndedExit && out.Exit != nil && *out.Exit == 0 && len(work) > 0 {
		return fmt.Errorf("%w%s. Wait for it or end it, then start again", ErrGPUBusy, firstLine(work))
	}
	return nil
}

// noTool records that a part stays idle because no program for it is there.
func (b *burn) noTool(l Load) error {
	return b.Store.Add(&Evidence{
		Probe: l.Name, Phase: PhaseLoad, Command: b.command(l), Source: b.node.Origin,
		Started: time.Now(), BootID: b.facts.BootID, Ended: EndedNoTool,
	})
}

// loadRun is one load being watched.
type loadRun struct {
	*burn
	folder *nodeFolder
	alone  []Load // measure first, see measure
	loads  []Load // keep the machine busy
	stream *stream
	began  time.Time
	late   time.Time // the loads are long over
	last   *report
}

// run watches the load to its end. A node that was rebooted under load ends the
// phase with what there is: it is a finding, not an error.
func (r *loadRun) run(ctx context.Context) (err error) {
	if r.stream, err = openStream(r.Store, r.folder.id); err != nil {
		return err
	}
	err = r.measure(ctx)
	if err == nil {
		err = r.startAll(ctx)
	}
	if err == nil {
		err = r.watchAll(ctx)
	}
	switch {
	case errors.Is(err, errNoFolder) && ctx.Err() == nil:
		r.note("the node lost our folder under load: it was rebooted, or somebody released it")
	case err != nil:
		return errors.Join(err, r.abandon(ctx))
	}
	return r.finish()
}

// watchAll goes on until the loads are over and everything is fetched.
func (r *loadRun) watchAll(ctx context.Context) error {
	group, gctx := errgroup.WithContext(ctx)
	over, finish := context.WithCancel(gctx)
	group.Go(func() error {
		defer finish()
		return r.watch(gctx)
	})
	group.Go(func() error { return r.middle(over) })
	group.Go(func() error { return r.askSources(over) })
	return group.Wait()
}

// abandon takes loads down when we end before they do. Detached, they go on.
func (r *loadRun) abandon(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), ErrDetach) {
		return nil
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	stuck, err := r.folder.stop(late, endedStop)
	if stuck {
		r.note("a process of the load hangs in the node's kernel and could not be ended")
	}
	if err != nil {
		return fmt.Errorf("loads could not be stopped, the node ends them itself: %w", err)
	}
	return nil
}

// startAll starts the samplers, then the loads. What runs already is left alone.
func (r *loadRun) startAll(ctx context.Context) error {
	longest := r.Duration + overtime
	r.began = time.Now()
	for _, p := range r.sampled() {
		if err := r.folder.start(ctx, samplePrefix+p.Name, "sample", Wrap(sampleCommand(p, r.node)), longest); err != nil {
			return err
		}
	}
	for _, l := range r.loads {
		if err := r.folder.start(ctx, l.Name, "load", r.command(l), longest); err != nil {
			return err
		}
	}
	r.late = time.Now().Add(r.Duration + 2*overtime)
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
func (r *loadRun) watch(ctx context.Context) error {
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
		r.progress(report)
		if report.ended != "" || report.loadsOver() || time.Now().After(r.late) {
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
	return report, r.stream.take(report.chunks)
}

// drain stops the samplers and what else runs, and fetches the rest.
func (r *loadRun) drain(ctx context.Context) error {
	if _, err := r.folder.stop(ctx, endedDone); err != nil {
		return err
	}
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
			began := u.started.Add(-r.facts.skew)
			r.node.tell(Progress{Phase: PhaseLoad, Doing: u.name, Left: max(time.Until(began.Add(r.Duration)), 0)})
			return
		}
	}
}

// middle runs the full probes once while the load is at its height. A node that is
// too busy to answer them goes on under load: what needs them says that they are
// missing, and whether the node is still there, watch finds out.
func (r *loadRun) middle(ctx context.Context) error {
	timer := time.NewTimer(min(settle, r.Duration/3))
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
