package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/redfish"
)

func (a *app) bmcMedia(o *bmcOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "media [list]",
		Short: "List, fill or empty the virtual drives",
		Long: "List the virtual drives, put an image from an HTTP server into one, or take it out.\n" +
			"The BMC fetches the image itself. The URL must be plain and end in .iso or .img.\n\n" +
			"Examples:\n  rackproof bmc 10.0.12.7 media\n  rackproof bmc 10.0.12.7 media insert http://10.0.12.1:8000/live.iso\n" +
			"  rackproof bmc 10.0.12.7 media eject\n\n" + exitHelp,
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"list"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withRedfish(cmd.Context(), o, false, func(c *redfish.Client) error {
				slots, err := c.Media(cmd.Context())
				if err != nil {
					return err
				}
				return a.printMedia(slots)
			})
		},
	}
	cmd.AddCommand(a.bmcMediaInsert(o), a.bmcMediaEject(o))
	return cmd
}

func (a *app) bmcMediaInsert(o *bmcOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "insert URL",
		Short: "Put the image at a URL into a virtual drive",
		Long: "Put the image at a URL into the first virtual drive that takes it, and read it back.\n" +
			"`boot cd` then boots it once.\n\nExample:\n  rackproof bmc 10.0.12.7 media insert http://10.0.12.1:8000/live.iso\n\n" + exitHelp,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRedfish(cmd.Context(), o, true, func(c *redfish.Client) error {
				if err := a.clearOf(cmd.Context(), o, c, "media"); err != nil {
					return err
				}
				slot, err := c.InsertMedia(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.printMedia([]redfish.MediaSlot{slot})
			})
		},
	}
}

func (a *app) bmcMediaEject(o *bmcOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "eject [SLOT]",
		Short: "Empty a virtual drive, or all of them",
		Long:  "Empty the named virtual drive, or all of them, and read it back.\n\nExample:\n  rackproof bmc 10.0.12.7 media eject\n\n" + exitHelp,
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRedfish(cmd.Context(), o, true, func(c *redfish.Client) error {
				if err := ejectMedia(cmd.Context(), c, strings.Join(args, "")); err != nil {
					return err
				}
				slots, err := c.Media(cmd.Context())
				if err != nil {
					return err
				}
				return a.printMedia(slots)
			})
		},
	}
}

// ejectMedia empties the slot called id, or all where it is "".
func ejectMedia(ctx context.Context, c *redfish.Client, id string) error {
	slots, err := c.Media(ctx)
	if err != nil {
		return err
	}
	var failed error
	var ids []string
	found := id == ""
	for _, s := range slots {
		ids = append(ids, s.ID)
		if id == "" && s.Inserted || id != "" && strings.EqualFold(s.ID, id) {
			found = true
			failed = errors.Join(failed, c.EjectMedia(ctx, s))
		}
	}
	if !found {
		return fmt.Errorf("slot %q: %w: there is %s", id, redfish.ErrBadValue, strings.Join(ids, ", "))
	}
	return failed
}

func (a *app) printMedia(slots []redfish.MediaSlot) error {
	if a.json {
		return a.printJSON(map[string]any{"media": slots})
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, s := range slots {
		what := "empty"
		if s.Inserted {
			what = s.Image
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", s.ID, strings.Join(s.Types, ","), what)
	}
	return w.Flush()
}
