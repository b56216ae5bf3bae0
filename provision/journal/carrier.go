package journal

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rackproof/rackproof/provision"
)

// carrier is one run under way in this process.
type carrier struct {
	engine   *Engine
	id       provision.RunID
	gate     *provision.Gate
	machines sync.WaitGroup

	mu     sync.Mutex
	run    provision.Run
	active map[string]*working // machines under way
	news   bool                // a machine may have become one to work on, or not to work on
	err    error               // of the journal itself: the run cannot be carried on
}

// working is one machine under way.
type working struct {
	cancel context.CancelCauseFunc
	acts   map[string]bool // begun, and not yet seen to have happened
}

// sync takes in the events that came since.
func (c *carrier) sync(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	events, err := selectEvents(ctx, c.engine.db, c.id, c.run.Seq)
	if err != nil {
		return trouble(c.engine.file, err)
	}
	for _, ev := range events {
		if err := c.run.Apply(ev); err != nil {
			return err
		}
		switch ev.Kind {
		case provision.StepStarted, provision.Intended, provision.Acted, provision.Progressed, provision.Learned, provision.StepEnded, provision.StepFailed:
		default:
			c.news = true
		}
	}
	return nil
}

// failure is why the run cannot be carried on, or nil.
func (c *carrier) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// halted is why no step goes on, nil where they do.
func (c *carrier) halted() error {
	switch {
	case c.run.Cancelled:
		return provision.ErrStopped // loads come down
	case c.engine.ending():
		return context.Canceled // loads are left to whoever carries the run on
	}
	return nil
}

func (c *carrier) halting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.halted() != nil
}

// heed does what people asked. Machines that were stopped end their step at once. Where
// the run was cancelled, or this process is to end, each machine ends at its next safe
// point: no act is under way of which only its end tells that it happened.
func (c *carrier) heed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	halted := c.halted()
	if !c.news && halted == nil {
		return
	}
	for name, w := range c.active {
		m := c.run.Find(name)
		switch {
		case m == nil || m.Stopped:
			w.cancel(provision.ErrStopped)
		case halted != nil && len(w.acts) == 0:
			w.cancel(halted)
		}
	}
}

// acting takes note of an act that is about to begin, or has been seen to have happened.
// No act begins any more where the run is halted.
func (c *carrier) acting(name, act string, begins bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, halted := c.active[name], c.halted()
	if w == nil {
		return nil
	}
	if begins && halted == nil {
		w.acts[act] = true
		return nil
	}
	delete(w.acts, act)
	if halted != nil && len(w.acts) == 0 {
		w.cancel(halted)
	}
	if begins {
		return halted
	}
	return nil
}

// open sets the acts of a machine whose end is not known as its step begins.
func (c *carrier) open(name string, intents map[string]provision.Intent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.active[name]; w != nil {
		clear(w.acts)
		for act, in := range intents {
			if !in.Acted {
				w.acts[act] = true
			}
		}
	}
}

// start begins work on every machine that can go on, and returns how many are
// under way.
func (c *carrier) start(ctx context.Context) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.halted() != nil || !c.news {
		return len(c.active)
	}
	c.news = false
	for i := range c.run.Machines {
		m := &c.run.Machines[i]
		name := m.Machine.Name
		if _, busy := c.active[name]; busy || !c.engine.mine(*m) {
			continue
		}
		own, cancel := context.WithCancelCause(ctx)
		c.active[name] = &working{cancel: cancel, acts: map[string]bool{}}
		c.machines.Go(func() {
			err := c.work(own, name)
			cancel(nil)
			c.mu.Lock()
			delete(c.active, name)
			c.news = true
			if err != nil && ctx.Err() == nil && c.err == nil {
				c.err = err
			}
			c.mu.Unlock()
			c.engine.ring()
		})
	}
	return len(c.active)
}

// moment is a machine as it stands now, in a copy that nobody else changes, with
// what it shares with its run.
type moment struct {
	provision.MachineRun
	batch    *provision.Batch
	plan     provision.Plan
	rollouts map[string]provision.Rollout
	released int
	until    time.Time
}

func (c *carrier) machine(ctx context.Context, name string) (m moment, err error) {
	if err := c.sync(ctx); err != nil {
		return m, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.run.Find(name)
	if found == nil || c.halted() != nil {
		return m, nil // no state: not runnable
	}
	m = moment{*found, c.run.Batch, c.run.Plan, maps.Clone(c.run.Rollouts), c.run.Released, c.run.Until}
	m.Facts, m.Intents = maps.Clone(m.Facts), maps.Clone(m.Intents)
	m.Steps, m.Repairs = slices.Clone(m.Steps), slices.Clone(m.Repairs)
	return m, nil
}

// work takes one machine from step to step until it has a result, waits for
// somebody, or ctx ends. The error is that of the journal.
func (c *carrier) work(ctx context.Context, name string) error {
	var lease *provision.Lease
	defer func() { _ = lease.Release() }()
	for ctx.Err() == nil {
		m, err := c.machine(ctx, name)
		if err != nil || !m.Runnable() {
			return ended(ctx, err)
		}
		if m.Step == "" {
			return c.tell(ctx, m.MachineRun, "", provision.MachineOver, nil)
		}
		i := slices.IndexFunc(m.plan.Steps, func(s provision.PlanStep) bool { return s.Name == m.Step })
		if lease == nil && !m.plan.Steps[i].Always { // a step that always runs asks no BMC
			if lease, err = provision.LeaseBMC(c.engine.state, c.engine.opt.HostLocks, c.id, m.Machine); err != nil {
				return c.refused(ctx, m.MachineRun, err)
			}
		}
		if err := c.step(ctx, m, m.plan.Steps[i]); err != nil {
			return ended(ctx, err)
		}
	}
	return nil
}

// refused parks a machine whose BMC another one works on.
func (c *carrier) refused(ctx context.Context, m provision.MachineRun, err error) error {
	if _, ok := errors.AsType[*provision.HeldError](err); !ok {
		return err
	}
	return c.tell(ctx, m, m.Step, provision.GotStuck, provision.Stuck{
		Why: err.Error(), Do: "Wait for it, or cancel it.",
	})
}

func (c *carrier) tell(ctx context.Context, m provision.MachineRun, step string, kind provision.Kind, data any) error {
	ev, err := provision.NewEvent(c.id, m.Machine.Name, kind, data)
	if err != nil {
		return err
	}
	ev.Attempt, ev.Step = m.Attempt, step
	return c.engine.append(ctx, ev)
}
