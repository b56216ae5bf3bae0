package provision

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

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

// stopped is the error of a BMC whose lockdown, or a job of its own, stops one of the
// changes. Other obstacles are remarks: the boot has other ways where there is no
// override, and a licence shows itself when it is missed.
func stopped(found []redfish.Obstacle, changes []Change) error {
	for _, o := range found {
		i := slices.IndexFunc(changes, func(ch Change) bool { return slices.Contains(o.Stops, ch.Step) })
		if i >= 0 && stops(o) {
			return &Stuck{Why: fmt.Sprintf("%s, and step %s would change something", o.What, changes[i].Step), Do: o.Do, Owner: OwnerTool}
		}
	}
	return nil
}

func stops(o redfish.Obstacle) bool {
	return len(o.Stops) > 0 && (o.Kind == redfish.LockedDown || o.Kind == redfish.PendingJob || o.Kind == redfish.RunningJob)
}

// changes are what the steps of a workflow that are not done yet would change. What a plan
// notes for the steps behind it is no fact of the run.
func (e *Env) changes(ctx context.Context, w Workflow) ([]Change, error) {
	facts := e.Facts
	e.Facts = maps.Clone(facts)
	defer func() { e.Facts = facts }()
	out := []Change{}
	for _, s := range w.Steps {
		planner, ok := s.Step.(Planner)
		if !ok || slices.ContainsFunc(e.Steps, func(d StepDone) bool { return d.Step == s.Step.Name() }) {
			continue
		}
		switch why := s.When.unmet(e.Machine, e.Facts); {
		case s.When.open(e.Facts):
			out = append(out, Change{Step: s.Step.Name(), What: "only where", Want: s.When.String()})
		case why != "":
			out = append(out, Change{Step: s.Step.Name(), What: "left out:", Want: why})
			continue
		}
		e.With = s.With
		changes, err := planner.Plan(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Step.Name(), err)
		}
		out = append(out, changes...)
	}
	return out, nil
}

// jobPatience is for how long a job of the BMC may run on before the machine is STUCK:
// within the time of step preflight. Most that a login meets are collections and
// inventories of a minute.
const jobPatience = 3 * time.Minute

// unlocked looks for what is in the way of this run, before it changes anything. A job
// that runs is given time to end.
func (e *Env) unlocked(ctx context.Context, c BMC) error {
	flow, err := e.Batch.Flow()
	if err != nil {
		return err
	}
	limit := time.Now().Add(jobPatience)
	for told := false; ; told = true {
		found, err := obstacles(ctx, c)
		if err != nil {
			return err
		}
		for _, o := range found {
			if !told {
				e.Log.Warn("in the way: "+o.String(), "kind", string(o.Kind), "source", o.Source)
			}
		}
		if !slices.ContainsFunc(found, stops) { // what the run would change need not be asked
			return nil
		}
		changes, err := e.changes(ctx, flow)
		if err != nil {
			return err
		}
		err = stopped(found, changes)
		running := slices.ContainsFunc(found, func(o redfish.Obstacle) bool { return o.Kind == redfish.RunningJob })
		if err == nil || !running || time.Now().After(limit) {
			return err
		}
		e.Progress(ctx, limit, "waits for a job of the BMC")
		if err := (sleeper{}).Pause(ctx, e.poll()); err != nil {
			return err
		}
	}
}
