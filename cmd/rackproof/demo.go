package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/nodetest"
	"github.com/rackproof/rackproof/burnin/report"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/simrack"
)

// demoOptions are the flags of `rackproof demo`.
type demoOptions struct {
	machines int
	seed     uint64
	keep     string
}

// goodMachines of the demo's rack have no fault; the others one each.
const goodMachines = 2

// demoCommand is `rackproof demo`: the whole job on a simulated rack.
func demoCommand(a *app) *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "The whole job on a simulated rack, from BMC to test record",
		Long: "Start a simulated rack on loopback (real TLS Redfish, real SSH; nothing is hardware) and\n" +
			"carry a batch through it: two good machines, then one for each fault. The first faulty\n" +
			"one is repaired and tested again. Prints the table; with --keep writes the reports and\n" +
			"one FILE.tar.gz of evidence for each machine. Ends with exit code 3: hardware failed.\n\n" +
			"Example:\n  rackproof demo --keep /tmp/demo\n\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.machines < goodMachines+1 {
				return usageError(fmt.Errorf("--machines %d: the demo needs %d or more", o.machines, goodMachines+1), "")
			}
			return a.demo(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.machines, "machines", goodMachines+len(nodetest.Faults), "how many")
	f.Uint64Var(&o.seed, "seed", 1, "what serial numbers are drawn from")
	f.StringVar(&o.keep, "keep", "", "`folder` for the batch file, reports and evidence")
	return cmd
}

func (a *app) demo(ctx context.Context, o demoOptions) (err error) {
	dir := o.keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "rackproof-demo-*"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	// A demo leaves the user's own state alone.
	if a.stateDir, err = demoState(dir); err != nil {
		return err
	}
	specs := demoRack(o.machines)
	rack, err := simrack.Start(ctx, simrack.Options{Machines: specs, Seed: o.seed, Log: a.log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rack.Close()) }()
	c, err := a.newCarry()
	if err != nil {
		return err
	}
	c.noPage = o.keep == "" // it would be gone with the folder
	c.burner = quickBurner{provision.NodeBurner{Log: c.logger()}}
	a.progress("A simulated rack of %d machines is up; nothing here is hardware.", len(specs))
	run, err := a.demoRun(ctx, c, rack, dir, specs[goodMachines].Name)
	if err != nil {
		return err
	}
	if o.keep != "" {
		if err := demoKeep(run, c.state, o.keep); err != nil {
			return err
		}
		a.progress("kept: %s, reports/index.html and one tar.gz for each machine", o.keep)
	}
	return c.finish(run, provision.Selector{}, ctx.Err() != nil)
}

// demoState makes the state folder of a demo. That of an earlier demo goes: its
// rack is gone, so nothing of it can be resumed. Only what a demo made is removed.
func demoState(dir string) (string, error) {
	state := filepath.Join(dir, "state")
	mark := filepath.Join(state, "demo")
	if _, err := os.Stat(mark); err == nil {
		if err := os.RemoveAll(state); err != nil {
			return "", err
		}
	} else if _, err := os.Stat(state); err == nil {
		return "", usageError(fmt.Errorf("%s is there and no demo made it", state), "choose another folder with --keep")
	}
	return state, errors.Join(os.MkdirAll(state, 0o700), os.WriteFile(mark, []byte("This state folder belongs to `rackproof demo`.\n"), 0o600))
}

// demoRack lists the machines: good ones, then one for each fault, then good ones
// again.
func demoRack(n int) []simrack.MachineSpec {
	specs := make([]simrack.MachineSpec, n)
	faults := nodetest.FaultNames()
	for i := range specs {
		if f := i - goodMachines; f >= 0 && f < len(faults) {
			specs[i].Fault = faults[f]
		}
		specs[i] = specs[i].Placed(i)
	}
	return specs
}

// demoRun carries the batch as `run` does, plays the hands for one machine as
// `hands` and `done` would have it, and carries the batch on.
func (a *app) demoRun(ctx context.Context, c *carry, rack *simrack.Rack, dir, repaired string) (*provision.Run, error) {
	for name, value := range rack.Credentials() { // the batch file refers to them
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	path := filepath.Join(dir, "batch.yaml")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(path, rack.BatchYAML("demo"), 0o644)); err != nil {
		return nil, err
	}
	batch, workflow, err := a.loadBatch(path, "", provision.Selector{})
	if err != nil {
		return nil, err
	}
	engine, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = engine.Close() }()
	id, err := engine.Submit(ctx, batch, workflow)
	if err != nil {
		return nil, err
	}
	run, err := c.serve(ctx, id, provision.Selector{})
	if err != nil || ctx.Err() != nil {
		return run, errors.Join(err, context.Cause(ctx))
	}
	m := run.Find(repaired)
	if m.Hands == nil {
		return nil, fmt.Errorf("the demo's machine %s waits for nobody: it is %s (%s)", repaired, m.State, m.Line())
	}
	a.progress("\n$ rackproof hands\n%s", choresText(provision.Chores(run, provision.Selector{Machines: []string{repaired}})))
	if err := rack.Repair(repaired); err != nil {
		return nil, err
	}
	a.progress("The hands are simulated too: the part is put right.\n$ rackproof done %s", repaired)
	done := provision.Repaired{At: time.Now().UTC(), By: "demo", Part: m.Hands.Where, Note: "put right, in simulation"}
	if err := tellRun(ctx, engine, id, repaired, provision.HandsDone, done); err != nil {
		return nil, err
	}
	return c.serve(ctx, id, provision.Selector{})
}

// demoKeep writes the reports, and the evidence of each machine's last attempt.
func demoKeep(run *provision.Run, state, dir string) error {
	machines, err := report.Folder(provision.RunDir(state, run.ID))
	if err != nil {
		return err
	}
	if _, err := report.Write(filepath.Join(dir, "reports"), string(run.ID), "", machines, []string{"html", "json"}); err != nil {
		return err
	}
	for i := range run.Machines {
		m := &run.Machines[i]
		f, err := os.Create(filepath.Join(dir, m.Machine.Name+".tar.gz"))
		if err != nil {
			return err
		}
		err = burnin.Pack(provision.AttemptDir(state, run.ID, m.Machine.Name, m.Attempt), f)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// demoPatience is the longest that the demo waits for one command: a tool that
// hangs shows the same as after the minutes that real hardware is given.
const demoPatience = 5 * time.Second

// quickBurner is the ordinary burner with less patience for commands.
type quickBurner struct{ provision.Burner }

// Burn implements provision.Burner.
func (q quickBurner) Burn(ctx context.Context, b provision.BurnIn) error {
	b.Node = quickShell{b.Node}
	return q.Burner.Burn(ctx, b)
}

type quickShell struct{ burnin.Shell }

// Run implements burnin.Shell.
func (q quickShell) Run(ctx context.Context, c burnin.Command) (burnin.Output, error) {
	if c.Deadline == 0 || c.Deadline > demoPatience {
		c.Deadline = demoPatience
	}
	return q.Shell.Run(ctx, c)
}
