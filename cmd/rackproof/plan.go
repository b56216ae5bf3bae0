package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision"
)

func planCommand(a *app) *cobra.Command {
	var file string
	var sel provision.Selector
	cmd := &cobra.Command{
		Use:   "plan -f batch.yaml",
		Short: "Ask every BMC and say what a run would change; change nothing",
		Long: `Ask every BMC and say what a run would change: BIOS settings now and wanted,
resets, what is booted, minutes, kW. It changes nothing.

Example:
  rackproof plan -f batch.yaml --machines r12u07

` + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			batch, workflow, err := a.loadBatch(file, "", sel)
			if err != nil {
				return err
			}
			c, err := a.newCarry()
			if err != nil {
				return err
			}
			c.live = false
			bench := c.bench()
			defer func() { _ = bench.Close() }()
			return a.printPlan(batch, bench.PlanBatch(cmd.Context(), batch, workflow, sel))
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "batch `file`")
	selectorFlags(cmd, &sel)
	_ = cmd.MarkFlagRequired("file")
	return cmd
}

func (a *app) printPlan(b *provision.Batch, plans []provision.MachinePlan) error {
	advice := provision.PowerAdvice(b)
	code := exitPassed
	for _, p := range plans {
		if p.Problem != "" {
			code = exitNotFinished
		}
	}
	if a.json {
		if advice == nil {
			advice = []string{}
		}
		err := a.printJSON(map[string]any{"batch": b.Name, "machines": plans, "power": advice})
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
	if p.KW > 0 {
		b.WriteString("  " + strconv.FormatFloat(p.KW, 'f', 1, 64) + " kW under load")
	}
	b.WriteString("\n")
	if p.Problem != "" {
		b.WriteString("  STUCK " + strings.ReplaceAll(p.Problem, "\n", "\n        ") + "\n")
		return b.String()
	}
	for _, c := range p.Changes {
		line := "  " + c.Step + ": " + c.What
		if c.Now != "" {
			line += " " + c.Now + " →"
		}
		b.WriteString(strings.TrimRight(line+" "+c.Want, " ") + "\n")
	}
	return b.String()
}

func planSummary(plans []provision.MachinePlan) string {
	resets, stuck := 0, 0
	for _, p := range plans {
		if p.Problem != "" {
			stuck++
		}
		for _, c := range p.Changes {
			if c.What == "reset" {
				resets++
			}
		}
	}
	noun := " machines: "
	if len(plans) == 1 {
		noun = " machine: "
	}
	s := strconv.Itoa(len(plans)) + noun + strconv.Itoa(resets) + " resets, 0 disks erased, 0 firmware changed"
	if stuck > 0 {
		s += ", " + strconv.Itoa(stuck) + " cannot be planned"
	}
	return s + ". Nothing was changed."
}
