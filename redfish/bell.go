package redfish

import (
	"context"
	"sync"
	"time"
)

// quietPauses are those without a stream of events: what shows itself soon is not worth
// one.
const quietPauses = 2

// bell rings when the BMC tells of anything. It hurries a question that is asked anyway;
// a BMC that tells nothing is asked at the same pace.
type bell struct {
	mu     sync.Mutex
	pauses int
	rings  chan struct{} // nil until there is a stream
	stop   context.CancelFunc
	done   chan struct{}
	closed bool
}

// Pause waits for d, or at least a quarter of it and then until the BMC tells that
// something has happened, before its state is asked for again. The error is that of ctx.
func (c *Client) Pause(ctx context.Context, d time.Duration) error {
	rings := c.bell.hear(c)
	if rings == nil {
		return pause(ctx, d)
	}
	if err := pause(ctx, d/4); err != nil { // a burst of events is one
		return err
	}
	rest := time.NewTimer(d - d/4)
	defer rest.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-rest.C:
	case <-rings:
	}
	return nil
}

// hear gives what rings, nil while there is nothing. It listens once a wait has become a
// long one, and not to a BMC under strain.
func (b *bell) hear(c *Client) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pauses++
	if b.stop == nil && !b.closed && b.pauses > quietPauses && !c.t.gate.isStrained() {
		ctx, cancel := context.WithCancel(context.Background())
		b.rings, b.stop, b.done = make(chan struct{}, 1), cancel, make(chan struct{})
		go b.listen(ctx, c, b.rings)
	}
	return b.rings
}

func (b *bell) listen(ctx context.Context, c *Client, rings chan<- struct{}) {
	defer close(b.done)
	for e, err := range c.Events(ctx) {
		if err != nil {
			c.cfg.Log.DebugContext(ctx, "the BMC is asked alone", "bmc", c.cfg.Addr, "why", err)
			return
		}
		c.cfg.Log.DebugContext(ctx, "the BMC tells", "bmc", c.cfg.Addr, "message_id", e.MessageID, "origin", e.Origin, "gap", e.Gap)
		select {
		case rings <- struct{}{}:
		default:
		}
	}
}

// close ends the stream before its session goes.
func (b *bell) close() {
	b.mu.Lock()
	b.closed = true
	stop, done := b.stop, b.done
	b.mu.Unlock()
	if stop != nil {
		stop()
		<-done
	}
}
