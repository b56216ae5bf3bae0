package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/redfish"
)

func (a *app) bmcSEL(o *bmcOptions) *cobra.Command {
	var since string
	cmd := &cobra.Command{
		Use:   "sel",
		Short: "Show the log of hardware events",
		Long: "Show the log of hardware events (SEL), and clear nothing. Times are by the BMC's clock;\n" +
			"an entry without one is from before that clock was set. What could not be read is named\n" +
			"at the end; then the exit code is 4.\n\n" +
			"Example:\n  rackproof bmc 10.0.12.7 sel --since 24h\n\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := moment(since, time.Now())
			if err != nil {
				return usageError(err, "rackproof bmc ADDR sel --since 24h")
			}
			return a.withBMC(cmd.Context(), o, false, func(c bmcClient) error {
				list, err := c.Log(cmd.Context(), from)
				gaps, err := missing(err)
				if err != nil {
					return err
				}
				clock, skew, err := c.Clock(cmd.Context())
				if err != nil && !errors.Is(err, redfish.ErrUnsupported) {
					gaps = append(gaps, "its clock: "+err.Error()) // the log is read, and shown
				}
				if err := a.printSEL(eventLog{Entries: inOrder(list), Clock: clock, Skew: skew.Seconds(), Since: from, Missing: gaps}); err != nil {
					return err
				}
				return a.printMissing(gaps)
			})
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "only what is newer, by our clock: a `time` such as 2026-01-31T08:00:00Z, or how long ago, such as 24h")
	return cmd
}

// eventLog is what `bmc sel --json` prints.
type eventLog struct {
	Entries []redfish.LogEntry `json:"entries"`
	Clock   time.Time          `json:"bmc_clock,omitzero"` // zero where the BMC tells none
	Skew    float64            `json:"skew_seconds"`       // by how much that is ahead of ours
	Since   time.Time          `json:"since,omitzero"`     // by our clock
	Missing []string           `json:"missing,omitempty"`
}

// moment reads a time, or how long before now it was; "" is the zero time.
func moment(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, form := range []string{time.RFC3339, time.DateTime, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("--since %q: write a time such as 2026-01-31T08:00:00Z, or how long ago, such as 24h", text)
}

// inOrder puts entries without a time first, as they stand, then the others by time.
func inOrder(list []redfish.LogEntry) []redfish.LogEntry {
	out := append([]redfish.LogEntry{}, list...)
	slices.SortStableFunc(out, func(a, b redfish.LogEntry) int { return a.Time.Compare(b.Time) })
	return out
}

func (a *app) printSEL(log eventLog) error {
	if a.json {
		return a.printJSON(log)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, e := range log.Entries {
		at, what := "no time", e.Event
		if !e.Time.IsZero() {
			at = e.Time.UTC().Format("2006-01-02 15:04:05")
		}
		if e.Asserted != nil && !*e.Asserted {
			what += " (over)"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", at, e.Severity, oneLine(e.Sensor), oneLine(what))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	words := fmt.Sprintf("%d entries", len(log.Entries))
	if skew := time.Duration(log.Skew * float64(time.Second)).Round(time.Second); !log.Clock.IsZero() && skew.Abs() > 2*time.Second {
		words += fmt.Sprintf("; the BMC's clock is %s %s", skew.Abs(), map[bool]string{true: "fast", false: "slow"}[skew > 0])
	}
	a.printf("%s\n", words)
	return nil
}

// oneLine takes out what would break a table, or a terminal.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}
