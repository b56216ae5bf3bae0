package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision"
)

// untilFlag adds to a verb the time at which its work ends.
func untilFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "until", "", "end by this `time`: 06:00 (the next one here), an RFC 3339 time, or 8h from now")
}

const untilHelp = `With --until 06:00 nothing is begun that reboots, loads or writes and could not end by
then, by the minutes that plan tells; at that time each machine ends at its next safe
point and its load comes down. The run ends with 5, says where each machine is, and
goes on with resume. A machine at work keeps the time with which its step began.`

// deadlineOf reads --until; "" is none.
func (a *app) deadlineOf(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	now := time.Now()
	at, err := provision.ParseUntil(text, now)
	if err != nil {
		return at, usageError(fmt.Errorf("--until: %w; nothing was contacted", err), "")
	}
	a.progress("until %s: nothing is begun that could not end by then", at.Format("2006-01-02 15:04 MST"))
	return at, nil
}

// late says which machines a run's deadline has kept from beginning, and which it has put
// down where.
func late(run *provision.Run, sel provision.Selector) []string {
	var fresh, rest []string
	for i := range run.Machines {
		m := &run.Machines[i]
		switch {
		case m.Late == nil || !sel.Match(m):
		case m.Late.Untouched:
			fresh = append(fresh, m.Machine.Name)
		default:
			rest = append(rest, fmt.Sprintf("%s: %s", placed(m), m.Late.Why))
		}
	}
	var out []string
	if len(fresh) > 0 {
		out = append(out, "not begun, nothing of theirs was changed: "+strings.Join(fresh, ", "))
	}
	out = append(out, rest...)
	if len(out) > 0 {
		out = append(out, "carry on: rackproof resume "+string(run.ID))
	}
	return out
}
