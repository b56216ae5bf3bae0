package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/provision"
)

func captureCommand(a *app) *cobra.Command {
	var (
		node   nodeFlags
		out    string
		script bool
	)
	cmd := &cobra.Command{
		Use:   "capture (-H user@host | --local) --out DIR, or capture --script",
		Short: "Collect evidence of a machine and judge nothing",
		Long: `Collect evidence of a machine and judge nothing. It only reads: it loads nothing,
writes to no disk of the machine and changes no setting.

With --script it prints one POSIX shell script for a host that cannot be reached
from here. Run there as root, it writes HOST.tar.gz, which ` + "`rackproof judge`" + ` reads.

Example:
  rackproof capture -H root@10.0.13.7 --out r12u07
  rackproof capture --script >capture.sh

` + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if script {
				return a.captureScript()
			}
			if err := node.check(); err != nil {
				return err
			}
			if out == "" {
				return usageError(errors.New("no folder for the evidence"), "--out DIR")
			}
			return a.capture(cmd.Context(), &node, out)
		},
	}
	node.add(cmd)
	cmd.Flags().StringVar(&out, "out", "", "evidence `folder` to write")
	cmd.Flags().BoolVar(&script, "script", false, "print a shell script for a host that cannot be reached")
	cmd.MarkFlagsMutuallyExclusive("script", "host", "local")
	cmd.MarkFlagsMutuallyExclusive("script", "out")
	return cmd
}

func (a *app) captureScript() error {
	s, err := burnin.Script(burnin.Probes(), nil, versionString())
	if err != nil {
		return err
	}
	a.printf("%s", s)
	return nil
}

func (a *app) capture(ctx context.Context, f *nodeFlags, out string) error {
	store, meta, err := openAttempt(out, 1, 0, "name another with --out")
	if err != nil {
		return err
	}
	sh, origin, err := f.open(ctx, a.log, func(s string) { a.progress("%s", s) })
	if err != nil {
		return err
	}
	defer func() { _ = sh.Close() }()
	err = burnin.Burn(ctx, burnin.BurnOptions{
		Node:  &burnin.Node{Shell: sh, Origin: origin, Probes: burnin.Probes(), Log: a.log, Progress: a.burninProgress().show},
		Store: store, Machine: burnin.Machine{Name: f.name()}, Run: meta.Run, Attempt: meta.Attempt,
		Owner: provision.Operator(), Rackproof: versionString(), Resume: true, Log: a.log,
	})
	if err != nil {
		return nodeError(f.name(), err)
	}
	rec, err := store.Record()
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"machine": f.name(), "out": out, "evidence": len(rec.Evidence)})
	}
	a.printf("%s: %d pieces of evidence in %s\n", f.name(), len(rec.Evidence), out)
	a.progress("judge it: rackproof judge --profile NAME %s", out)
	return nil
}
