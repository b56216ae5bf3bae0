package provision

import (
	"context"
	"sync"
	"time"
)

// defaultStagger is the time between two machines of a rack, or of a PDU, that are
// switched on or reset: power supplies charge and fans start at full speed at once.
const defaultStagger = time.Second

// Inrush lets the machines of a rack or PDU be switched on one after the other. It is of
// one run in one process.
type Inrush struct {
	pause time.Duration

	mu   sync.Mutex
	free map[string]time.Time // by rack or PDU: from when on the next may be switched on
}

// NewInrush makes the order of a batch.
func NewInrush(b *Batch) *Inrush {
	pause := time.Duration(b.Limits.Stagger)
	if pause <= 0 {
		pause = defaultStagger
	}
	return &Inrush{pause: pause, free: map[string]time.Time{}}
}

// Wait returns when it is m's turn. A nil Inrush holds nobody back.
func (i *Inrush) Wait(ctx context.Context, m Machine) error {
	if i == nil {
		return nil
	}
	return sleeper{}.Pause(ctx, time.Until(i.turn(m)))
}

// turn takes the next moment at which neither m's rack nor one of its PDUs starts another.
func (i *Inrush) turn(m Machine) time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	supplies := []string{"rack " + m.Rack} // no rack is one rack
	for _, name := range m.PDUs {
		supplies = append(supplies, "PDU "+name)
	}
	at := time.Now()
	for _, s := range supplies {
		if i.free[s].After(at) {
			at = i.free[s]
		}
	}
	for _, s := range supplies {
		i.free[s] = at.Add(i.pause)
	}
	return at
}
