package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision"
)

func planCommand(a *app) *cobra.Command {
	var file, out, workflow string
	var sel provision.Selector
	cmd := &cobra.Command{
		Use:   "plan -f batch.yaml",
		Short: "Ask every BMC and say what a run would change; change nothing",
		Long: `Ask every BMC and say what a run would change: BIOS settings now and wanted,
resets, what is booted, minutes, kW. It changes nothing. With -o the plan is kept:
` + "`run --plan`" + ` does exactly that, or refuses and says which machine differs now.

` + workflowHelp() + `

Example:
  rackproof plan -f batch.yaml --machines r12u07
  rackproof plan -f batch.yaml --workflow provision
  rackproof plan -f batch.yaml -o night.plan
  rackproof run --plan night.plan
  rackproof plan -f batch.yaml --json
    {"batch": "po4711-r12", "workflow": "qualify", "power": [], "soak": [], "ladder": "…", "machines": [{"machine": "r12u07", "rack": "R12", "u": 7,
      "is": "Supermicro SYS-821GE-TNHR", "uuid": "…", "serial_is": "system_serial", "minutes": 45, "kw": 10.2,
      "changes": [{"step": "bios", "what": "IOMMU", "now": "Enabled", "want": "Disabled"}]}]}

` + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.plan(cmd.Context(), file, out, workflow, sel) },
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "batch `file`")
	cmd.Flags().StringVarP(&out, "out", "o", "", "keep the plan in this `file`")
	workflowFlag(cmd, &workflow)
	selectorFlags(cmd, &sel)
	_ = cmd.MarkFlagRequired("file")
	return cmd
}

func (a *app) plan(ctx context.Context, file, out, flow string, sel provision.Selector) error {
	batch, workflow, err := a.loadBatch(file, flow, sel)
	if err != nil {
		return err
	}
	c, err := a.newCarry()
	if err != nil {
		return err
	}
	if sel, err = c.narrow(ctx, batch, sel); err != nil {
		return err
	}
	if err := c.arrived(ctx, batch); err != nil {
		return err
	}
	plans := c.plan(ctx, batch, workflow, sel)
	if out != "" {
		if err := keepPlan(out, file, batch, workflow, plans); err != nil {
			return err
		}
		a.progress("plan kept in %s; carry it out: rackproof run --plan %s", out, out)
	}
	return a.printPlan(batch, workflow, plans)
}

// plan asks the BMCs, with no table beside it.
func (c *carry) plan(ctx context.Context, b *provision.Batch, w provision.Workflow, sel provision.Selector) []provision.MachinePlan {
	quiet := *c
	quiet.live = false
	bench := quiet.bench()
	defer func() { _ = bench.Close() }()
	bench.Planned = func(p provision.MachinePlan, done, total int) {
		said := or(p.Is, "answered")
		if p.Problem != "" {
			said = fit(p.Problem, lineWidth)
		}
		c.app.progress("asked %d of %d: %s  %s", done, total, p.Machine, said)
	}
	return bench.PlanBatch(ctx, b, w, sel)
}

// narrow makes names of --only: states are those of the batch's run.
func (c *carry) narrow(ctx context.Context, b *provision.Batch, sel provision.Selector) (provision.Selector, error) {
	if sel.Only == "" {
		return sel, nil
	}
	run, err := c.latest(ctx, b.Name)
	if err != nil {
		return sel, err
	}
	if run == nil {
		return sel, usageError(fmt.Errorf("--only %s: there is no run of %s yet", sel.Only, b.Name), "rackproof status")
	}
	if sel, err = sel.Named(run); err != nil {
		return sel, usageError(err, "rackproof status "+string(run.ID))
	}
	return sel, nil
}

// arrived tells a batch what its last run, if that is finished, found on the machines.
func (c *carry) arrived(ctx context.Context, b *provision.Batch) error {
	last, err := c.latest(ctx, b.Name)
	if err == nil && last != nil && last.Finished() {
		b.Arrived = last.Arrived(b)
	}
	return err
}

// latest is the newest run of a batch's name, or nil.
func (c *carry) latest(ctx context.Context, batch string) (*provision.Run, error) {
	engine, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = engine.Close() }()
	runs, err := allRuns(ctx, engine)
	if err != nil {
		return nil, err
	}
	var last *provision.Run
	for _, r := range runs {
		if r.Batch.Name == batch {
			last = r
		}
	}
	return last, nil
}

func keepPlan(out, file string, b *provision.Batch, w provision.Workflow, plans []provision.MachinePlan) error {
	abs, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	f, err := provision.NewPlanFile(b, w, abs, versionString(), plans)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return put(out, append(text, '\n'))
}

// loadPlan reads a plan file and the batch that it is of, and refuses where they do
// not fit. Nothing is contacted.
func (a *app) loadPlan(path, batch string) (*provision.PlanFile, *provision.Batch, provision.Workflow, error) {
	var none provision.Workflow
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, none, usageError(err, "rackproof plan -f batch.yaml -o "+path)
	}
	f, err := provision.ParsePlanFile(text)
	if err != nil {
		return nil, nil, none, usageError(fmt.Errorf("%s: %w", path, err), "rackproof plan -f batch.yaml -o "+path)
	}
	b, w, err := a.loadBatch(or(batch, f.Batch.File), f.Workflow.Name, provision.Selector{})
	if err != nil {
		return nil, nil, none, err
	}
	if err := f.Fits(b, w); err != nil {
		return nil, nil, none, usageError(fmt.Errorf("%s: %w; nothing was contacted", path, err), "plan anew: rackproof plan -f "+f.Batch.File+" -o "+path)
	}
	return f, b, w, nil
}

// holdTo asks the BMCs again and refuses where a machine differs from the plan. A
// machine on which the run has begun is not asked: its steps ask it themselves.
func (c *carry) holdTo(ctx context.Context, f *provision.PlanFile, b *provision.Batch, w provision.Workflow) (provision.Selector, error) {
	names, left := f.Names()
	if len(left) > 0 {
		c.app.progress("not in the plan, and left alone: %s", strings.Join(left, ", "))
	}
	if len(names) == 0 {
		return provision.Selector{}, usageError(errors.New("no machine of the plan could be planned"), "plan anew")
	}
	run, err := c.latest(ctx, b.Name)
	if err != nil {
		return provision.Selector{}, err
	}
	var fresh []string
	for _, n := range names {
		if run == nil || !begun(run.Find(n)) {
			fresh = append(fresh, n)
		}
	}
	if len(fresh) > 0 {
		c.app.progress("asking %d machines whether the plan still holds", len(fresh))
		if off := f.Differs(c.plan(ctx, b, w, provision.Selector{Machines: fresh})); len(off) > 0 {
			return provision.Selector{}, usageError(fmt.Errorf("the plan does not hold any more; nothing was changed:\n  %s", strings.Join(off, "\n  ")),
				"plan anew, or put the machines back")
		}
	}
	return provision.Selector{Machines: names}, nil
}

func begun(m *provision.MachineRun) bool {
	return m != nil && (len(m.Steps) > 0 || m.Try > 0 || m.Over())
}

func (a *app) printPlan(b *provision.Batch, w provision.Workflow, plans []provision.MachinePlan) error {
	advice, soak := loadAdvice(b, w)
	code := exitPassed
	for _, p := range plans {
		if p.Problem != "" {
			code = exitNotFinished
		}
	}
	if a.json {
		err := a.printJSON(map[string]any{"batch": b.Name, "workflow": w.Name, "machines": plans, "power": advice, "soak": soak, "ladder": provision.Ladder(b)})
		if err != nil {
			return err
		}
		return exitWith(code)
	}
	for _, p := range plans {
		a.printf("%s", planText(p))
	}
	for _, line := range advice {
		a.printf("power: %s\n", line)
	}
	for _, line := range soak {
		a.printf("soak: %s\n", line)
	}
	a.printf("trouble: %s\n", provision.Ladder(b))
	if b.Notify.Stated() {
		a.printf("notify: one message at the end or at the brake, to %s\n", b.Notify)
	}
	a.printf("%s\n", planSummary(plans))
	return exitWith(code)
}

func planText(p provision.MachinePlan) string {
	var b strings.Builder
	b.WriteString(p.Machine)
	if p.Is != "" {
		b.WriteString("  " + p.Is)
	}
	if p.Serial != "" {
		b.WriteString(", serial matches " + p.Serial)
	}
	if p.Minutes > 0 {
		b.WriteString("  " + minutesText(p.Minutes))
	}
	if p.Idle && p.Problem == "" {
		b.WriteString("  nothing is put under load")
	} else if p.KW > 0 {
		b.WriteString("  " + strconv.FormatFloat(p.KW, 'f', 1, 64) + " kW under load")
	} else {
		b.WriteString("  kW under load not stated by the profile")
	}
	b.WriteString("\n")
	if p.Problem != "" {
		b.WriteString("  STUCK " + strings.ReplaceAll(p.Problem, "\n", "\n        ") + "\n")
		return b.String()
	}
	for _, c := range p.Changes {
		b.WriteString("  " + changeText(c) + "\n")
	}
	for _, o := range p.Obstacles {
		b.WriteString("  in the way: " + o.String() + "\n")
	}
	return b.String()
}

// changeText is a change in the words of those who stand beside the machine.
func changeText(c provision.Change) string {
	switch c.What {
	case "reset":
		if c.Want != "1" {
			return c.Step + ": restarts the machine " + c.Want
		}
		return c.Step + ": restarts the machine once"
	case "boots":
		return c.Step + ": starts " + c.Want + " (" + c.Now + " now)"
	case "load":
		return c.Step + ": under load for " + c.Want
	}
	return c.String()
}

func minutesText(n int) string {
	if n < 120 {
		return strconv.Itoa(n) + " min"
	}
	return fmt.Sprintf("%d h %d min", n/60, n%60)
}

func planSummary(plans []provision.MachinePlan) string {
	resets, firmware, disks, stuck := 0, 0, 0, 0
	for _, p := range plans {
		if p.Problem != "" {
			stuck++
		}
		for _, c := range p.Changes {
			switch {
			case c.What == "reset":
				resets++
			case c.Step == "firmware":
				firmware++
			case c.What == provision.PlanDisk:
				disks++
			}
		}
	}
	noun := " machines: "
	if len(plans) == 1 {
		noun = " machine: "
	}
	s := strconv.Itoa(len(plans)) + noun + strconv.Itoa(resets) + " resets, " + strconv.Itoa(disks) + " disks erased, " + strconv.Itoa(firmware) + " firmware changed"
	if stuck > 0 {
		s += ", " + strconv.Itoa(stuck) + " cannot be planned"
	}
	return s + ". Nothing was changed."
}
