package provision

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// errNotPlanned is why a step leaves a machine alone that it would change otherwise than the
// run's plan says.
var errNotPlanned = errors.New("not as planned")

// changeReset is a Change that follows from others: which step resets for all is decided on
// the way.
const changeReset = "reset"

// Held are the changes of each machine that could be planned, for Batch.Planned.
func (f *PlanFile) Held() map[string][]Change {
	held := map[string][]Change{}
	for _, m := range f.Machines {
		if m.Problem == "" {
			held[m.Machine] = m.Changes
		}
	}
	return held
}

// What puts a machine back as the run found it (restore-bios, handover) holds to no plan: that
// was not known when the plan was made.

// asPlanned refuses what a step would change now and the run's plan does not say, with the
// values found and wanted. What was planned and is not needed any more is no matter. An act
// that was begun was compared before it began.
func (e *Env) asPlanned(ctx context.Context, info StepInfo) error {
	p, ok := info.Step.(Planner)
	if !ok || !info.Planned || e.Batch.Planned == nil || len(e.intents) > 0 {
		return nil
	}
	planned, ok := e.Batch.Planned[e.Machine.Name]
	if !ok {
		return e.notPlanned(info.Step.Name(), "this machine is not in the plan of this run")
	}
	now, err := e.planned(ctx, p)
	if err != nil {
		return err
	}
	var more []string
	for _, c := range now {
		if c.What != changeReset && !slices.Contains(planned, c) {
			more = append(more, c.String())
		}
	}
	if len(more) == 0 {
		return nil
	}
	const shown = 5
	if n := len(more) - shown; n > 0 {
		more = append(more[:shown], fmt.Sprintf("and %d more", n))
	}
	return e.notPlanned(info.Step.Name(), "needed now, and not in the plan of this run: "+strings.Join(more, "; "))
}

// planned asks the step for its changes, and leaves the facts as they are.
func (e *Env) planned(ctx context.Context, p Planner) ([]Change, error) {
	facts := e.Facts
	e.Facts = facts.Clone()
	defer func() { e.Facts = facts }()
	return p.Plan(ctx, e)
}

func (e *Env) notPlanned(step, why string) error {
	return &Stuck{
		Why:   fmt.Sprintf("not as planned: %s; %s changed nothing", why, step),
		Do:    fmt.Sprintf("Look why it differs. Put it back and resume, or plan anew: `rackproof plan -f %s -o new.plan`, then `rackproof run --plan new.plan`.", or(e.Batch.Source, "batch.yaml")),
		cause: errNotPlanned,
	}
}
