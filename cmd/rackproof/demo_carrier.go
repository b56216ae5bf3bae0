package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/journal"
)

// carrier carries runs of this process's state folder and tells how they go.
type carrier struct {
	app    *app
	bench  *provision.Bench
	engine *journal.Engine
	shown  map[string]string // last line of each machine
}

func (a *app) openCarrier(ctx context.Context, burner provision.Burner) (*carrier, error) {
	state, err := a.state()
	if err != nil {
		return nil, err
	}
	bench := &provision.Bench{
		State: state, Workflows: provision.Workflows(), Secrets: &provision.Secrets{}, Burner: burner, Log: a.log, Version: versionString(),
	}
	engine, err := journal.Open(ctx, state, journal.Options{Worker: bench, Log: a.log})
	if err != nil {
		return nil, err
	}
	return &carrier{app: a, bench: bench, engine: engine, shown: map[string]string{}}, nil
}

func (c *carrier) close() error { return errors.Join(c.engine.Close(), c.bench.Close()) }

// settle serves a run until nothing in it goes on without a person.
func (c *carrier) settle(ctx context.Context, id provision.RunID) (*provision.Run, error) {
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- c.engine.Serve(serving) }()
	run, err := c.watch(ctx, id)
	stop()
	return run, errors.Join(err, <-served)
}

func (c *carrier) watch(ctx context.Context, id provision.RunID) (*provision.Run, error) {
	for _, err := range c.engine.Watch(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		run, err := c.engine.Run(ctx, id)
		if err != nil {
			return nil, err
		}
		c.show(&run)
		if run.Settled() {
			return &run, nil
		}
	}
	return nil, context.Cause(ctx)
}

// show prints a line for each machine whose step or state changed.
func (c *carrier) show(run *provision.Run) {
	for i := range run.Machines {
		m := &run.Machines[i]
		line := fmt.Sprintf("%-8s %-8s %s", m.Machine.Name, m.Machine.Where(), m.State)
		if m.State == provision.StateRun {
			line += "  " + m.Step
		} else if text := m.Facts[provision.FactLine]; text != "" {
			line = text
		} else if m.Why != "" {
			line += "  " + m.Why
		}
		if c.shown[m.Machine.Name] != line {
			c.shown[m.Machine.Name] = line
			c.app.progress("%s", line)
		}
	}
}
