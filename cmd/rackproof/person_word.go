package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/rackproof/rackproof/provision"
)

// personWord is what `done` or `retest` says of machines of one run.
type personWord struct {
	run      string // "" = the one in which the first machine waits
	machines []string
	kind     provision.Kind
	rep      provision.Repaired
	yes      bool // also of a machine that is well
	failOn   *failOn
}

// fits refuses a word that cannot be meant of the machine as it stands.
func (w personWord) fits(run *provision.Run, name string) error {
	m := run.Find(name)
	if m == nil {
		return usageError(fmt.Errorf("no machine %q in run %s", name, run.ID), "rackproof status "+string(run.ID))
	}
	resume := "rackproof resume " + string(run.ID)
	switch {
	case m.Runnable():
		return usageError(fmt.Errorf("%s is under way (%s)", name, m.Step), "rackproof status "+string(run.ID)+"; where nobody carries it: "+resume)
	case w.kind == provision.HandsDone && m.Stopped:
		return usageError(fmt.Errorf("%s was stopped and waits for nobody's hands", name), resume)
	case w.kind == provision.HandsDone && !m.Waits():
		return usageError(fmt.Errorf("%s is %s and waits for nobody", name, m.State), "to test it anew: rackproof retest "+name)
	case w.kind == provision.Rebind && m.Passed() && !w.yes:
		return usageError(fmt.Errorf("%s is %s; another board is tested anew, and that puts another result in its place", name, m.State), "if that is meant, the same with --yes")
	case w.kind == provision.Retested && m.Passed() && !w.yes:
		return usageError(fmt.Errorf("%s is %s; a retest puts another result in its place", name, m.State), "if that is meant: rackproof retest "+name+" --yes")
	}
	return nil
}

// runWaiting is the run that a person means: the one named, else the one in which
// the machine waits. Where it waits in several nothing is guessed.
func runWaiting(ctx context.Context, e engine, name, machine string) (*provision.Run, error) {
	if name != "" {
		return findRun(ctx, e, name, machine)
	}
	runs, err := allRuns(ctx, e)
	if err != nil {
		return nil, err
	}
	var waits []*provision.Run
	var list []string
	for _, run := range runs {
		if m := run.Find(machine); m != nil && m.Waits() {
			waits = append(waits, run)
			list = append(list, fmt.Sprintf("%s (%s)", run.ID, m.State))
		}
	}
	switch len(waits) {
	case 0:
		return findRun(ctx, e, "", machine)
	case 1:
		return waits[0], nil
	}
	return nil, usageError(fmt.Errorf("%s waits in several runs: %s", machine, strings.Join(list, ", ")), "name one with --run")
}
