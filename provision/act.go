package provision

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Sight is what a machine shows of an act.
type Sight int

// A machine shows that an act happened, that it did not, or neither.
const (
	CannotTell Sight = iota
	Happened
	Absent
)

// Act is one change that must not happen twice by accident. Its intent is
// durable, with the mark, before Do is called; after a crash or a lost answer
// Seen decides: Happened ends the act, Absent (at every look for Settle) allows
// it, and CannotTell is asked again until Deadline, then the machine is STUCK.
// Nothing is ever done on a guess.
type Act struct {
	Name string
	// Mark reads, before the act, what will tell later whether it happened: a
	// boot id, a last reset time, a token.
	Mark func(context.Context) (string, error)
	// Seen asks the machine. An error is an answer that did not come: ask again.
	Seen func(ctx context.Context, mark string) (Sight, error)
	Do   func(context.Context) error

	// Inrush says that it makes the machine draw a start's current: it waits for its turn
	// in its rack and at its PDUs.
	Inrush bool

	Poll     time.Duration // between two questions; 0 = 2 s
	Settle   time.Duration // for how long Absent must be seen; 0 = Poll
	Deadline time.Duration // for an answer; 0 = 5 min
}

const (
	actPoll     = 2 * time.Second
	actDeadline = 5 * time.Minute
)

// Act brings one change about, once.
func (e *Env) Act(ctx context.Context, a Act) error {
	a = a.withDefaults()
	if err := e.deadline.begin(); err != nil {
		return err
	}
	defer e.deadline.over()
	in, intended := e.intents[a.Name]
	if intended && in.Acted {
		e.Log.Debug("act was seen before", "act", a.Name)
		return nil
	}
	if intended {
		e.Log.Info("asking the machine whether an interrupted act happened", "act", a.Name)
		seen, err := a.ask(ctx, in.Mark)
		if err != nil {
			return err
		}
		if seen == Happened {
			return e.acted(ctx, in)
		}
		if err := e.turn(ctx, a); err != nil {
			return err
		}
		return e.act(ctx, a, in)
	}
	if err := e.turn(ctx, a); err != nil { // before the intent: who waits has intended nothing
		return err
	}
	mark, err := a.Mark(ctx)
	if err != nil {
		return fmt.Errorf("%s: before the act: %w", a.Name, err)
	}
	in = Intent{Act: a.Name, Mark: mark}
	if err := e.rec.Record(ctx, Intended, in); err != nil {
		return fmt.Errorf("%s: the intent is not durable, so nothing was done: %w", a.Name, err)
	}
	e.intents[a.Name] = in
	return e.act(ctx, a, in)
}

func (e *Env) turn(ctx context.Context, a Act) error {
	if !a.Inrush {
		return nil
	}
	return e.inrush.Wait(ctx, e.Machine)
}

// act does it. An error may come behind an effect, so the machine is asked also
// then; only when it shows that nothing happened does the error count.
func (e *Env) act(ctx context.Context, a Act, in Intent) error {
	e.Log.Info("act", "act", a.Name)
	doErr := a.Do(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if doErr != nil {
		seen, err := a.ask(ctx, in.Mark)
		if stuck, ok := errors.AsType[*Stuck](err); ok {
			stuck.Why += "; the answer to it was: " + doErr.Error()
		}
		if err != nil {
			return err
		}
		if seen != Happened {
			return fmt.Errorf("%s: %w", a.Name, doErr)
		}
		e.Log.Warn("the act happened although its answer was an error", "act", a.Name, "err", doErr)
	}
	return e.acted(ctx, in)
}

func (e *Env) acted(ctx context.Context, in Intent) error {
	in.Acted = true
	if err := e.rec.Record(ctx, Acted, in); err != nil {
		return fmt.Errorf("%s: %w", in.Act, err)
	}
	e.intents[in.Act] = in
	return nil
}

// ask questions the machine until it shows one or the other.
func (a Act) ask(ctx context.Context, mark string) (Sight, error) {
	limit := time.NewTimer(a.Deadline)
	defer limit.Stop()
	var absent time.Time // since when it has been seen
	var last error
	for {
		seen, err := a.Seen(ctx, mark)
		last = err
		switch {
		case err != nil, seen == CannotTell:
			absent = time.Time{}
		case seen == Happened:
			return Happened, nil
		case absent.IsZero():
			absent = time.Now()
		case time.Since(absent) >= a.Settle:
			return Absent, nil
		}
		wait := time.NewTimer(a.Poll)
		select {
		case <-wait.C:
		case <-limit.C:
			return CannotTell, a.stuck(last)
		case <-ctx.Done():
			wait.Stop()
			return CannotTell, context.Cause(ctx)
		}
	}
}

func (a Act) stuck(last error) error {
	why := fmt.Sprintf("%s was interrupted, and for %s the machine did not show whether it happened", a.Name, a.Deadline)
	if last != nil {
		why += ": " + last.Error()
	}
	return &Stuck{Why: why, Do: "Look at the machine; nothing was done on a guess."}
}

func (a Act) withDefaults() Act {
	if a.Poll <= 0 {
		a.Poll = actPoll
	}
	if a.Settle <= 0 {
		a.Settle = a.Poll
	}
	if a.Deadline <= 0 {
		a.Deadline = actDeadline
	}
	a.Settle = min(a.Settle, a.Deadline/2) // a slow pace leaves time for an answer
	return a
}
