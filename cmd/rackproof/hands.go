package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision"
)

func handsCommand(a *app) *cobra.Command {
	var sel provision.Selector
	cmd := &cobra.Command{
		Use:   "hands",
		Short: "What waits for people, by rack",
		Long: `What waits for people, by rack and from the top down: what to do, where, how long,
and how the tool will know that it was done.

Example:
  rackproof hands --rack R12
  rackproof done r12u07 "cords out 60 s"
  rackproof hands --json
    {"hands": [{"run": "po4711-r12", "machine": "r12u07", "rack": "R12", "u": 7, "state": "FAILED",
      "hands": {"do": [{"do": "cords out 60 s", "minutes": 12, "who": "hands"}], "where": "R12 U07, GPU SXM3",
        "next": "rackproof done r12u07", "ladder": "1 of 3", "why": "GPU SXM3 link is x8, must be x16"}}]}

` + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.newCarry()
			if err != nil {
				return err
			}
			engine, err := c.look(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { _ = engine.Close() }()
			runs, err := allRuns(cmd.Context(), engine)
			if err != nil {
				return err
			}
			if err := selectorIn(sel, runs...); err != nil {
				return err
			}
			chores := []provision.Chore{}
			for _, run := range runs {
				chores = append(chores, provision.Chores(run, sel)...)
			}
			if a.json {
				return a.printJSON(map[string]any{"hands": chores})
			}
			a.printf("%s", choresText(chores))
			return nil
		},
	}
	selectorFlags(cmd, &sel)
	return cmd
}

func doneCommand(a *app) *cobra.Command {
	var run string
	var on failOn
	cmd := &cobra.Command{
		Use:   "done MACHINE [NOTE]",
		Short: "Say that hands did what was asked; the right retest follows",
		Long: `Say that hands did what was asked. A machine that waits in the middle goes on
where it stands; one that failed gets a new attempt in the same run.

Example:
  rackproof done r12u07 "cords out 60 s"

` + failOnHelp + "\n\n" + exitHelp,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.again(cmd.Context(), run, args[:1], provision.HandsDone, provision.Repaired{Note: strings.Join(args[1:], " ")}, &on)
		},
	}
	on.flag(cmd)
	cmd.Flags().StringVar(&run, "run", "", "the `run`, where several have the machine (default: the newest)")
	return cmd
}

func choresText(chores []provision.Chore) string {
	if len(chores) == 0 {
		return "nothing waits for you\n"
	}
	var b strings.Builder
	rack := "\x00"
	for _, c := range chores {
		if c.Rack != rack {
			rack = c.Rack
			fmt.Fprintf(&b, "%s\n", or(rack, "no rack stated"))
		}
		fmt.Fprintf(&b, "  %-6s %s  %s  %s\n", c.State, c.Machine, c.Hands.Where, c.Hands.Why)
		if len(c.Hands.Do) > 0 { // the rung to take now; the next one is for when it did not help
			d := c.Hands.Do[0]
			fmt.Fprintf(&b, "         do     %s (%d min, %s; rung %s)\n", d.Do, d.Minutes, d.Who, or(c.Hands.Ladder, "1 of 1"))
		}
		if c.Hands.Knows != "" {
			fmt.Fprintf(&b, "         known  %s\n", c.Hands.Knows)
		}
		fmt.Fprintf(&b, "         then   %s\n", c.Hands.Next)
	}
	return b.String()
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
