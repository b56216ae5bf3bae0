package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-multierror"
	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision"
)

func cancelCommand(a *app) *cobra.Command {
	var sel provision.Selector
	cmd := &cobra.Command{
		Use:   "cancel RUN",
		Short: "End work on a run; it stays resumable",
		Long: `End work on a run: loads come down, and each machine ends at its next safe point,
where no act is under way of which only its end tells that it happened. It says where
that is. The run stays resumable. With a selector only the work on those machines ends,
at once.

Example:
  rackproof cancel po4711-r12
  rackproof cancel po4711-r12 --rack R12

` + exitHelp,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !sel.All() {
				return a.stop(cmd.Context(), args[0], sel)
			}
			return a.withRun(cmd.Context(), args[0], func(c *carry, e engine, run *provision.Run) error {
				if err := e.Cancel(cmd.Context(), run.ID); err != nil {
					return err
				}
				err := c.takeDown(cmd.Context(), run, provision.Selector{})
				if a.json {
					return errors.Join(err, a.printJSON(map[string]any{"run": run.ID, "cancelled": true}))
				}
				for _, line := range whereCancelled(run, ownerAlive(c.state, run.ID) != "") {
					a.printf("%s\n", line)
				}
				a.printf("cancelled; carry on with `rackproof resume %s`\n", run.ID)
				return err
			})
		},
	}
	selectorFlags(cmd, &sel)
	a.engineFlags(cmd)
	return cmd
}

func stopCommand(a *app) *cobra.Command {
	var sel provision.Selector
	var all bool
	cmd := &cobra.Command{
		Use:   "stop (RUN | --rack R | --machines a,b | --all)",
		Short: "Take loads down at once",
		Long: `Take loads down at once: of a run, of a rack in all runs, or of all runs.

Example:
  rackproof stop --rack R12

` + exitHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && sel.All() && !all {
				return usageError(errors.New("stop what? Name a run, --rack, --machines or --all"), "rackproof stop --all")
			}
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			return a.stop(cmd.Context(), name, sel)
		},
	}
	selectorFlags(cmd, &sel)
	a.engineFlags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "every run of this state folder")
	return cmd
}

func (a *app) stop(ctx context.Context, name string, sel provision.Selector) error {
	c, err := a.newCarry()
	if err != nil {
		return err
	}
	engine, err := c.look(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = engine.Close() }()
	runs, err := allRuns(ctx, engine)
	if err != nil {
		return err
	}
	if name != "" {
		run, err := findRun(ctx, engine, name, "")
		if err != nil {
			return err
		}
		runs = []*provision.Run{run}
	}
	if err := selectorIn(sel, runs...); err != nil {
		return err
	}
	stopped := []string{}
	var failed *multierror.Error
	for _, run := range runs {
		names := underWay(run, sel)
		if len(names) == 0 {
			continue
		}
		chosen := provision.Selector{Machines: names} // states are about to change
		if err := tellRun(ctx, engine, run.ID, "", provision.Stopped, chosen); err != nil {
			return err
		}
		failed = multierror.Append(failed, c.takeDown(ctx, run, chosen))
		for _, n := range names {
			stopped = append(stopped, string(run.ID)+"/"+n)
		}
	}
	if a.json {
		failed = multierror.Append(failed, a.printJSON(map[string]any{"stopped": stopped}))
	} else {
		a.printf("stopped %d machines %v\n", len(stopped), stopped)
	}
	return failed.ErrorOrNil()
}

func underWay(run *provision.Run, sel provision.Selector) []string {
	var names []string
	for i := range run.Machines {
		if m := &run.Machines[i]; !m.Over() && sel.Match(m) {
			names = append(names, m.Machine.Name)
		}
	}
	return names
}

// stopWithin is how long a load may take to come down (PEOPLE.md).
const stopWithin = 5 * time.Second

// takeDown ends the loads of a run. A process that carries it was told by its event;
// it may yet have to connect to a host on which an earlier one has left a load.
func (c *carry) takeDown(ctx context.Context, run *provision.Run, sel provision.Selector) error {
	if c.app.at.remote() { // its worker hears of it with its next heartbeat, and is beside the machine
		c.app.progress("the workers of site %s were told", c.app.at.site)
		return nil
	}
	who := ownerAlive(c.state, run.ID)
	if who != "" {
		c.app.progress("%s was told", who)
	}
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	loads := map[string]bool{}
	for _, s := range run.Plan.Steps {
		loads[s.Name] = s.Loads
	}
	bench := c.bench()
	defer func() { _ = bench.Close() }()
	var group multierror.Group
	for i := range run.Machines {
		m := &run.Machines[i]
		if m.Over() || !sel.Match(m) || !loads[m.Step] || m.Facts[provision.FactBootID] == "" {
			continue
		}
		group.Go(func() error { return bench.StopLoads(ctx, run.ID, m, who != "") })
	}
	err := group.Wait().ErrorOrNil()
	if err != nil && who != "" { // the other process does it
		c.app.progress("%v", err)
		return nil
	}
	return err
}

// withRun opens the journal and finds a run for a verb that asks something of it.
func (a *app) withRun(ctx context.Context, name string, do func(*carry, engine, *provision.Run) error) error {
	c, err := a.newCarry()
	if err != nil {
		return err
	}
	engine, err := c.look(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = engine.Close() }()
	run, err := findRun(ctx, engine, name, "")
	if err != nil {
		return err
	}
	if run.Finished() {
		return usageError(fmt.Errorf("%s is finished", run.ID), "rackproof status "+string(run.ID))
	}
	return do(c, engine, run)
}
