package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision"
)

type runFlags struct {
	file, plan  string
	workflow    string
	until       string
	yes, again  bool
	diagnostics bool
	eraseDisks  int
	sel         provision.Selector
	failOn      failOn
}

func runCommand(a *app) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run (-f batch.yaml | --plan night.plan)",
		Short: "Carry a batch of machines from their BMCs to test records",
		Long: `Carry a batch of machines from their BMCs to test records.

The batch's name is the run's identity: the same batch again resumes an open run,
whatever happened to the process before, and prints the result of a finished one.
An edited file is compared machine by machine. A finished machine is never touched
again without ` + "`retest`" + `; where only its profile or spec changed, its evidence is
judged again and nothing is burned in. A machine of an open run that has another
serial, UUID or BMC now is asked about; without a terminal --yes decides.

` + workflowHelp() + `

With --plan the run does exactly what the plan says, or refuses; a machine on which a step
would change anything else by then is left alone and waits. A run that writes over disks
wants their number, of all machines together, as --erase-disks.

` + untilHelp + `

--json prints one object at the end: {"schema": "rackproof/batch/1", "name": …, "machines": […],
"causes": […], "outliers": […], "step_causes": […], "step_times": […]}, and "until" where one
was stated. The first causes are of
findings, those of steps say why machines wait or stand.

Example:
  rackproof run -f batch.yaml
  rackproof run -f batch.yaml --rack R12 --json
  rackproof run -f batch.yaml --workflow burnin
  rackproof run --plan night.plan
  rackproof run -f batch.yaml --until 06:00
  rackproof run -f batch.yaml --engine temporal --temporal temporal.example.net:7233 --temporal-tls --site fra2 --evidence /srv/rackproof

` + failOnHelp + "\n\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runBatch(cmd.Context(), f) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.file, "file", "f", "", "batch `file`")
	fl.StringVar(&f.plan, "plan", "", "plan `file` of `plan -o`: do exactly that")
	workflowFlag(cmd, &f.workflow)
	fl.BoolVar(&f.yes, "yes", false, "agree to machines of an open run having another serial, UUID or BMC than before")
	fl.IntVar(&f.eraseDisks, "erase-disks", 0, "how many disks the run may write over: exactly as many as its plan tells")
	fl.BoolVar(&f.diagnostics, "diagnostics", false, "ask a machine that fails for what its vendor's support wants")
	fl.BoolVar(&f.again, "again", false, "a new run of a batch that is finished")
	untilFlag(cmd, &f.until)
	selectorFlags(cmd, &f.sel)
	f.failOn.flag(cmd)
	a.engineFlags(cmd)
	cmd.MarkFlagsOneRequired("file", "plan")
	for _, other := range []string{"workflow", "machines", "rack", "only", "exclude"} {
		cmd.MarkFlagsMutuallyExclusive("plan", other)
	}
	return cmd
}

func (a *app) runBatch(ctx context.Context, f runFlags) error {
	planned, batch, workflow, err := a.submission(f)
	if err != nil {
		return err
	}
	c, err := a.newCarry()
	if err != nil {
		return err
	}
	c.failOn = &f.failOn
	if f.sel, err = c.chosen(ctx, planned, batch, workflow, f.sel); err != nil {
		return err
	}
	if planned != nil {
		batch.Planned = planned.Held()
	}
	if err := c.agreeToErase(ctx, erasedBy(planned, batch, workflow, f.sel), f, batch.Name); err != nil {
		return err
	}
	engine, err := c.look(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = engine.Close() }()
	id, err := c.submit(ctx, engine, batch, workflow)
	if err != nil {
		return err
	}
	run, err := engine.Run(ctx, id)
	if err != nil {
		return err
	}
	if run.Finished() {
		again := or(f.file, batch.Source)
		if f.workflow != "" {
			again += " --workflow " + f.workflow
		}
		a.progress("%s is finished, by workflow %s. A machine anew: rackproof retest MACHINE. All of it anew: rackproof run -f %s --again", id, run.Plan.Name, again)
		return c.finish(&run, f.sel, false)
	}
	power, soak := loadAdvice(batch, workflow)
	for _, line := range power {
		a.progress("power: %s", line)
	}
	for _, line := range soak {
		a.progress("soak: %s", line)
	}
	return c.run(ctx, id, f.sel)
}

// submission reads what a run is to carry out. Nothing is contacted.
func (a *app) submission(f runFlags) (planned *provision.PlanFile, batch *provision.Batch, w provision.Workflow, err error) {
	until, err := a.deadlineOf(f.until)
	if err != nil {
		return nil, nil, w, err
	}
	if f.plan != "" {
		planned, batch, w, err = a.loadPlan(f.plan, f.file)
	} else {
		batch, w, err = a.loadBatch(f.file, f.workflow, f.sel)
	}
	if err != nil {
		return nil, nil, w, err
	}
	batch.Confirmed, batch.Again, batch.Until = f.yes, f.again, until
	batch.Diagnostics.OnFailure = batch.Diagnostics.OnFailure || f.diagnostics
	return planned, batch, w, nil
}

// chosen are the machines that a run is to touch: those of its plan, which must still
// hold, or those of sel.
func (c *carry) chosen(ctx context.Context, planned *provision.PlanFile, b *provision.Batch, w provision.Workflow, sel provision.Selector) (provision.Selector, error) {
	if err := c.arrived(ctx, b); err != nil {
		return sel, err
	}
	if planned != nil {
		return c.holdTo(ctx, planned, b, w)
	}
	return c.narrow(ctx, b, sel)
}

// loadAdvice is what the batch could say of racks and hours, where anything is loaded.
func loadAdvice(b *provision.Batch, w provision.Workflow) (power, soak []string) {
	power, soak = []string{}, []string{}
	if w.Loads() {
		power, soak = append(power, provision.PowerAdvice(b)...), append(soak, provision.SoakAdvice(b)...)
	}
	return power, soak
}

// submit starts or resumes the run of a batch. What an edited file changes is told
// machine by machine; machines that became others are asked about on a terminal.
func (c *carry) submit(ctx context.Context, e engine, b *provision.Batch, w provision.Workflow) (provision.RunID, error) {
	before, err := c.latest(ctx, b.Name)
	if err != nil {
		return "", err
	}
	if err := fitsRun(before, w); err != nil {
		return "", err
	}
	id, err := e.Submit(ctx, b, w)
	if edit, ok := errors.AsType[*provision.EditError](err); ok {
		if !c.agrees(edit) {
			return "", usageError(err, "rackproof run -f "+b.Source+" --yes")
		}
		b.Confirmed = true
		id, err = e.Submit(ctx, b, w)
	}
	if err != nil || before == nil || before.ID != id {
		return id, err
	}
	if edit := provision.Compare(before, b); !edit.Empty() || len(edit.Kept) > 0 {
		c.app.progress("%s: the batch file changed: %s", id, edit)
	}
	return id, nil
}

// fitsRun refuses another workflow than that of an open run: a machine in the middle of
// one is not where another one thinks it is.
func fitsRun(before *provision.Run, w provision.Workflow) error {
	if before == nil || before.Finished() || before.Plan.Name == w.Name || before.Plan.Name == "" {
		return nil
	}
	return usageError(fmt.Errorf("run %s is open, and carries out workflow %s, not %s; nothing was contacted", before.ID, before.Plan.Name, w.Name),
		fmt.Sprintf("carry it on: rackproof resume %s; when it is finished, --again begins another run", before.ID))
}

// agrees asks whether an edit is meant. Without a terminal nothing is asked, and
// nobody agrees.
func (c *carry) agrees(e *provision.EditError) bool {
	a := c.app
	if a.json || !isTerminal(a.stderr) || !isTerminal(a.stdin) {
		return false
	}
	a.progress("run %s is there, and the batch file now says: %s", e.Run, e.Edit)
	_, _ = fmt.Fprint(a.stderr, "Take that over? [y/N] ")
	answer, _ := bufio.NewReader(a.stdin).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	return false
}

// unsetVariables are the environment variables that a batch refers to and that are
// not set, where nothing else is wrong with it.
func unsetVariables(problems profiles.Problems) []string {
	var names []string
	for _, p := range problems {
		_, name, ok := strings.Cut(p.Text, " is not set; export ")
		if !ok {
			return nil
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// loadBatch reads a batch and the workflow it wants. Bad input ends with every
// mistake at its place, before anything is contacted.
func (a *app) loadBatch(file, workflow string, sel provision.Selector) (*provision.Batch, provision.Workflow, error) {
	var none provision.Workflow
	load := provision.LoadBatch
	if a.at.remote() {
		load = provision.LoadRemoteBatch
	}
	batch, err := load(file, a.library())
	if err != nil {
		next := "name a batch file with -f"
		if problems, ok := errors.AsType[profiles.Problems](err); ok {
			next = "correct the file; nothing was contacted"
			if names := unsetVariables(problems); len(names) > 0 {
				next = "export " + strings.Join(names, " ") + "; nothing was contacted"
			}
		}
		return nil, none, usageError(err, next)
	}
	if err := sel.Check(batch); err != nil {
		return nil, none, usageError(err, "")
	}
	if workflow != "" && workflow != batch.Workflow {
		batch.Workflow, batch.Own = workflow, nil
	}
	w, err := batch.Flow()
	if err != nil {
		return nil, none, usageError(err, "rackproof run --help lists them")
	}
	return batch, w, nil
}
