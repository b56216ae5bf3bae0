package main

import (
	"context"
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision"
)

func retestCommand(a *app) *cobra.Command {
	var run string
	cmd := &cobra.Command{
		Use:   "retest MACHINE…",
		Short: "Test a machine anew, in the same run, after a repair",
		Long: `Test a machine anew, in the same run, so that the chain of attempts and serials
stays whole. It is the only way in which a finished machine is touched again.

Example:
  rackproof retest r12u07

` + exitHelp,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.again(cmd.Context(), run, args, provision.Retested, "retest")
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "the `run`, where several have the machine (default: the newest)")
	return cmd
}

// again gives the word of a person about machines, and carries the run on for
// these machines unless another process does.
func (a *app) again(ctx context.Context, runName string, machines []string, kind provision.Kind, note string) error {
	c, err := a.newCarry()
	if err != nil {
		return err
	}
	engine, err := c.look(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = engine.Close() }()
	run, err := findRun(ctx, engine, runName, machines[0])
	if err != nil {
		return err
	}
	for _, name := range machines {
		m := run.Find(name)
		if m == nil {
			return usageError(fmt.Errorf("no machine %q in run %s", name, run.ID), "rackproof status "+string(run.ID))
		}
		if m.Runnable() {
			return usageError(fmt.Errorf("%s is under way (%s)", name, m.Step), "rackproof status "+string(run.ID))
		}
	}
	for _, name := range machines {
		if err := tellRun(ctx, engine, run.ID, name, kind, provision.Repaired{At: time.Now().UTC(), By: userName(), Note: note}); err != nil {
			return err
		}
	}
	if who := ownerAlive(c.state, run.ID); who != "" {
		a.progress("%s picks it up", who)
		return nil
	}
	if run.Cancelled {
		if err := tellRun(ctx, engine, run.ID, "", provision.Resumed, nil); err != nil {
			return err
		}
	}
	return c.run(ctx, run.ID, provision.Selector{Machines: machines})
}

func userName() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(u.Username)
}
