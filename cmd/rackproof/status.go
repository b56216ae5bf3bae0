package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/provision"
)

func statusCommand(a *app) *cobra.Command {
	var sel provision.Selector
	cmd := &cobra.Command{
		Use:   "status [RUN]",
		Short: "The runs of this state folder, or the machines of one",
		Long: `The runs of this state folder, or the machines of one run, those that wait for
you first.

Example:
  rackproof status
  rackproof status po4711-r12 --only failed
  rackproof status po4711-r12 --json
    {"id": "po4711-r12", "started": "2026-03-01T08:00:00Z", "summary": "…", "exit_code": 5, "batch": {…},
      "plan": {"name": "qualify", "version": 1, "steps": [{"name": "preflight", "timeout_ns": 300000000000, …}]},
      "machines": [{"machine": {"name": "r12u07", "rack": "R12", "u": 7, …}, "attempt": 1, "state": "RUN",
        "owner": "tool", "step": "burn-in", "why": "…", "since": "…", "until": "…", "facts": {…}}],
      "causes": [{"state": "STUCK", "step": "bios", "why": "…", "machines": ["r12u09"], "of": 36, "racks": ["R12"], "where": ""}],
      "step_times": [{"step": "bios", "machines": 36, "median_seconds": 240, "worst_seconds": 720, "slowest": "r12u09"}],
      "outliers": [{…}]}   machines that stand out in the batch, as run --json has them
  Without RUN it is {"runs": [{…}, …]}.

` + exitHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.newCarry()
			if err != nil {
				return err
			}
			engine, err := c.look(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { _ = engine.Close() }()
			if len(args) == 0 {
				return c.listRuns(cmd.Context(), engine, sel)
			}
			run, err := findRun(cmd.Context(), engine, args[0], "")
			if err != nil {
				return err
			}
			if err := selectorIn(sel, run); err != nil {
				return err
			}
			return c.showRun(cmd.Context(), engine, run, sel)
		},
	}
	selectorFlags(cmd, &sel)
	a.engineFlags(cmd)
	return cmd
}

// runState is a run as `status --json` prints it. The batch stands in it without
// the bytes of its profiles.
type runState struct {
	*provision.Run
	Batch    *provision.Batch        `json:"batch"`
	Carried  string                  `json:"carried_by,omitempty"`
	Idle     bool                    `json:"idle,omitempty"` // it could go on, and nobody carries it
	Summary  string                  `json:"summary"`
	ExitCode int                     `json:"exit_code"`
	Machines []*provision.MachineRun `json:"machines"`
	Causes   []provision.Cause       `json:"causes"`
	Times    []provision.StepTimes   `json:"step_times"`
}

func (c *carry) runState(ctx context.Context, e engine, run *provision.Run, sel provision.Selector) runState {
	b := *run.Batch
	b.Resolved, b.Machines = nil, nil
	s := runState{
		Run: run, Batch: &b, Carried: c.carriedBy(ctx, e, run.ID), Summary: run.Summary(sel), ExitCode: run.ExitCode(sel), Machines: run.Sorted(sel),
		Causes: run.Causes(sel), Times: run.StepTimes(sel),
	}
	if s.Carried == "" {
		s.Summary = idle(run).Summary(sel)
		s.Idle = slices.ContainsFunc(run.Machines, func(m provision.MachineRun) bool { return m.Runnable() })
	}
	return s
}

func (c *carry) listRuns(ctx context.Context, e engine, sel provision.Selector) error {
	runs, err := allRuns(ctx, e)
	if err != nil {
		return err
	}
	if err := selectorIn(sel, runs...); err != nil {
		return err
	}
	states := []runState{}
	for _, run := range runs {
		states = append(states, c.runState(ctx, e, run, sel))
	}
	if c.app.json {
		return c.app.printJSON(map[string]any{"runs": states})
	}
	if len(states) == 0 {
		c.app.printf("no runs yet; start one with `rackproof run -f batch.yaml`\n")
	}
	for _, s := range states {
		c.app.printf("%-20s %s  %s\n", s.ID, s.Started.Local().Format("2006-01-02 15:04"), s.Summary)
		if s.Carried != "" {
			c.app.printf("%-20s carried by %s\n", "", s.Carried)
		}
		if s.Idle {
			c.app.printf("%-20s %s\n", "", nobodyCarries(s.Run))
		}
	}
	return nil
}

func nobodyCarries(run *provision.Run) string {
	return "nobody carries this run: rackproof resume " + string(run.ID)
}

func (c *carry) showRun(ctx context.Context, e engine, run *provision.Run, sel provision.Selector) error {
	s := c.runState(ctx, e, run, sel)
	if c.app.json {
		return c.app.printJSON(struct {
			runState
			Outliers []burnin.OddMachine `json:"outliers"`
		}{s, judgementsIn(c.evidence(), run).outliers(run, sel)})
	}
	if s.Idle {
		c.app.printf("%s\n", nobodyCarries(run))
	}
	c.app.printf("%s\n%s", header(run), tableOf(run, sel, tableStyle{width: c.app.width(), idle: s.Idle}))
	for _, p := range run.Power {
		if !p.Over {
			c.app.printf("%s  %s: rackproof resume %s\n", clock(p.At), p, run.ID)
		}
	}
	if s.Carried != "" {
		c.app.printf("carried by %s\n", s.Carried)
	}
	c.app.printf("%s%s\n", truth(judgementsIn(c.evidence(), run), run, sel), s.Summary)
	return nil
}
