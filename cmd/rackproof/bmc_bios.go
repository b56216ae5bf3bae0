package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/redfish"
)

// bootPatience is how long a host may take through POST; eight GPUs and 2 TiB of
// memory take a quarter of an hour.
const bootPatience = 30 * time.Minute

func (a *app) bmcBIOS(o *bmcOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bios",
		Short: "Show, plan, stage or take back BIOS attributes",
		Long: "Show, plan, stage or take back BIOS attributes.\n\nExamples:\n  rackproof bmc 10.0.12.7 bios get LogicalProc\n" +
			"  rackproof bmc 10.0.12.7 bios plan --intent smt=off\n\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.biosGet(cmd.Context(), o, nil) },
	}
	get := &cobra.Command{
		Use:   "get [NAME…]",
		Short: "Show attributes in force, and what waits for a reset",
		Long:  "Show attributes in force, and what waits for a reset.\n\nExample:\n  rackproof bmc 10.0.12.7 bios get\n\n" + exitHelp,
		RunE:  func(cmd *cobra.Command, args []string) error { return a.biosGet(cmd.Context(), o, args) },
	}
	cmd.AddCommand(get, a.biosPlan(o), a.biosSet(o), a.biosDiscard(o))
	return cmd
}

func (a *app) biosDiscard(o *bmcOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "discard",
		Short: "Take back what waits for a reset",
		Long: "Take back the attributes that wait for a reset, whoever staged them, and the job that\n" +
			"would set them, and read that back.\n\nExample:\n  rackproof bmc 10.0.12.7 bios discard\n\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return a.withRedfish(ctx, o, true, func(c *redfish.Client) error {
				bios, err := c.BIOS(ctx)
				if err != nil {
					return err
				}
				if err := c.DiscardBIOS(ctx); err != nil {
					return err
				}
				names := slices.AppendSeq([]string{}, maps.Keys(bios.Pending))
				slices.Sort(names)
				if a.json {
					return a.printJSON(map[string]any{"discarded": names})
				}
				if len(names) == 0 {
					a.printf("nothing waits\n")
				}
				for _, name := range names {
					a.printf("%s stays %s; %s was to come\n", name, shown(bios.Attributes[name]), shown(bios.Pending[name]))
				}
				return nil
			})
		},
	}
}

func (a *app) biosGet(ctx context.Context, o *bmcOptions, names []string) error {
	return a.withRedfish(ctx, o, false, func(c *redfish.Client) error {
		bios, err := c.BIOS(ctx)
		if err != nil {
			return err
		}
		if len(names) > 0 {
			bios.Attributes, err = only(bios.Attributes, names)
			if err != nil {
				return err
			}
		}
		if a.json {
			return a.printJSON(bios)
		}
		for _, name := range slices.Sorted(maps.Keys(bios.Attributes)) {
			a.printf("%s=%s\n", name, shown(bios.Attributes[name]))
		}
		for _, name := range slices.Sorted(maps.Keys(bios.Pending)) {
			a.printf("at the next reset: %s=%s\n", name, shown(bios.Pending[name]))
		}
		return nil
	})
}

func only(attributes map[string]any, names []string) (map[string]any, error) {
	out := map[string]any{}
	for _, name := range names {
		value, ok := attributes[name]
		if !ok {
			return nil, usageError(fmt.Errorf("no BIOS attribute %q on this machine", name), "rackproof bmc ADDR bios")
		}
		out[name] = value
	}
	return out, nil
}

func shown(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// wishes are what plan and set are asked for.
type wishes struct{ intents []string }

func (w *wishes) flag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&w.intents, "intent", nil, "`WISH=VALUE` for any vendor, as smt=off; may be repeated")
}

// attributes turns the command line into attributes of this machine.
func (w *wishes) attributes(ctx context.Context, c *redfish.Client, args []string) (map[string]any, error) {
	want := map[string]any{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, usageError(fmt.Errorf("%q is not NAME=VALUE", arg), "rackproof bmc ADDR bios set --help")
		}
		want[name] = value
	}
	intents := map[string]string{}
	for _, arg := range w.intents {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, usageError(fmt.Errorf("--intent %q is not WISH=VALUE", arg), "rackproof bmc ADDR bios set --help")
		}
		intents[name] = value
	}
	mapped, unmapped, err := c.MapIntents(ctx, intents)
	if err != nil {
		return nil, err
	}
	if len(unmapped) > 0 {
		u := unmapped[0]
		return nil, usageError(fmt.Errorf("intent %s=%s: %s; nearest attributes: %s", u.Intent, u.Value, u.Why, strings.Join(u.Nearest, ", ")),
			"give the attribute by its name")
	}
	maps.Copy(want, mapped)
	if len(want) == 0 {
		return nil, usageError(errNoWish, "rackproof bmc ADDR bios set --help")
	}
	return want, nil
}

// plan turns the command line into what would change.
func (w *wishes) plan(ctx context.Context, c *redfish.Client, args []string) (want map[string]any, changes []redfish.BIOSChange, err error) {
	if want, err = w.attributes(ctx, c, args); err != nil {
		return nil, nil, err
	}
	changes, err = c.PlanBIOS(ctx, want)
	return want, changes, err
}

func (a *app) biosPlan(o *bmcOptions) *cobra.Command {
	var w wishes
	cmd := &cobra.Command{
		Use:   "plan NAME=VALUE…",
		Short: "Show what set would change; changes nothing",
		Long:  "Show what set would change, typed by the BIOS registry. Changes nothing.\n\nExample:\n  rackproof bmc 10.0.12.7 bios plan LogicalProc=Disabled\n\n" + exitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return a.withRedfish(ctx, o, false, func(c *redfish.Client) error {
				_, changes, err := w.plan(ctx, c, args)
				if err != nil {
					return err
				}
				return a.printChanges(changes, "", false)
			})
		},
	}
	w.flag(cmd)
	return cmd
}

func (a *app) biosSet(o *bmcOptions) *cobra.Command {
	var w wishes
	var restart bool
	cmd := &cobra.Command{
		Use:   "set NAME=VALUE…",
		Short: "Stage attributes for the next reset",
		Long: "Stage the attributes that differ for the next reset. With --restart the host is\n" +
			"restarted at once and each attribute is verified after POST.\n\nExample:\n  rackproof bmc 10.0.12.7 bios set --intent smt=off --restart\n\n" + exitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return a.withRedfish(ctx, o, true, func(c *redfish.Client) error {
				want, changes, err := w.plan(ctx, c, args)
				if err != nil {
					return err
				}
				if len(changes) > 0 {
					if err := a.clearOf(ctx, o, c, "bios"); err != nil {
						return err
					}
				}
				job, err := c.StageBIOS(ctx, changes)
				if err != nil {
					return err
				}
				if restart && len(changes) > 0 {
					if err := a.applyBIOS(ctx, c, want, changes, job); err != nil {
						return err
					}
				}
				return a.printChanges(changes, job, restart && len(changes) > 0)
			})
		},
	}
	w.flag(cmd)
	cmd.Flags().BoolVar(&restart, "restart", false, "restart the host now and verify")
	return cmd
}

// applyBIOS restarts the host and asks until the values are in force. What depends
// on values of its own round may need a round and a restart more.
func (a *app) applyBIOS(ctx context.Context, c *redfish.Client, want map[string]any, changes []redfish.BIOSChange, job string) error {
	ctx, cancel := context.WithTimeout(ctx, bootPatience)
	defer cancel()
	for rounds := redfish.Rounds(changes); ; rounds-- {
		a.progress("restarting; POST can take a quarter of an hour")
		if err := c.SetPower(ctx, redfish.Restart); err != nil {
			return err
		}
		if err := c.WaitJob(ctx, job); err != nil {
			return err
		}
		left, err := a.waitBIOS(ctx, c, want, changes)
		if err != nil || len(left) == 0 {
			return err
		}
		if rounds <= 1 {
			return fmt.Errorf("after the restart %s still reads %s; look at the setup screen", left[0].Attribute, shown(left[0].Now))
		}
		if changes, err = c.PlanBIOS(ctx, want); err != nil {
			return err
		}
		if job, err = c.StageBIOS(ctx, changes); err != nil {
			return err
		}
	}
}

// waitBIOS waits until the first round is in force, and returns what is left.
func (a *app) waitBIOS(ctx context.Context, c *redfish.Client, want map[string]any, changes []redfish.BIOSChange) ([]redfish.BIOSChange, error) {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		left, err := c.VerifyBIOS(ctx, want)
		if err == nil && !slices.ContainsFunc(left, func(l redfish.BIOSChange) bool { return roundOf(changes, l.Attribute) == 1 }) {
			return left, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if err != nil {
				return nil, fmt.Errorf("after the restart the BIOS cannot be read: %w", err)
			}
			return nil, fmt.Errorf("after the restart %s still reads %s; look at the console", left[0].Attribute, shown(left[0].Now))
		}
	}
}

// roundOf is 1 for what no plan knew to be different.
func roundOf(changes []redfish.BIOSChange, attribute string) int {
	i := slices.IndexFunc(changes, func(ch redfish.BIOSChange) bool { return ch.Attribute == attribute })
	if i < 0 {
		return 1
	}
	return changes[i].Round
}

func (a *app) printChanges(changes []redfish.BIOSChange, job string, applied bool) error {
	if a.json {
		if changes == nil {
			changes = []redfish.BIOSChange{}
		}
		return a.printJSON(map[string]any{"changes": changes, "job": job, "applied": applied})
	}
	if len(changes) == 0 {
		a.printf("nothing to change\n")
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, ch := range changes {
		_, _ = fmt.Fprintf(w, "%s\t%s -> %s\t%s\n", ch.Attribute, shown(ch.Now), shown(ch.Want), ch.Display)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if rounds := redfish.Rounds(changes); rounds > 1 && !applied {
		a.printf("some depend on others of these: %d restarts at most\n", rounds)
	}
	if job != "" {
		a.printf("job %s\n", job)
	}
	return nil
}
