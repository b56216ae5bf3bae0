package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/redfish"
)

func (a *app) bmcScreen(o *bmcOptions) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "screen",
		Short: "Save a picture of the host's screen",
		Long: "Save a picture of the host's screen as PNG, where the BMC offers one in a documented\n" +
			"way (docs/vendors.md). It shows whatever is on the screen.\n\n" +
			"Example:\n  rackproof bmc 10.0.12.7 screen --out r12u07.png\n\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withRedfish(cmd.Context(), o, false, func(c *redfish.Client) error {
				png, err := c.Screen(cmd.Context())
				if err != nil {
					return err
				}
				f, err := os.OpenFile(out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
				if err != nil {
					return usageError(fmt.Errorf("--out: %w", err), "name a file that is not there yet")
				}
				_, err = f.Write(png)
				if closing := f.Close(); err == nil {
					err = closing
				}
				if err != nil {
					return fmt.Errorf("--out: %w", err)
				}
				if a.json {
					return a.printJSON(map[string]any{"file": out, "bytes": len(png)})
				}
				a.printf("%s  %d bytes\n", out, len(png))
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&out, "out", "screen.png", "`file` to write")
	return cmd
}
