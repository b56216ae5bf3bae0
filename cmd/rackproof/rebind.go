package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision"
)

// rebindOptions are the flags of `rackproof rebind`.
type rebindOptions struct {
	wish      provision.RebindWish
	run, note string
	yes       bool
	failOn    failOn
}

const rebindLong = `Say that the board or the BMC of a machine was exchanged, so that its record goes on
under the new serial number, UUID, MAC or certificate. It logs in to the BMC that is
there now, and binds the machine to it where that shows the number which you read at the
machine (--as: serial number, UUID, or MAC of the BMC), and where no other machine of the
run is known by it. The certificate of the new BMC is pinned in the place of the old one,
for this machine alone.

Then the machine gets a new attempt in the same run, as with retest --whole: what was
proven was proven of another board. That BMC and host are one machine is proven anew
before anything is changed on either. The old and the new numbers, who said so and the
note stand in the report and in the audit log. A batch file that still states the old
numbers means the same machine; put the new ones into it before run --again.

It is for runs that this state folder carries. The login is that of the batch: where a
new BMC has another password, put that where the batch file says it is, first.

Examples:
  rackproof rebind r12u07 --as S498771Z9 --note "RMA 4711, board exchanged"
  rackproof rebind r12u07 --as 7c:c2:55:00:0b:21 --note "BMC card exchanged"
  rackproof rebind r12u07 --as S498771Z9 --bmc 10.0.12.93 --mac 7c:c2:55:00:0c:01

`

func rebindCommand(a *app) *cobra.Command {
	var o rebindOptions
	cmd := &cobra.Command{
		Use:   "rebind MACHINE --as NUMBER",
		Short: "Say that a machine's board or BMC was exchanged; its record goes on",
		Long:  rebindLong + failOnHelp + "\n\n" + exitHelp,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.wish.BMC != "" {
				if err := checkBMCAddr(o.wish.BMC); err != nil {
					return usageError(err, "rackproof rebind --help")
				}
			}
			return a.rebind(cmd.Context(), args[0], o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.wish.As, "as", "", "`number` that you read at the machine: serial number, UUID, or MAC of the BMC")
	f.StringVar(&o.wish.BMC, "bmc", "", "`address` of the new BMC, where it is another one")
	f.StringVar(&o.wish.MAC, "mac", "", "`MAC` of the port that boots now, where the batch names another")
	f.StringVar(&o.note, "note", "", "`text` for the record, such as the number of the RMA")
	f.StringVar(&o.run, "run", "", "the `run`, where several have the machine")
	f.BoolVar(&o.yes, "yes", false, "also of a machine that PASSED")
	o.failOn.flag(cmd)
	_ = cmd.MarkFlagRequired("as") // the flag is there
	return cmd
}

func (a *app) rebind(ctx context.Context, name string, o rebindOptions) error {
	c, err := a.newCarry()
	if err != nil {
		return err
	}
	c.failOn = &o.failOn
	engine, err := c.look(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = engine.Close() }()
	run, err := runWaiting(ctx, engine, o.run, name)
	if err != nil {
		return err
	}
	word := personWord{run: o.run, machines: []string{name}, kind: provision.Rebind, yes: o.yes}
	if err := word.fits(run, name); err != nil {
		return err
	}
	bench := c.bench()
	to, err := bench.Rebind(ctx, run, name, o.wish)
	if err = errors.Join(err, bench.Close()); err != nil {
		return rebindRefused(name, err)
	}
	what := to.String()
	a.progress("%s: %s exchanged: %s", name, to.Part(), what)
	word.rep = provision.Repaired{
		At: time.Now().UTC(), By: provision.Operator(), Part: to.Part(), Whole: true, Rebound: &to,
		Note: strings.TrimSuffix("exchanged: "+what+", by "+provision.Operator()+". "+o.note, ". "),
	}
	return c.again(ctx, engine, run, word)
}

// rebindRefused gives an error of Rebind its exit code.
func rebindRefused(name string, err error) error {
	if refused, ok := errors.AsType[*provision.RebindError](err); ok {
		return &exitError{code: exitUsage, Code: "refused", Machine: name, Message: refused.Why + "; nothing was changed", Next: refused.Next, err: err}
	}
	if stuck, ok := errors.AsType[*provision.Stuck](err); ok {
		return &exitError{code: exitNotFinished, Code: "stuck", Machine: name, Message: stuck.Why + "; nothing was changed", Next: stuck.Do, err: err}
	}
	return bmcError(name, err)
}
