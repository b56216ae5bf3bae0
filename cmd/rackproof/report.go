package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/burnin/report"
	"github.com/rackproof/rackproof/provision"
)

func reportCommand(a *app) *cobra.Command {
	var formats []string
	var out string
	var by judgeFlags
	var sel provision.Selector
	cmd := &cobra.Command{
		Use:   "report (RUN | DIR | FILE.tar.gz)",
		Short: "Render the test record of a run or of stored evidence",
		Long: `Render the test record of a run or of stored evidence: one page per machine, and
one over all of them. Everything on it comes from the evidence folder, which is
judged again with the profile and spec that stand in it; --profile and --spec go
over them, and a bare capture needs --profile. With --format tar there is one
evidence packet for each machine, NAME.tar.gz: what a vendor's ticket wants.

Example:
  rackproof report po4711-r12 --out reports
  rackproof report ./r12u07.tar.gz --format json --out .
  rackproof report po4711-r12 --machines r12u07 --format tar --out ticket
  rackproof report ./r12u07.tar.gz --format telemetry --out .

` + exitHelp,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, f := range formats {
				if !slices.Contains([]string{"html", "json", "telemetry", "tar"}, f) {
					return usageError(fmt.Errorf("--format %s: this version writes html, json, telemetry and tar", f), "--format html,json,telemetry,tar")
				}
			}
			path, err := a.evidencePath(args[0])
			if err != nil {
				return err
			}
			judged, err := a.judgedBy(by)
			if err != nil {
				return err
			}
			ms, err := judged.Folder(path)
			if err != nil {
				return usageError(err, "name a run of `rackproof status`, or an evidence folder or tarball")
			}
			if ms, err = a.chosen(cmd.Context(), args[0], ms, sel); err != nil {
				return err
			}
			return a.renderReport(args[0], ms, out, formats)
		},
	}
	cmd.Flags().StringSliceVar(&formats, "format", []string{"html", "json"}, "`list` of html, json, telemetry, tar")
	cmd.Flags().StringVar(&by.profile, "profile", "", "`name` or file of the profile (default: the stored one)")
	cmd.Flags().StringVar(&by.spec, "spec", "", "`name` or file of the acceptance spec (default: the stored one, else standard)")
	selectorFlags(cmd, &sel)
	cmd.Flags().StringVar(&out, "out", "reports", "`folder` to write to")
	return cmd
}

// judgedBy finds the profile and spec that were named.
func (a *app) judgedBy(f judgeFlags) (by report.By, err error) {
	lib := a.library()
	if f.profile != "" {
		if by.Profile, err = lib.Profile(f.profile); err != nil {
			return by, usageError(err, "rackproof profile list")
		}
	}
	if f.spec != "" {
		if by.Spec, err = lib.Spec(f.spec); err != nil {
			return by, usageError(err, "rackproof profile list")
		}
	}
	by.Default, err = lib.Spec("standard")
	return by, err
}

// chosen keeps the machines that sel chooses: by the states of the run that was
// named, or by what stands in the evidence.
func (a *app) chosen(ctx context.Context, name string, ms []*report.Machine, sel provision.Selector) ([]*report.Machine, error) {
	if sel.All() {
		return ms, nil
	}
	run, err := a.runOf(ctx, name, ms)
	if err != nil {
		return nil, err
	}
	if err := selectorIn(sel, run); err != nil {
		return nil, err
	}
	if sel, err = sel.Named(run); err != nil {
		return nil, usageError(err, "")
	}
	return slices.DeleteFunc(ms, func(m *report.Machine) bool { return !slices.Contains(sel.Machines, m.Machine.Name) }), nil
}

// runOf is the run called name, else one made of stored evidence.
func (a *app) runOf(ctx context.Context, name string, ms []*report.Machine) (*provision.Run, error) {
	if _, err := os.Stat(name); err != nil { // as evidencePath: a path goes first
		c, err := a.newCarry()
		if err != nil {
			return nil, err
		}
		engine, err := c.look(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { _ = engine.Close() }()
		return findRun(ctx, engine, name, "")
	}
	run := &provision.Run{ID: provision.RunID(name), Batch: &provision.Batch{}}
	for _, m := range ms {
		one := provision.Machine{Name: m.Machine.Name, Rack: m.Machine.Rack, U: m.Machine.U}
		run.Batch.Machines = append(run.Batch.Machines, one)
		run.Machines = append(run.Machines, provision.MachineRun{Machine: one, Attempt: m.Machine.Attempt, Result: m.Result, State: provision.StateOf(m.Result)})
	}
	return run, nil
}

func (a *app) renderReport(name string, ms []*report.Machine, out string, formats []string) error {
	batch := strings.TrimSuffix(filepath.Base(name), ".tar.gz")
	written, err := report.Write(out, batch, "", ms, formats)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"written": written})
	}
	for _, w := range written {
		a.printf("%s\n", w)
	}
	return nil
}

// evidencePath finds what the caller named: a path as it is, else a run of the
// state folder.
func (a *app) evidencePath(name string) (string, error) {
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	state, err := a.state()
	if err != nil {
		return "", err
	}
	path := filepath.Join(state, "runs", filepath.Base(name))
	if _, err := os.Stat(path); err != nil {
		return "", usageError(fmt.Errorf("%s is neither a folder, a tarball, nor a run of %s", name, state), "rackproof status")
	}
	return path, nil
}
