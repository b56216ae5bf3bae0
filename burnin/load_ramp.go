package burnin

import (
	"context"
	"slices"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// rampShare is how much of a short load may pass between the starts of two, as one part
// of so many.
const rampShare = 20

// rampStep is the time between the starts of two loads, and between their ends: the power
// that a machine draws comes and goes in steps.
func (r *loadRun) rampStep() time.Duration {
	limit := r.node.profile().Load.Ramp
	if !limit.Set() {
		return 0
	}
	step := time.Duration(limit.Number(profiles.Seconds) * float64(time.Second))
	return min(step, r.span/rampShare).Truncate(time.Second)
}

// ramp is how much longer than the last one the nth load runs: those that start first end
// last, so that each part is busy for the whole time, and what draws most works shortest.
func (r *loadRun) ramp(n int) time.Duration {
	return 2 * time.Duration(max(len(r.loads)-1-n, 0)) * r.rampStep()
}

// length is how long a load that keeps parts busy runs.
func (r *loadRun) length(l Load) time.Duration {
	return r.span + r.ramp(slices.IndexFunc(r.loads, func(o Load) bool { return o.Name == l.Name }))
}

// pause waits between two starts; where another process has started the loads there is
// nothing to wait for.
func (r *loadRun) pause(ctx context.Context, d time.Duration) error {
	if seen := r.stream.lastSeen(); d <= 0 || seen != nil && seen.Started {
		return nil
	}
	return pause(ctx, d)
}
