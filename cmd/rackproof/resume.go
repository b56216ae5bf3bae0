package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision"
)

func resumeCommand(a *app) *cobra.Command {
	var sel provision.Selector
	var on failOn
	var end string
	cmd := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Carry a run on: after a crash, a cancel or a stop, or what was STUCK",
		Long: `Carry a run on: after a crash, a cancel or a stop, or to ask again what was STUCK.
Each step asks its machine first, so nothing happens twice. Without RUN it is the
newest run. A change that was stopped because machines failed alike is let go on:
resume says that somebody saw to it.

` + untilHelp + `

Example:
  rackproof resume po4711-r12
  rackproof resume po4711-r12 --until 06:00

` + failOnHelp + "\n\n" + exitHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			until, err := a.deadlineOf(end)
			if err != nil {
				return err
			}
			c, err := a.newCarry()
			if err != nil {
				return err
			}
			c.failOn = &on
			ctx := cmd.Context()
			engine, err := c.look(ctx)
			if err != nil {
				return err
			}
			defer func() { _ = engine.Close() }()
			run, err := findRun(ctx, engine, strings.Join(args, ""), "")
			if err != nil {
				return err
			}
			if err := sel.Check(run.Batch); err != nil {
				return usageError(err, "")
			}
			if run.Finished() {
				a.progress("%s is finished; a machine anew: rackproof retest MACHINE", run.ID)
				return c.finish(run, sel, false)
			}
			if sel, err = sel.Named(run); err != nil { // states are about to change
				return usageError(err, "rackproof status "+string(run.ID))
			}
			if err := tellRun(ctx, engine, run.ID, "", provision.Resumed, provision.Resume{Selector: sel, Release: true, Until: until}); err != nil {
				return err
			}
			if who := c.carriedBy(ctx, engine, run.ID); who != "" {
				a.progress("%s picks it up", who)
				return nil
			}
			return c.run(ctx, run.ID, sel)
		},
	}
	untilFlag(cmd, &end)
	selectorFlags(cmd, &sel)
	on.flag(cmd)
	a.engineFlags(cmd)
	return cmd
}
