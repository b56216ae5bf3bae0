package main

import (
	"fmt"
	"strings"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/report"
	"github.com/rackproof/rackproof/provision"
)

// truth tells of a batch what no line of a machine tells: what several have in common,
// and how long steps took, the slowest machine named. It is empty for one machine.
func truth(read *judgements, run *provision.Run, sel provision.Selector) string {
	chosen := run.Sorted(sel)
	if len(chosen) < 2 {
		return ""
	}
	var lines []string
	for _, c := range run.Causes(sel) {
		if len(c.Machines) > 1 {
			lines = append(lines, c.String()+": "+named(c.Machines))
		}
	}
	var js []burnin.Judgement
	for _, m := range chosen {
		if j := read.of(m); j != nil && !m.Faulted {
			js = append(js, *j)
		}
	}
	for _, c := range report.Causes(js) {
		if len(c.Machines) > 1 {
			lines = append(lines, fmt.Sprintf("%d of %d have the same %s, %s: %s: %s", len(c.Machines), len(chosen), c.Check, c.Verdict, c.Example, named(c.Machines)))
		}
	}
	var times []string
	for _, t := range run.StepTimes(sel) {
		if t.Worst >= worthSaying {
			times = append(times, t.String())
		}
	}
	if len(times) > 0 {
		lines = append(lines, "time per step, median: "+strings.Join(times, " · "))
	}
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// worthSaying is the shortest time of a step, in seconds, that anybody wants to read.
const worthSaying = 1

// named are the machines of a cause, the first ones where they are many.
func named(machines []string) string {
	if n := len(machines) - spelledOutWhere; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(machines[:spelledOutWhere], ", "), n)
	}
	return strings.Join(machines, ", ")
}
