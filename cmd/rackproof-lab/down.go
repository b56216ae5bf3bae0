package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision/lab"
)

func downCommand(a *app) *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "End the lab; nothing is left",
		Long: "Power off all machines of the lab and end everything that belongs to it, with its\n" +
			"network and its folder. Where none runs, what a crash left in the folder is removed.\n\n" +
			"Example:\n  rackproof-lab down --keep    # leaves serial.log and chassis.log to read\n\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := lab.Open(cmd.Context(), a.dir)
			if errors.Is(err, lab.ErrNoLab) {
				left, err := lab.Clean(a.dir)
				if err == nil {
					a.progress("%s", map[bool]string{true: "no lab ran; its folder is removed", false: "no lab runs"}[left])
				}
				return err
			}
			if err != nil {
				return err
			}
			return c.Down(cmd.Context(), keep)
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the folder with its logs")
	return cmd
}
