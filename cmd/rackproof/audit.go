package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision"
)

func auditCommand(a *app) *cobra.Command {
	var sel provision.Selector
	cmd := &cobra.Command{
		Use:   "audit [RUN]",
		Short: "Who changed what, when, on which machine, by its serial",
		Long: `Who changed what, when, on which machine, by its serial: what people asked for, every
act on a machine, and its result. Without RUN it is the newest run.

Example:
  rackproof audit po4711-r12
    2026-03-01T08:00:00Z anna@hall1  r12u07 S/N S498765X3  bios: bios settings happened
  rackproof audit po4711-r12 --json       one object a line

` + exitHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.newCarry()
			if err != nil {
				return err
			}
			engine, err := c.look(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { _ = engine.Close() }()
			run, err := findRun(cmd.Context(), engine, strings.Join(args, ""), "")
			if err != nil {
				return err
			}
			if err := selectorIn(sel, run); err != nil {
				return err
			}
			return c.audit(cmd.Context(), engine, run, sel)
		},
	}
	selectorFlags(cmd, &sel)
	return cmd
}

// auditLine is one line of the audit log.
type auditLine struct {
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Machine string    `json:"machine,omitempty"`
	Serial  string    `json:"serial,omitempty"`      // by the batch
	Seen    string    `json:"serial_seen,omitempty"` // by the BMC, from where it was asked on
	UUID    string    `json:"uuid,omitempty"`        // by the BMC
	BMC     string    `json:"bmc,omitempty"`
	Attempt int       `json:"attempt,omitempty"`
	Step    string    `json:"step,omitempty"`
	What    string    `json:"what"`
}

// audit prints the events of a run that tell of a person or of a change.
func (c *carry) audit(ctx context.Context, e engine, now *provision.Run, sel provision.Selector) error {
	var run provision.Run
	for ev, err := range e.Watch(ctx, now.ID, 0) {
		if err == nil {
			err = run.Apply(ev)
		}
		if err != nil {
			return err
		}
		m := run.Find(ev.Machine)
		if what := audited(&run, m, ev); what != "" && (m == nil && sel.All() || m != nil && sel.Match(m)) {
			if err := c.printAudit(m, ev, what); err != nil {
				return err
			}
		}
		if ev.Seq >= now.Seq {
			break
		}
	}
	return nil
}

func (c *carry) printAudit(m *provision.MachineRun, ev provision.Event, what string) error {
	line := auditLine{At: ev.At, By: or(ev.By, "not recorded"), Attempt: ev.Attempt, Step: ev.Step, What: what}
	if m != nil {
		line.Machine, line.Serial, line.BMC = m.Machine.Name, m.Machine.Serial, m.Machine.BMC
		line.Seen, line.UUID = m.Facts[provision.FactSerial], m.Facts[provision.FactUUID]
	}
	if c.app.json {
		enc := json.NewEncoder(c.app.stdout)
		enc.SetEscapeHTML(false)
		return enc.Encode(line)
	}
	of := "the run"
	if m != nil {
		of = fmt.Sprintf("%s S/N %s", line.Machine, or(line.Serial, or(line.Seen, "not known yet")))
	}
	if ev.Step != "" {
		what = ev.Step + ": " + what
	}
	c.app.printf("%s %s  %s  %s\n", ev.At.Format(time.RFC3339), line.By, of, what)
	return nil
}

// audited says what an event changed or who asked for what, "" where it did neither.
func audited(run *provision.Run, m *provision.MachineRun, ev provision.Event) string {
	switch ev.Kind {
	case provision.Submitted:
		return fmt.Sprintf("started: workflow %s over %d machines", run.Plan.Name, len(run.Machines))
	case provision.Edited:
		return fmt.Sprintf("batch file edited: %d machines", len(run.Machines))
	case provision.Resumed:
		return "asked to go on"
	case provision.Cancelled:
		return "cancelled"
	case provision.Stopped:
		return "loads stopped"
	case provision.Served:
		return fmt.Sprintf("carried by pid %d on %s", run.Owner.PID, run.Owner.Host)
	case provision.Intended, provision.Acted:
		var in provision.Intent
		if json.Unmarshal(ev.Data, &in) != nil {
			return ""
		}
		if ev.Kind == provision.Acted {
			return in.Act + " happened"
		}
		return in.Act + " begins"
	case provision.HandsDone, provision.Retested, provision.Rebind:
		var r provision.Repaired
		_ = json.Unmarshal(ev.Data, &r) // who said it stands beside it
		return strings.TrimSpace(strings.Join([]string{map[provision.Kind]string{provision.HandsDone: "repaired", provision.Retested: "to be tested again", provision.Rebind: "bound anew:"}[ev.Kind], r.Part, r.Note}, " "))
	case provision.JudgedAgain:
		return "judged again"
	case provision.MachineOver:
		if m != nil {
			return "result " + string(m.State)
		}
	default:
	}
	return ""
}
