package main

import (
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision/lab"
)

func faultCommand(a *app) *cobra.Command {
	var list bool
	cmd := &cobra.Command{
		Use:   "fault MACHINE NAME [VALUE] | fault --list",
		Short: "Break something of a machine, or heal it",
		Long: "Put a fault into a machine. The name none heals what can be healed.\n\n" +
			"Examples:\n  rackproof-lab fault lab1 pcie-width gpu1=4\n  rackproof-lab fault lab1 dimm-missing DIMM_C1\n" +
			"  rackproof-lab fault lab1 none\n\n" + exitHelp,
		Args: func(cmd *cobra.Command, args []string) error {
			if list {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.RangeArgs(2, 3)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return a.listFaults()
			}
			c, err := lab.Open(cmd.Context(), a.dir)
			if err != nil {
				return err
			}
			note, err := c.Fault(cmd.Context(), args[0], args[1], strings.Join(args[2:], ""))
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]string{"machine": args[0], "fault": args[1], "note": note})
			}
			if note != "" {
				a.printf("%s\n", note)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "print all faults with their values")
	return cmd
}

func (a *app) listFaults() error {
	faults := lab.Faults()
	if a.json {
		return a.printJSON(faults)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, f := range faults {
		does := f.Does
		if f.Cold {
			does += " (at the next power on)"
		}
		_, _ = w.Write([]byte(f.Name + "\t" + f.Value + "\t" + does + "\n"))
	}
	return w.Flush()
}
