package main

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rackproof/rackproof/provision/lab"
)

func upCommand(a *app) *cobra.Command {
	o := lab.Options{}
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
			o.Dir = a.dir
			s, err := lab.Up(cmd.Context(), o, a.stage)
			if err != nil {
				return err
			}
			a.stage(lab.Stage{Name: "in all", Seconds: time.Since(start).Seconds()})
			return a.printStatus(s)
		},
	}
	labFlags(cmd.Flags(), &o)
	cmd.Flags().BoolVar(&o.Netboot, "netboot", false, "serve the image on 10.77.0.1:8080, so that a PXE boot comes up without rackproof")
	return cmd
}

// labFlags say which lab to build.
func labFlags(f *pflag.FlagSet, o *lab.Options) {
	f.IntVar(&o.Machines, "machines", 1, "how many")
	f.IntVar(&o.GPUs, "gpus", lab.DefaultGPUs, "GPUs in each machine, 1 to 8")
	f.StringVar(&o.Cache, "cache", "", "`folder` in which the netboot image is kept (default: in the user's cache folder)")
	f.StringVar((*string)(&o.Firmware), "firmware", string(lab.BIOS), "bios or uefi")
}

// stage tells that a stage is done.
func (a *app) stage(s lab.Stage) { a.progress("%6.1f s  %s", s.Seconds, s.Name) }
