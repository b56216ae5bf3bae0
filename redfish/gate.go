package redfish

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// gate limits how many requests a BMC gets at once: some reads beside each
// other, one after the first sign of strain, and a change always alone. Many a
// BMC answers parallel requests with 503, a reset, or a crash.
type gate struct {
	slots *semaphore.Weighted
	width int64

	mu       sync.Mutex
	strained bool
	count    int
	base     time.Duration // latency of the first reads
	recent   time.Duration // moving mean
}

func newGate(readers int) *gate {
	return &gate{slots: semaphore.NewWeighted(int64(readers)), width: int64(readers)}
}

// enter waits for a place to read, or for all of them; the caller releases it.
func (g *gate) enter(ctx context.Context) (release func(), err error) {
	g.mu.Lock()
	weight := int64(1)
	if g.strained || ctx.Value(singly{}) != nil {
		weight = g.width
	}
	g.mu.Unlock()
	return g.take(ctx, weight)
}

// alone waits until no other request is under way.
func (g *gate) alone(ctx context.Context) (release func(), err error) {
	return g.take(ctx, g.width)
}

func (g *gate) take(ctx context.Context, weight int64) (func(), error) {
	if err := g.slots.Acquire(ctx, weight); err != nil {
		return nil, context.Cause(ctx)
	}
	return func() { g.slots.Release(weight) }, nil
}

// strain makes every later read go alone.
func (g *gate) strain() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.strained = true
}

// isStrained reports whether the BMC has shown strain.
func (g *gate) isStrained() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.strained
}

// took notes the latency of a request. When the mean doubles against the first
// reads, the BMC is under strain; a quarter of a second is no strain for any.
func (g *gate) took(d time.Duration) {
	const first, floor = 4, 250 * time.Millisecond
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count++
	if g.count <= first {
		g.base += (d - g.base) / time.Duration(g.count)
		g.recent = g.base
		return
	}
	g.recent += (d - g.recent) / 8
	if g.recent > 2*g.base && g.recent > floor {
		g.strained = true
	}
}
