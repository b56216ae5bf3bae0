package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/journal"
)

// carry is what a verb needs to carry a run on in this process.
type carry struct {
	app     *app
	state   string
	secrets *provision.Secrets
	failOn  *failOn          // nil = every outcome counts
	noPage  bool             // write no page over the batch at the end
	live    bool             // redraw a table instead of printing lines
	burner  provision.Burner // nil = the one of real nodes
}

func (a *app) newCarry() (*carry, error) {
	state, err := a.state()
	if err != nil {
		return nil, err
	}
	return &carry{app: a, state: state, secrets: &provision.Secrets{}, live: !a.json && !a.verbose && isTerminal(a.stdout)}, nil
}

// selectorFlags adds the flags that choose machines to a verb.
func selectorFlags(cmd *cobra.Command, sel *provision.Selector) {
	f := cmd.Flags()
	f.StringSliceVar(&sel.Machines, "machines", nil, "only these machines (`a,b`)")
	f.StringSliceVar(&sel.Racks, "rack", nil, "only this `rack`")
	f.StringVar(&sel.Only, "only", "", "only machines that are `failed|stuck|hands|incomplete`")
	f.StringSliceVar(&sel.Exclude, "exclude", nil, "without these machines (`a,b`)")
}

// selectorIn reports a selector that chooses what is in none of the runs.
func selectorIn(sel provision.Selector, runs ...*provision.Run) error {
	all := &provision.Batch{Name: "any run"}
	if len(runs) == 1 {
		all.Name = string(runs[0].ID)
	}
	for _, r := range runs {
		all.Machines = append(all.Machines, r.Batch.Machines...)
	}
	if len(runs) == 0 {
		return nil
	}
	if err := sel.Check(all); err != nil {
		return usageError(err, "rackproof status")
	}
	return nil
}

// runs folds all runs of the state folder, oldest first.
func allRuns(ctx context.Context, e engine) ([]*provision.Run, error) {
	ids, err := e.Runs(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]*provision.Run, 0, len(ids))
	for _, id := range ids {
		run, err := e.Run(ctx, id)
		if err != nil {
			return nil, err
		}
		out = append(out, &run)
	}
	return out, nil
}

// logger writes to stderr, without secrets; beside a live table only run.log
// is written, which the bench sees to.
func (c *carry) logger() *slog.Logger {
	h := c.app.log.Handler()
	if c.live {
		h = slog.DiscardHandler
	}
	return slog.New(c.secrets.Handler(h))
}

func (c *carry) bench() *provision.Bench {
	log := c.logger()
	burner := c.burner
	if burner == nil {
		burner = provision.NodeBurner{Log: log}
	}
	return &provision.Bench{
		State: c.state, Workflows: provision.Workflows(), Secrets: c.secrets, Burner: burner, Log: log, Version: versionString(),
	}
}

// run carries one run until nothing of it can go on without people, or ctx ends,
// and prints how it stands then. The error is the exit status.
func (c *carry) run(ctx context.Context, id provision.RunID, sel provision.Selector) error {
	run, err := c.serve(ctx, id, sel)
	if err != nil {
		return err
	}
	if ctx.Err() == nil {
		c.notify(ctx, run)
	}
	return c.finish(run, sel, ctx.Err() != nil)
}

// serve carries the run and shows it meanwhile.
func (c *carry) serve(ctx context.Context, id provision.RunID, sel provision.Selector) (*provision.Run, error) {
	if c.app.at.remote() {
		return c.watchRemote(ctx, id, sel)
	}
	bench := c.bench()
	engine, err := journal.Open(ctx, c.state, journal.Options{
		Worker: bench, Runs: []provision.RunID{id}, Select: sel, Log: c.logger(), Ending: ctx.Done(), HostLocks: provision.HostLocks(),
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = errors.Join(bench.Close(), engine.Close()) }()
	run, err := engine.Run(ctx, id) // what happened before is not shown again
	if err != nil {
		return nil, err
	}
	if settled(&run, sel) {
		return &run, nil
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx)) // an interrupt ends it by Ending
	defer stop()
	defer c.interrupts(ctx, id, stop)()
	served := make(chan error, 1)
	go func() { served <- engine.Serve(work) }()

	watch, end := context.WithCancelCause(work)
	defer end(nil)
	go func() { // Serve ends by itself only when it cannot go on
		err := <-served
		end(err)
		served <- err
	}()
	if err := c.show(watch, engine, &run, sel); err != nil {
		return nil, err
	}
	stop()
	if err := <-served; err != nil {
		return nil, owned(id, err)
	}
	if ctx.Err() != nil { // what ended meanwhile
		run, err = engine.Run(context.WithoutCancel(ctx), id)
	}
	return &run, err
}

// show folds what happens into run and displays it, until run has settled or ctx ends.
func (c *carry) show(ctx context.Context, e engine, run *provision.Run, sel provision.Selector) error {
	show := c.display(sel)
	defer show.close()
	for ev, err := range e.Watch(ctx, run.ID, run.Seq) {
		if err == nil {
			err = run.Apply(ev)
		}
		if err != nil {
			return err
		}
		show.event(run, ev)
		if ev.Kind == provision.ChangeEnded { // the brake may be on
			c.notifyBrake(ctx, run)
		}
		if settled(run, sel) && upToDate(ctx, e, run) {
			break
		}
	}
	return nil
}

// settled is Run.Settled for the machines chosen.
func settled(r *provision.Run, sel provision.Selector) bool {
	return r.Cancelled || !slices.ContainsFunc(r.Machines, func(m provision.MachineRun) bool { return m.Runnable() && sel.Match(&m) })
}

// upToDate reports whether r holds all there is: a person may have asked for more
// meanwhile.
func upToDate(ctx context.Context, e engine, r *provision.Run) bool {
	now, err := e.Run(ctx, r.ID)
	return err != nil || now.Seq == r.Seq
}

// owned words the error of a run that another process carries.
func owned(id provision.RunID, err error) error {
	var held *provision.HeldError
	if !errors.As(err, &held) {
		return err
	}
	return &exitError{
		code: exitFailed, Code: "owned", err: err,
		Message: held.Error(), Next: fmt.Sprintf("look on with `rackproof status %s`, or end it there", id),
	}
}

// finish prints the final table and the last line, or the JSON of the batch.
func (c *carry) finish(run *provision.Run, sel provision.Selector, interrupted bool) error {
	a := c.app
	code := c.failOn.worst(run.ExitCodes(sel)...)
	read := judgementsIn(c.evidence(), run)
	if !c.noPage {
		index, err := writeBatchPage(read, run)
		if err != nil {
			return err
		}
		if index != "" {
			a.progress("report: %s", index)
		}
	}
	if a.json {
		if err := batchJSON(a.stdout, read, run, sel); err != nil {
			return err
		}
		return exitWith(code)
	}
	a.printf("%s", finalTable(read, run, sel, a.width()))
	switch {
	case interrupted && a.at.remote():
		a.progress("interrupted here; the workers of site %s go on. End the run: rackproof cancel %s", a.at.site, run.ID)
	case interrupted:
		for _, line := range whereIn(run, sel) {
			a.progress("interrupted: %s", line)
		}
		a.progress("carry on: rackproof resume %s", run.ID)
	}
	for _, line := range late(run, sel) {
		a.printf("until %s: %s\n", provision.UntilText(run.Until, run.Last), line)
	}
	a.printf("%s%s\n", truth(read, run, sel), c.summary(run, sel, code))
	return exitWith(code)
}

// summary is the last line of a batch, with the exit status as --fail-on has it.
func (c *carry) summary(run *provision.Run, sel provision.Selector, code int) string {
	s, own := idle(run).Summary(sel), run.ExitCode(sel)
	if code == own {
		return s
	}
	return strings.TrimSuffix(s, fmt.Sprintf("exit %d", own)) + fmt.Sprintf("exit %d (--fail-on %s)", code, c.failOn)
}

// idle is run as it stands when nobody carries it: what could go on is stopped.
func idle(run *provision.Run) *provision.Run {
	r := *run
	r.Cancelled = true
	return &r
}

// findRun returns the run that a person means: the one named, else the newest, or
// the newest that has the machine.
func findRun(ctx context.Context, e engine, name, machine string) (*provision.Run, error) {
	ids, err := e.Runs(ctx)
	if err != nil {
		return nil, err
	}
	slices.Reverse(ids)
	for _, id := range ids {
		if name != "" && string(id) != name {
			continue
		}
		run, err := e.Run(ctx, id)
		if err != nil {
			return nil, err
		}
		if machine == "" || run.Find(machine) != nil {
			return &run, nil
		}
	}
	return nil, usageError(noRun(name, machine), "`rackproof status` lists runs and machines")
}

func noRun(name, machine string) error {
	switch {
	case machine != "" && name != "":
		return fmt.Errorf("no machine %q in run %s", machine, name)
	case machine != "":
		return fmt.Errorf("no run in this state folder has a machine %q", machine)
	case name != "":
		return fmt.Errorf("there is no run %q in this state folder", name)
	default:
		return errors.New("there is no run in this state folder yet")
	}
}

// ownerAlive reports who carries a run now, "" for nobody.
func ownerAlive(state string, id provision.RunID) string {
	lease, err := provision.LeaseRun(state, id)
	if held, ok := errors.AsType[*provision.HeldError](err); ok {
		return held.Holder
	}
	if err == nil {
		_ = lease.Release()
	}
	return ""
}

// tellRun writes an event of a person into a run.
func tellRun(ctx context.Context, e engine, run provision.RunID, machine string, kind provision.Kind, data any) error {
	ev, err := provision.NewEvent(run, machine, kind, data)
	if err != nil {
		return err
	}
	return e.Tell(ctx, ev)
}

// clock is a time of day as the live lines show it.
func clock(t time.Time) string { return t.Local().Format("15:04:05") }
