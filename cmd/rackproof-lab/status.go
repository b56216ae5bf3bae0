package main

import (
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision/lab"
)

func statusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "What there is: machines, power, faults",
		Long:  "Print the machines of the lab with their power, addresses and faults.\n\nExample:\n  rackproof-lab status --json\n\n" + exitHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := lab.Open(cmd.Context(), a.dir)
			if err != nil {
				return err
			}
			s, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			return a.printStatus(s)
		},
	}
}

func (a *app) printStatus(s lab.Status) error {
	if a.json {
		return a.printJSON(s)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { _, _ = w.Write([]byte(strings.Join(cells, "\t") + "\n")) }
	row("MACHINE", "POWER", "NEXT BOOT", "BMC", "HOST", "FIRMWARE", "FAULTS")
	for _, m := range s.Machines {
		power := map[bool]string{true: "on", false: "off"}[m.On]
		row(m.Name, power, m.Boot.String(), m.BMC, m.Host, string(m.Firmware), strings.Join(m.Faults, ", "))
	}
	return w.Flush()
}
