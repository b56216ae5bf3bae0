package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/burnin"
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
			nameRuns(chores)
			if a.json {
				return a.printJSON(map[string]any{"hands": chores})
			}
			a.printf("%s", choresText(chores))
			return nil
		},
	}
	selectorFlags(cmd, &sel)
	a.engineFlags(cmd)
	return cmd
}

func doneCommand(a *app) *cobra.Command {
	var run string
	var on failOn
	cmd := &cobra.Command{
		Use:   "done MACHINE [NOTE]",
		Short: "Say that hands did what was asked; the right retest follows",
		Long: `Say that hands did what was asked. A machine that waits in the middle goes on
where it stands; one that failed gets a new attempt in the same run. A machine that
waits for nobody is left alone.

Example:
  rackproof done r12u07 "cords out 60 s"

` + failOnHelp + "\n\n" + exitHelp,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.again(cmd.Context(), personWord{
				run: run, machines: args[:1], kind: provision.HandsDone, rep: provision.Repaired{Note: strings.Join(args[1:], " ")}, failOn: &on,
			})
		},
	}
	on.flag(cmd)
	a.engineFlags(cmd)
	cmd.Flags().StringVar(&run, "run", "", "the `run`, where the machine waits in several")
	return cmd
}

// nameRuns makes the next command of each chore name its run, where there is work
// in more than one.
func nameRuns(chores []provision.Chore) {
	if oneRun(chores) {
		return
	}
	for i := range chores {
		c := &chores[i]
		for _, verb := range []string{"done", "retest"} {
			if word := "rackproof " + verb + " " + c.Machine; c.Hands.Next == word {
				c.Hands.Next = word + " --run " + string(c.Run)
			}
		}
	}
}

func oneRun(chores []provision.Chore) bool {
	return !slices.ContainsFunc(chores, func(c provision.Chore) bool { return c.Run != chores[0].Run })
}

func choresText(chores []provision.Chore) string {
	if len(chores) == 0 {
		return "nothing waits for you\n"
	}
	var b strings.Builder
	var head string
	for _, c := range chores {
		now := or(c.Rack, "no rack stated")
		if !oneRun(chores) {
			now += ", run " + string(c.Run)
		}
		if now != head {
			head = now
			fmt.Fprintf(&b, "%s\n", head)
		}
		fmt.Fprintf(&b, "  %-6s %s  %s  %s\n", c.State, c.Machine, c.Hands.Where, c.Hands.Why)
		if len(c.Hands.Do) > 0 { // the rung to take now; the next one is for when it did not help
			fmt.Fprintf(&b, "         do     %s\n", rungText(c.Hands.Do[0], c.Hands.Ladder))
		}
		if slices.ContainsFunc(c.Hands.Do, func(d burnin.Advice) bool { return strings.Contains(d.Do, "evidence packet") }) {
			fmt.Fprintf(&b, "         packet rackproof report %s --machines %s --format tar --out packets\n", c.Run, c.Machine)
		}
		if c.Hands.Knows != "" {
			fmt.Fprintf(&b, "         known  %s\n", c.Hands.Knows)
		}
		fmt.Fprintf(&b, "         then   %s\n", c.Hands.Next)
	}
	return b.String()
}

func rungText(d burnin.Advice, ladder string) string {
	return fmt.Sprintf("%s (%d min, %s; rung %s)", d.Do, d.Minutes, d.Who, or(ladder, "1 of 1"))
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
