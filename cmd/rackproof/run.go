package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision"
)

type runFlags struct {
	file, workflow, engine string
	yes, again             bool
	sel                    provision.Selector
}

func runCommand(a *app) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run -f batch.yaml",
		Short: "Carry a batch of machines from their BMCs to test records",
		Long: `Carry a batch of machines from their BMCs to test records.

The batch's name is the run's identity: the same batch again resumes an open run,
whatever happened to the process before, and prints the result of a finished one.
A finished machine is never touched again without ` + "`retest`" + `.

Example:
  rackproof run -f batch.yaml
  rackproof run -f batch.yaml --rack R12 --json

` + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runBatch(cmd, f) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.file, "file", "f", "", "batch `file`")
	fl.StringVar(&f.workflow, "workflow", "", "another workflow than the batch's")
	fl.StringVar(&f.engine, "engine", "journal", "engine that carries the run (journal)")
	fl.BoolVar(&f.yes, "yes", false, "agree to machines of an open run having another serial, UUID or BMC than before")
	fl.BoolVar(&f.again, "again", false, "a new run of a batch that is finished")
	selectorFlags(cmd, &f.sel)
	_ = cmd.MarkFlagRequired("file")
	return cmd
}

func (a *app) runBatch(cmd *cobra.Command, f runFlags) error {
	if f.engine != "journal" {
		return usageError(fmt.Errorf("--engine %s: this version has the journal engine only", f.engine), "")
	}
	batch, workflow, err := a.loadBatch(f.file, f.workflow, f.sel)
	if err != nil {
		return err
	}
	batch.Confirmed, batch.Again = f.yes, f.again
	c, err := a.newCarry()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	engine, err := c.look(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = engine.Close() }()
	id, err := engine.Submit(ctx, batch, workflow)
	if _, ok := errors.AsType[*provision.EditError](err); ok {
		return usageError(err, "")
	}
	if err != nil {
		return err
	}
	run, err := engine.Run(ctx, id)
	if err != nil {
		return err
	}
	if edit := provision.Compare(&run, batch); len(edit.Kept) > 0 {
		a.progress("%s: %s", id, edit)
	}
	if run.Finished() {
		a.progress("%s is finished. A machine anew: rackproof retest MACHINE. All of it anew: rackproof run -f %s --again", id, f.file)
		return c.finish(&run, f.sel, false)
	}
	for _, line := range provision.PowerAdvice(batch) {
		a.progress("power: %s", line)
	}
	return c.run(ctx, id, f.sel)
}

// loadBatch reads a batch and the workflow it wants. Bad input ends with every
// mistake at its place, before anything is contacted.
func (a *app) loadBatch(file, workflow string, sel provision.Selector) (*provision.Batch, provision.Workflow, error) {
	var none provision.Workflow
	batch, err := provision.LoadBatch(file, a.library())
	if err != nil {
		next := "name a batch file with -f"
		if _, ok := errors.AsType[profiles.Problems](err); ok {
			next = "correct the file; nothing was contacted"
		}
		return nil, none, usageError(err, next)
	}
	if err := sel.Check(batch); err != nil {
		return nil, none, usageError(err, "")
	}
	if workflow != "" {
		batch.Workflow = workflow
	}
	for _, w := range provision.Workflows() {
		if w.Name == batch.Workflow {
			return batch, w, nil
		}
	}
	return nil, none, usageError(fmt.Errorf("there is no workflow %q", batch.Workflow), "--workflow qualify")
}
