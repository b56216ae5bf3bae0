package provision

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// Brake lets a change that touches many machines alike go first to one machine
// of a model, then to three, then to the rest; after two failures of the same
// cause, or of a tenth of the machines, no further machine starts.
type Brake struct {
	mu     sync.Mutex
	models map[string]*wave
}

// wave is one model.
type wave struct {
	total, active, passed, failed int
	causes                        map[string]int
	stopped                       string // why no further machine starts
	moved                         chan struct{}
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

func (b *Brake) wave(model string) *wave {
	w := b.models[model]
	if w == nil {
		w = &wave{causes: map[string]int{}, moved: make(chan struct{})}
		b.models[model] = w
	}
	return w
}

// Enter waits until a machine of model may be changed. When the brake is on it
// returns a Stuck: it is the change that is at fault, not the machine.
func (b *Brake) Enter(ctx context.Context, model string) error {
	for {
		b.mu.Lock()
		w := b.wave(model)
		if w.stopped != "" {
			b.mu.Unlock()
			return &Stuck{Why: w.stopped, Next: "Correct the profile or the machines that failed, then run the batch again."}
		}
		if w.active < w.width() {
			w.active++
			b.mu.Unlock()
			return nil
		}
		moved := w.moved
		b.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// width is how many may be under way at once: one, then three, and the rest when
// these four went well.
func (w *wave) width() int {
	switch {
	case w.passed == 0:
		return 1
	case w.passed < 4:
		return 4 - w.passed
	default:
		return max(w.total, 1)
	}
}

// Leave ends a machine's change. An empty cause means that it went well; an
// interrupted one counts neither way.
func (b *Brake) Leave(model, cause string, interrupted bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.wave(model)
	w.active--
	switch {
	case interrupted:
	case cause == "":
		w.passed++
	default:
		w.failed++
		w.causes[cause]++
		w.brake(cause)
	}
	close(w.moved)
	w.moved = make(chan struct{})
}

func (w *wave) brake(cause string) {
	tenth := w.failed >= 2 && w.failed*10 >= w.total
	if w.stopped != "" || (w.causes[cause] < 2 && !tenth) {
		return
	}
	word := "same cause"
	if w.causes[cause] < 2 {
		word = "a tenth of the machines, last"
	}
	touched := w.passed + w.failed + w.active
	w.stopped = fmt.Sprintf("Stopped after %d of %d: %s (%s). Nothing changed on the other %d.",
		touched, w.total, word, cause, max(w.total-touched, 0))
}

// cause is err without what differs between machines alike: name and addresses.
func cause(err error, m Machine) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	for _, own := range []string{m.Name + ": ", m.BMC, strings.Split(m.BMC, ":")[0], m.Name, m.Serial} {
		if own != "" {
			text = strings.ReplaceAll(text, own, "")
		}
	}
	return strings.Join(strings.Fields(text), " ")
}
