package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	a.stateDir = filepath.Join(dir, "state") // a demo leaves the user's own state alone
	specs := demoRack(o.machines)
	rack, err := simrack.Start(ctx, simrack.Options{Machines: specs, Seed: o.seed, Log: a.log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rack.Close()) }()
	batch, err := a.demoBatch(rack, dir)
	if err != nil {
		return err
	}
	a.progress("A simulated rack of %d machines is up: nothing here is hardware. Batch file: %s", len(specs), batch.Source)
	run, err := a.demoRun(ctx, batch, rack, specs[goodMachines].Name)
	if err != nil {
		return err
	}
	if err := a.demoTable(run, o); err != nil {
		return err
	}
	return exitWith(run.ExitCode(provision.Selector{}))
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

// demoBatch writes the batch file and reads it as any other; its credentials are
// in the environment.
func (a *app) demoBatch(rack *simrack.Rack, dir string) (*provision.Batch, error) {
	for name, value := range rack.Credentials() {
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	path := filepath.Join(dir, "batch.yaml")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, rack.BatchYAML("demo"), 0o644); err != nil {
		return nil, err
	}
	return provision.LoadBatch(path, a.library())
}

// demoRun carries the batch, plays the hands for one machine, and carries it on.
func (a *app) demoRun(ctx context.Context, batch *provision.Batch, rack *simrack.Rack, repaired string) (*provision.Run, error) {
	c, err := a.openCarrier(ctx, quickBurner{provision.NodeBurner{Log: a.log}})
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.close() }()
	id, err := c.engine.Submit(ctx, batch, provision.Qualify())
	if err != nil {
		return nil, err
	}
	run, err := c.settle(ctx, id)
	if err != nil {
		return nil, err
	}
	m := run.Find(repaired)
	if m.Hands == nil {
		return nil, fmt.Errorf("the demo's machine %s waits for nobody: it is %s (%s)", repaired, m.State, m.Why)
	}
	a.progress("\n%s waits for hands: %s\n  do   %s\n  then %s\nHands: done. The part is replaced, the machine is tested again.\n", repaired, m.Hands.Where, m.Hands.Do[0].Do, m.Hands.Next)
	if err := rack.Repair(repaired); err != nil {
		return nil, err
	}
	done, err := provision.NewEvent(id, repaired, provision.HandsDone, provision.Repaired{At: time.Now().UTC(), By: "demo", Part: m.Hands.Where, Note: "replaced, in simulation"})
	if err != nil {
		return nil, err
	}
	if err := c.engine.Tell(ctx, done); err != nil {
		return nil, err
	}
	return c.settle(ctx, id)
}

// demoTable prints what each machine came to, and keeps reports and evidence.
func (a *app) demoTable(run *provision.Run, o demoOptions) error {
	state, err := a.state()
	if err != nil {
		return err
	}
	machines, err := report.Folder(provision.RunDir(state, run.ID))
	if err != nil {
		return err
	}
	if o.keep != "" {
		if err := a.demoKeep(run, machines, state, o.keep); err != nil {
			return err
		}
	}
	judged := make([]burnin.Judgement, len(machines))
	for i, m := range machines {
		judged[i] = m.Judgement
	}
	if a.json {
		return a.printJSON(report.NewBatchJSON(string(run.ID), judged))
	}
	slices.SortStableFunc(judged, func(x, y burnin.Judgement) int { return demoOrder(x) - demoOrder(y) })
	for i := range judged {
		if err := report.Text(a.stdout, &judged[i]); err != nil {
			return err
		}
	}
	a.printf("\n%s (simulated)\n", report.Tally(judged))
	if o.keep != "" {
		a.printf("reports: %s\n", filepath.Join(o.keep, "reports", "index.html"))
	}
	return nil
}

// demoOrder puts what needs people first.
func demoOrder(j burnin.Judgement) int {
	return slices.Index([]burnin.Result{burnin.Failed, burnin.Incomplete, burnin.PassedWithDeviations, burnin.Passed}, j.Result)
}

// demoKeep writes the reports, and the evidence of each machine's last attempt.
func (a *app) demoKeep(run *provision.Run, machines []*report.Machine, state, dir string) error {
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
const demoPatience = 6 * time.Second

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
