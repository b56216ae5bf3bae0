package main

import (
	"context"
	"errors"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision"
)

func retestCommand(a *app) *cobra.Command {
	var run, swapped string
	var yes, whole bool
	var on failOn
	cmd := &cobra.Command{
		Use:   "retest MACHINE…",
		Short: "Test a machine anew, in the same run, after a repair",
		Long: `Test a machine anew, in the same run, so that the chain of attempts and serials
stays whole. It is the only way in which a finished machine is touched again; one
that PASSED is only with --yes.

What was measured of parts that neither failed nor were touched, and that are the very
same by serial number, is not measured again where that takes long (nvbandwidth, nccl,
dcgm, gdsio, stream): the findings of the earlier attempt stay, with its number. All else
is read and loaded anew. A part that is another one than before is measured whole.

Where two parts of one kind were exchanged, --swapped names their places as the
report does. The retest then ends in one sentence: the fault follows the part, or
stays with the slot, or is gone; or it cannot tell, and says why: no serial number is
known, or more than these two parts changed. The sentence stands in the table, in the
worklist and in the report. A part that came to replace another is judged as a new one,
whatever was ordered: hours, data written and remapped rows beyond the limits of new
parts are "not as ordered".

Example:
  rackproof retest r12u07
  rackproof retest r12u07 --swapped 'P1-DIMMA1<->P1-DIMMB1'

` + failOnHelp + "\n\n" + exitHelp,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			rep := provision.Repaired{Note: "retest", Whole: whole}
			if swapped != "" {
				places, err := provision.ParseSwap(swapped)
				if err == nil && len(args) > 1 {
					err = errors.New("--swapped is of one machine")
				}
				if err != nil {
					return usageError(err, "rackproof retest MACHINE --swapped 'A1<->B1'")
				}
				rep.Swapped, rep.Note, rep.Part = places, "swapped "+strings.Join(places, " and "), strings.Join(places, ", ")
			}
			return a.again(cmd.Context(), personWord{run: run, machines: args, kind: provision.Retested, rep: rep, yes: yes, failOn: &on})
		},
	}
	on.flag(cmd)
	a.engineFlags(cmd)
	cmd.Flags().StringVar(&swapped, "swapped", "", "the two places whose parts were exchanged, `A1<->B1` in quotes")
	cmd.Flags().BoolVar(&whole, "whole", false, "measure all again, also what neither failed nor was touched")
	cmd.Flags().StringVar(&run, "run", "", "the `run`, where several have the machine")
	cmd.Flags().BoolVar(&yes, "yes", false, "also of a machine that PASSED")
	return cmd
}

// again gives the word of a person about machines, and carries the run on for
// these machines unless another process does.
func (a *app) again(ctx context.Context, word personWord) error {
	c, err := a.newCarry()
	if err != nil {
		return err
	}
	c.failOn = word.failOn
	word.rep.At, word.rep.By = time.Now().UTC(), userName()
	engine, err := c.look(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = engine.Close() }()
	run, err := runWaiting(ctx, engine, word.run, word.machines[0])
	if err != nil {
		return err
	}
	for _, name := range word.machines {
		if err := word.fits(run, name); err != nil {
			return err
		}
	}
	return c.again(ctx, engine, run, word)
}

// again tells the word to the run and carries it on.
func (c *carry) again(ctx context.Context, engine engine, run *provision.Run, word personWord) error {
	for _, name := range word.machines {
		if err := tellRun(ctx, engine, run.ID, name, word.kind, word.rep); err != nil {
			return err
		}
	}
	if who := c.carriedBy(ctx, engine, run.ID); who != "" {
		c.app.progress("%s picks it up", who)
		return nil
	}
	if run.Cancelled {
		if err := tellRun(ctx, engine, run.ID, "", provision.Resumed, nil); err != nil {
			return err
		}
	}
	return c.run(ctx, run.ID, provision.Selector{Machines: word.machines})
}

func userName() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(u.Username)
}
