package journal

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rackproof/rackproof/provision"
)

// step carries out one try of one step, and writes down how it ended. The error
// is that of the journal; how the machine fared is in the events.
func (c *carrier) step(ctx context.Context, now moment, s provision.PlanStep) error {
	m := now.MachineRun
	power, slot, err := c.admitBy(ctx, now, s)
	if err != nil {
		return ended(ctx, err)
	}
	if slot == nil { // its turn did not come before the run's deadline
		return c.tell(ctx, m, s.Name, provision.HeldBack, provision.NotBegun(now.until, s.Name, m.Facts))
	}
	defer slot.release()
	defer power()
	try := m.Failed + 1
	if err := c.tell(ctx, m, s.Name, provision.StepStarted, provision.Try{Try: try}); err != nil {
		return err
	}
	rec := recorder{c, m, s.Name, power, slot}
	c.open(m.Machine.Name, m.Intents)
	defer c.open(m.Machine.Name, nil)
	began := time.Now()
	facts, stepErr := c.engine.opt.Worker.Step(ctx, provision.Task{
		Run: c.id, Batch: now.batch, Plan: now.plan, Machine: m.Machine, Attempt: m.Attempt, Step: s, Try: try,
		Facts: m.Facts, Intents: m.Intents, Steps: m.Steps, Repairs: m.Repairs,
		Rollouts: now.rollouts, Released: now.released, Until: now.until,
	}, rec)
	if ctx.Err() != nil || stepErr != nil && c.halting() {
		return nil // interrupted: whoever carries it on asks the machine
	}
	if aside, ok := errors.AsType[*provision.Aside](stepErr); ok {
		power()
		slot.release()
		if err := c.tell(ctx, m, s.Name, provision.Progressed, provision.Progress{Text: aside.Why}); err != nil {
			return err
		}
		aside.Wait(ctx)
		return nil
	}
	if stepErr == nil {
		return c.tell(ctx, m, s.Name, provision.StepEnded, provision.StepDone{
			Started: began.UTC(), Seconds: time.Since(began).Seconds(), Tries: try, Facts: facts,
		})
	}
	power() // who waits for the next try, or for people, holds no place
	slot.release()
	return c.failed(ctx, m, s, try, facts, stepErr)
}

// admitBy is admit until the run's deadline, behind which it gives no place. A step that
// always runs asks no machine, and has no deadline.
func (c *carrier) admitBy(ctx context.Context, now moment, s provision.PlanStep) (power func(), slot *place, err error) {
	if now.until.IsZero() || s.Always {
		return c.admit(ctx, now.MachineRun, s)
	}
	waiting, cancel := context.WithDeadline(ctx, now.until)
	defer cancel()
	power, slot, err = c.admit(waiting, now.MachineRun, s)
	if err != nil && ctx.Err() == nil && waiting.Err() != nil {
		return nil, nil, nil
	}
	return power, slot, err
}

// admit waits for power and for a place among those worked on at once.
func (c *carrier) admit(ctx context.Context, m provision.MachineRun, s provision.PlanStep) (power func(), slot *place, err error) {
	power = func() {}
	if s.Loads {
		if supply := c.gate.Waits(m.Drawing()); supply != "" {
			if err := c.tell(ctx, m, s.Name, provision.Progressed, provision.Progress{Text: "waits for power of " + supply}); err != nil {
				return nil, nil, err
			}
		}
		if power, err = c.gate.Power(ctx, m.Drawing()); err != nil {
			return nil, nil, err
		}
	}
	slot = &place{gate: c.gate}
	if err = slot.take(ctx); err != nil {
		power()
		return nil, nil, err
	}
	return power, slot, nil
}

// place is a step's among those worked on at once.
type place struct {
	gate *provision.Gate

	mu   sync.Mutex
	give func() // nil: it holds none
}

func (p *place) take(ctx context.Context) error {
	give, err := p.gate.Slot(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.give = give
	return nil
}

func (p *place) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.give != nil {
		p.give()
		p.give = nil
	}
}

// failed writes down why a try did not end, and waits before the next one.
func (c *carrier) failed(ctx context.Context, m provision.MachineRun, s provision.PlanStep, try int, facts provision.Facts, err error) error {
	ends, again := provision.Endings(err, s, try, facts, time.Time{})
	for _, end := range ends {
		if err := c.tell(ctx, m, s.Name, end.Kind, end.Data); err != nil {
			return err
		}
	}
	if !again {
		return nil
	}
	t := time.NewTimer(s.Pause(try, c.engine.opt.Backoff))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return nil
}

// recorder makes the events of a step durable.
type recorder struct {
	c     *carrier
	m     provision.MachineRun
	step  string
	power func() // gives the rack's power back
	slot  *place
}

// Unloaded implements provision.Unloader.
func (r recorder) Unloaded() { r.power() }

// Yield implements provision.Yielder.
func (r recorder) Yield() (back func(context.Context) error) {
	r.slot.release()
	return r.slot.take
}

// Draws implements provision.Drawer.
func (r recorder) Draws(watts float64) { r.c.gate.Draws(r.m.Machine.Name, watts) }

// Record implements provision.Recorder.
func (r recorder) Record(ctx context.Context, kind provision.Kind, data any) error {
	in, ok := data.(provision.Intent)
	if ok && kind == provision.Intended {
		if err := r.c.acting(r.m.Machine.Name, in.Act, true); err != nil {
			return err
		}
	}
	err := r.c.tell(ctx, r.m, r.step, kind, data)
	if ok && kind == provision.Acted {
		return errors.Join(err, r.c.acting(r.m.Machine.Name, in.Act, false))
	}
	return err
}
