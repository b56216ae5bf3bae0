package provision

import (
	"context"
	"strings"
	"sync"
)

// Brake lets a change that touches many machines alike go first to one machine
// of a model, then to three, then to the rest; after two failures of the same
// cause, or of a tenth of the machines, no further machine starts.
type Brake struct {
	mu       sync.Mutex
	models   map[string]*wave
	released int
}

// wave is one model.
type wave struct {
	Rollout
	total, active int
	stopped       string // why no further machine starts
	moved         chan struct{}
}

// NewBrake makes a brake for the number of machines of each model.
func NewBrake(models map[string]int) *Brake {
	b := &Brake{models: map[string]*wave{}}
	b.Expect(models)
	return b
}

// Expect corrects the number of machines of each model.
func (b *Brake) Expect(models map[string]int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, n := range models {
		b.wave(name).total = n
	}
}

// Follow takes up what the run's events tell: at the start of a process, and when
// a person has let the brake go since. released counts how often that was.
func (b *Brake) Follow(rollouts map[string]Rollout, released int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if released <= b.released {
		return
	}
	b.released = released
	for name := range rollouts {
		b.wave(name)
	}
	for name, w := range b.models {
		w.Rollout = rollouts[name]
	}
	for name, w := range b.models {
		w.stopped = b.stop(name, w)
		w.move()
	}
}

// stop says why no further machine is changed, "" when it may be.
func (b *Brake) stop(model string, w *wave) string {
	step, before := changedBefore(model, func(key string) bool {
		o := b.models[key]
		return o != nil && o.Passed+o.Failed+o.active > 0
	})
	return w.Rollout.stopped(w.total, w.active, step, before)
}

func (b *Brake) wave(model string) *wave {
	w := b.models[model]
	if w == nil {
		w = &wave{moved: make(chan struct{})}
		b.models[model] = w
	}
	return w
}

// Enter waits until a machine of model may be changed. When the brake is on it
// returns a Stuck: it is the change that is at fault, not the machine.
func (b *Brake) Enter(ctx context.Context, model string) error {
	for {
		moved, err := b.try(model)
		if err != nil || moved == nil {
			return err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// try is Enter without waiting: where the machine may not be changed yet it returns what
// is closed when it is worth asking again.
func (b *Brake) try(model string) (moved <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.wave(model)
	switch {
	case w.stopped != "":
		return nil, &Stuck{Why: w.stopped, Do: "Correct the profile and run the batch again, or correct the machines that failed and resume."}
	case w.active < w.width():
		w.active++
		return nil, nil
	}
	return w.moved, nil
}

// enter is Brake.Enter for this machine, whose place is another's while it waits.
func (e *Env) enter(ctx context.Context, b *Brake, model string) error {
	moved, err := b.try(model)
	if err != nil || moved == nil {
		return err
	}
	back := func(context.Context) error { return nil }
	if y, ok := e.rec.(Yielder); ok {
		back = y.Yield()
	}
	if err := b.Enter(ctx, model); err != nil {
		return err
	}
	if err := back(ctx); err != nil {
		b.Leave(model, e.Machine.Name, "", true)
		return err
	}
	return nil
}

// width is how many may be under way at once: one, then three, and the rest when
// these four went well.
func (w *wave) width() int {
	switch {
	case w.Passed == 0:
		return 1
	case w.Passed < 4:
		return 4 - w.Passed
	default:
		return max(w.total, 1)
	}
}

// Leave ends the change of the machine called name. An empty cause means that it went well; an
// interrupted one counts neither way.
func (b *Brake) Leave(model, name, cause string, interrupted bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.wave(model)
	w.active--
	if !interrupted {
		w.Rollout = w.with(name, cause)
		if w.stopped == "" {
			w.stopped = b.stop(model, w)
		}
	}
	w.move()
}

func (w *wave) move() {
	close(w.moved)
	w.moved = make(chan struct{})
}

// cause is err without what differs between machines alike: name and addresses.
func cause(err error, m Machine) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	for _, own := range []string{m.Name + ": ", m.BMC, strings.Split(m.BMC, ":")[0], m.movedAddr(), strings.Split(m.movedAddr(), ":")[0], m.Name, m.Serial} {
		if own != "" {
			text = strings.ReplaceAll(text, own, "")
		}
	}
	return strings.Join(strings.Fields(text), " ")
}
