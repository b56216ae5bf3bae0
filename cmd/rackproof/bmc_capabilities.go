package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/redfish"
)

func (a *app) bmcCapabilities(o *bmcOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "capabilities",
		Short: "Show what this BMC can do",
		Long: "Show a card of this model and firmware: how it boots, its virtual drives, BIOS registry\n" +
			"and settings, jobs, updates, consoles, protocols (IPMI over LAN among them), licences,\n" +
			"clock, events, readings, logs, and rules for accounts. Behind each line stands the\n" +
			"resource that says it. A \"?\" is what the BMC does not tell: neither yes nor no.\n\n" +
			"Example:\n  rackproof bmc 10.0.12.7 capabilities\n\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withRedfish(cmd.Context(), o, false, func(c *redfish.Client) error {
				card, err := c.Capabilities(cmd.Context())
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(card)
				}
				return a.printCard(card)
			})
		},
	}
}

func (a *app) printCard(card redfish.Card) error {
	a.printf("%s · BMC %s · BIOS %s\n", oneLine(or(strings.TrimSpace(card.Vendor+" "+card.Model), "?")), oneLine(or(card.BMCFirmware, "?")), oneLine(or(card.BIOSVersion, "?")))
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	topic := ""
	for _, l := range card.Lines {
		shown := l.Topic
		if shown == topic {
			shown = ""
		}
		topic = l.Topic
		value := strings.Join(l.Value, ", ")
		if !l.Known() {
			value = "? " + l.Why
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", shown, oneLine(l.Name), oneLine(value), oneLine(l.Source))
	}
	return w.Flush()
}
