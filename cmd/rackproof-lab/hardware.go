package main

import (
	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision/lab"
)

// chassisCommand and lanConfigCommand are programs that ipmi_sim runs: a BMC's
// hands on its machine.
func chassisCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "chassis DIR MACHINE get NAME… | set NAME VALUE…", Hidden: true, Args: cobra.MinimumNArgs(3),
		Short: "What ipmi_sim does to a machine",
		RunE: func(cmd *cobra.Command, args []string) error {
			return lab.ChassisControl(cmd.Context(), args[0], args[1], args[2:], a.stdout)
		},
	}
}

func lanConfigCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "lan-config NUMBER get NAME…", Hidden: true, Args: cobra.MinimumNArgs(2),
		Short: "What ipmi_sim knows of its network",
		RunE: func(_ *cobra.Command, args []string) error {
			return lab.LANConfig(args[0], args[1:], a.stdout)
		},
	}
}
