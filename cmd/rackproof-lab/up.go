package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision/lab"
)

func upCommand(a *app) *cobra.Command {
	o := lab.Options{}
	var firmware string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Build a lab; its machines are off and their BMCs answer",
		Long: "Build a lab and print each stage with its time. The machines are off; their BMCs\n" +
			"answer IPMI (623/udp) and Redfish (443/tcp) inside the lab's network, user " + lab.BMCUser + ",\n" +
			"password " + lab.BMCPassword + ". A lab that runs already is found. Ctrl-C leaves nothing.\n\n" +
			"Example:\n  rackproof-lab up --machines 2 --firmware uefi --gpus 8\n\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			start := time.Now()
			o.Dir, o.Firmware = a.dir, lab.Firmware(firmware)
			s, err := lab.Up(cmd.Context(), o, func(s lab.Stage) { a.progress("%6.1f s  %s", s.Seconds, s.Name) })
			if err != nil {
				return err
			}
			a.progress("%6.1f s  in all", time.Since(start).Seconds())
			return a.printStatus(s)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Machines, "machines", 1, "how many")
	f.IntVar(&o.GPUs, "gpus", lab.DefaultGPUs, "GPUs in each machine, 1 to 8")
	f.BoolVar(&o.Netboot, "netboot", false, "serve the image on 10.77.0.1:8080, so that a PXE boot comes up without rackproof")
	f.StringVar(&firmware, "firmware", string(lab.BIOS), "bios or uefi")
	return cmd
}
