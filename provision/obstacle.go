package provision

import (
	"context"
	"fmt"
	"slices"

	"github.com/rackproof/rackproof/redfish"
)

// Preflighter tells what stands in the way of changes, with reads alone; a BMC may
// be one.
type Preflighter interface {
	Preflight(context.Context) ([]redfish.Obstacle, error)
}

func obstacles(ctx context.Context, c BMC) ([]redfish.Obstacle, error) {
	if p, ok := c.(Preflighter); ok {
		return p.Preflight(ctx)
	}
	return nil, nil
}

// locked is the error of a BMC whose lockdown stops one of the changes. Other
// obstacles are remarks: a job that waits may be our own, and a licence shows itself
// when it is missed.
func locked(found []redfish.Obstacle, changes []Change) error {
	for _, o := range found {
		i := slices.IndexFunc(changes, func(ch Change) bool { return slices.Contains(o.Stops, ch.Step) })
		if o.Kind == redfish.LockedDown && i >= 0 {
			return &Stuck{Why: fmt.Sprintf("%s, and step %s would change something", o.What, changes[i].Step), Do: o.Do}
		}
	}
	return nil
}

// changes are what the steps of a workflow that are not done yet would change.
func (e *Env) changes(ctx context.Context, w Workflow) ([]Change, error) {
	out := []Change{}
	for _, s := range w.Steps {
		planner, ok := s.Step.(Planner)
		if !ok || slices.ContainsFunc(e.Steps, func(d StepDone) bool { return d.Step == s.Step.Name() }) {
			continue
		}
		changes, err := planner.Plan(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Step.Name(), err)
		}
		out = append(out, changes...)
	}
	return out, nil
}

// unlocked looks for what is in the way of this run, before it changes anything.
func (e *Env) unlocked(ctx context.Context, c BMC) error {
	found, err := obstacles(ctx, c)
	if err != nil {
		return err
	}
	lockdown := false
	for _, o := range found {
		e.Log.Warn("in the way: "+o.String(), "kind", string(o.Kind), "source", o.Source)
		lockdown = lockdown || o.Kind == redfish.LockedDown
	}
	if !lockdown { // what the run would change need not be asked
		return nil
	}
	changes, err := e.changes(ctx, Qualify())
	if err != nil {
		return err
	}
	return locked(found, changes)
}
