package main

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/redfish"
)

func (a *app) bmcSensors(o *bmcOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "sensors",
		Short: "Show what the BMC measures",
		Long: "Show temperatures, fans, voltages, powers and states, with the BMC's own critical limits.\n" +
			"What could not be read is named at the end; then the exit code is 4.\n\n" +
			"Example:\n  rackproof bmc 10.0.12.7 sensors\n\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withBMC(cmd.Context(), o, false, func(c bmcClient) error {
				list, err := c.Sensors(cmd.Context())
				gaps, err := missing(err)
				if err != nil {
					return err
				}
				if a.json {
					err = a.printJSON(map[string]any{"sensors": append([]redfish.Sensor{}, list...), "missing": gaps})
				} else {
					err = a.printSensors(list)
				}
				if err != nil {
					return err
				}
				return a.printMissing(gaps)
			})
		},
	}
}

func (a *app) printSensors(list []redfish.Sensor) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, s := range list {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", oneLine(s.Name), reading(s), limits(s.Thresholds), s.Health)
	}
	return w.Flush()
}

// reading is a sensor's figure, the states it asserts, or why it gives nothing.
func reading(s redfish.Sensor) string {
	switch {
	case s.Reading != nil:
		return strings.TrimSpace(figure(*s.Reading) + " " + s.Unit)
	case len(s.States) > 0:
		return oneLine(strings.Join(s.States, ", "))
	case s.State != "" && s.State != "Enabled":
		return s.State
	case s.Kind == redfish.Discrete:
		return "nothing asserted"
	}
	return "no reading"
}

// limits are the critical ones: "5 … 95", "… 95", "5 …".
func limits(t redfish.Thresholds) string {
	low, high := t.LowerCritical, t.UpperCritical
	if low == nil && high == nil {
		return ""
	}
	words := "…"
	if low != nil {
		words = figure(*low) + " " + words
	}
	if high != nil {
		words += " " + figure(*high)
	}
	return words
}

func figure(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
