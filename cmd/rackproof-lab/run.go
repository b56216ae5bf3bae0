package main

import (
	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision/lab"
)

func runCommand(a *app) *cobra.Command {
	var j job
	cmd := &cobra.Command{
		Use:   "run [-- COMMAND [ARGUMENT]…]",
		Short: "The whole job on the lab, or a command inside its network",
		Long: "Without a command: bring up a lab if none runs, let rackproof carry its machines from\n" +
			"power-on to test record, and print each stage with its time. The exit code is that\n" +
			"of `rackproof run`: 0 passed, 3 hardware failed, 4 incomplete, 5 not finished.\n\n" +
			"With a command: run it inside the lab's network; everything else is as outside, and\n" +
			"the exit code is the command's.\n\n" +
			"Examples:\n  rackproof-lab run --protocol ipmi --out lab-out\n" +
			"  rackproof-lab run -- ipmitool -I lanplus -C 3 -H 10.77.1.11 -U admin -E power status\n\n" + exitHelp,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				code, err := j.run(cmd.Context(), a)
				if err == nil && code != exitDone {
					err = exitStatus(code)
				}
				return err
			}
			c, err := lab.Open(cmd.Context(), a.dir)
			if err != nil {
				return err
			}
			return c.Run(args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&j.out, "out", "lab-out", "`folder` for batch, state and reports")
	f.StringVar(&j.protocol, "protocol", "redfish", "what the BMCs are driven by: redfish, ipmi or ipmitool")
	f.StringVar(&j.load, "load", "20 s", "how long the machines are kept busy")
	f.BoolVar(&j.keepUp, "keep-up", false, "leave the lab running that was brought up for it")
	labFlags(f, &j.options)
	return cmd
}
