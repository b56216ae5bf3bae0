package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision/lab"
)

func runCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "run -- COMMAND [ARGUMENT]…",
		Short: "Run a command inside the lab's network",
		Long: "Run a command inside the lab's network; everything else is as outside. The exit code\n" +
			"is the command's.\n\n" +
			"Example:\n  rackproof-lab run -- ipmitool -I lanplus -C 3 -H 10.77.1.11 -U admin -E power status\n\n" + exitHelp,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := lab.Open(cmd.Context(), a.dir)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return errors.New("not built")
			}
			return c.Run(args)
		},
	}
}
