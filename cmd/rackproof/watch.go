package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision"
)

func watchCommand(a *app) *cobra.Command {
	var sel provision.Selector
	var after int64
	var on failOn
	cmd := &cobra.Command{
		Use:   "watch [RUN]",
		Short: "Look on while a run goes on, or has its events as JSON lines",
		Long: `Look on while a run goes on, until nothing of it can go on without people. Without RUN
it is the newest run. It carries nothing itself.

With --json it prints every event of the run from its beginning, one JSON object a line;
--after goes on behind an event that was read before. The profiles' bytes are left out.

Example:
  rackproof watch po4711-r12
  rackproof watch po4711-r12 --json --after 1200
    {"seq":1201,"at":"2026-03-01T08:00:00Z","run":"po4711-r12","machine":"r12u07","attempt":1,"step":"bios",
      "kind":"acted","data":{"act":"bios settings","mark":"…"},"by":"anna@hall1"}

` + failOnHelp + "\n\n" + exitHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.newCarry()
			if err != nil {
				return err
			}
			c.failOn = &on
			engine, err := c.look(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { _ = engine.Close() }()
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			run, err := findRun(cmd.Context(), engine, name, "")
			if err != nil {
				return err
			}
			if err := selectorIn(sel, run); err != nil {
				return err
			}
			return c.watch(cmd.Context(), engine, run, sel, provision.Seq(after))
		},
	}
	selectorFlags(cmd, &sel)
	cmd.Flags().Int64Var(&after, "after", 0, "only events behind this `number`")
	on.flag(cmd)
	return cmd
}

// watch shows a run until it has settled, and ends with its exit status.
func (c *carry) watch(ctx context.Context, e engine, now *provision.Run, sel provision.Selector, after provision.Seq) error {
	carried := ownerAlive(c.state, now.ID) != ""
	c.sayIdle(now, sel, carried)
	var seen display
	if !c.app.json {
		seen = c.display(sel)
		defer seen.close()
	}
	var run provision.Run
	for ev, err := range e.Watch(ctx, now.ID, 0) {
		if err == nil {
			err = run.Apply(ev)
		}
		m := run.Find(ev.Machine)
		switch {
		case err != nil:
		case seen != nil:
			seen.event(&run, ev)
		case ev.Seq > after && (m == nil || sel.Match(m)):
			err = c.printEvent(ev)
		}
		if err != nil {
			return err
		}
		if run.Seq >= now.Seq && (!carried || settled(&run, sel) && upToDate(ctx, e, &run)) {
			break
		}
	}
	return exitWith(c.failOn.worst(run.ExitCodes(sel)...))
}

func (c *carry) sayIdle(run *provision.Run, sel provision.Selector, carried bool) {
	if !carried && !settled(run, sel) {
		c.app.progress("%s", nobodyCarries(run))
	}
}

// printEvent prints one line of JSON.
func (c *carry) printEvent(ev provision.Event) error {
	if ev.Kind == provision.Submitted || ev.Kind == provision.Edited {
		var s provision.Submission
		if err := json.Unmarshal(ev.Data, &s); err != nil {
			return err
		}
		if s.Batch != nil {
			s.Batch.Resolved = nil
		}
		b, err := json.Marshal(s)
		if err != nil {
			return err
		}
		ev.Data = b
	}
	enc := json.NewEncoder(c.app.stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(ev)
}
