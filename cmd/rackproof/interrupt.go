package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rackproof/rackproof/provision"
)

// interrupts tells what an interrupt, which has ended ctx, does to the run under way, and
// calls atOnce with the second one. What it returns ends its watch.
func (c *carry) interrupts(ctx context.Context, id provision.RunID, atOnce func()) (end func()) {
	over := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
		case <-over:
			return
		}
		again := make(chan os.Signal, 1)
		signal.Notify(again, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(again)
		c.app.progress("interrupted: each machine ends at its next safe point, its load goes on meanwhile; once more ends everything at once")
		select {
		case <-again:
			c.app.progress("interrupted again: ends now, steps stay where they are. Loads that go on end by their dead-man timers; at once: rackproof stop %s", id)
			atOnce()
			select { // fingers are quicker than what has to be said; a third one later kills
			case <-over:
			case <-time.After(graceAtOnce):
			}
		case <-over:
		}
	}()
	return func() { close(over) }
}

// graceAtOnce is how long a run that ends at once may take to close its sessions and say
// where it was left.
const graceAtOnce = 5 * time.Second

// spelledOutWhere is how many machines are named where a run was left.
const spelledOutWhere = 8

// whereIn says where the machines of a run stand that could go on: a line for those that
// are under load, one for those with an act of which nobody knows the end, one for the rest.
func whereIn(run *provision.Run, sel provision.Selector) []string {
	loads := map[string]bool{}
	for _, s := range run.Plan.Steps {
		loads[s.Name] = s.Loads
	}
	var loaded, acting, rest []string
	for i := range run.Machines {
		m := &run.Machines[i]
		if !m.Runnable() || !sel.Match(m) {
			continue
		}
		at := m.Machine.Name + " in " + or(m.Step, "its result")
		open := openActs(m)
		switch {
		case len(open) > 0:
			acting = append(acting, at+" ("+strings.Join(open, ", ")+")")
		case m.Try > 0 && loads[m.Step] && m.Facts[provision.FactBootID] != "":
			loaded = append(loaded, at)
		case m.Try > 0:
			rest = append(rest, at)
		}
	}
	var out []string
	for _, of := range []struct {
		machines []string
		text     string
	}{
		{loaded, "perhaps still under load, which its dead-man timer ends; at once: rackproof stop " + string(run.ID)},
		{acting, "an act had begun; the next one asks the machine whether it happened"},
		{rest, "at a safe point"},
	} {
		if n := len(of.machines); n > spelledOutWhere {
			of.machines = append(of.machines[:spelledOutWhere:spelledOutWhere], fmt.Sprintf("%d more", n-spelledOutWhere))
		}
		if len(of.machines) > 0 {
			out = append(out, strings.Join(of.machines, ", ")+": "+of.text)
		}
	}
	return out
}

// openActs are the acts of a machine's step that had begun and are not known to have
// happened.
func openActs(m *provision.MachineRun) []string {
	var open []string
	for act, in := range m.Intents {
		if !in.Acted {
			open = append(open, act)
		}
	}
	slices.Sort(open)
	return open
}

// whereCancelled says where each machine of a cancelled run ends.
func whereCancelled(run *provision.Run, carried bool) []string {
	var out []string
	for i := range run.Machines {
		m := &run.Machines[i]
		if !m.Runnable() || m.Try == 0 {
			continue
		}
		line := m.Machine.Name + " ends in " + or(m.Step, "its result")
		if open := openActs(m); len(open) > 0 {
			line += ", behind " + strings.Join(open, ", ")
			if !carried {
				line += "; nobody carries it: whether that happened is asked at resume"
			}
		}
		out = append(out, line)
	}
	return out
}
