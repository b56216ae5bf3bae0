package temporal

import (
	"context"
	"slices"
	"time"

	"github.com/rackproof/rackproof/provision"
)

// standingQuery asks the limiter how a holder stands with keys.
const standingQuery = "standing"

// standing is how a holder stands with the keys that it asked for.
type standing struct {
	Held  bool `json:"held"`  // all of them
	Waits bool `json:"waits"` // in the queue, with a want of its step
}

func (l *limits) standing(holder string, keys []string) standing {
	s := standing{Held: true}
	for _, key := range keys {
		s.Held = s.Held && slices.ContainsFunc(l.Leases, func(o lease) bool { return o.Holder == holder && o.Claim.Key == key })
	}
	s.Waits = slices.ContainsFunc(l.Queue, func(w want) bool { return w.Holder == holder && w.ofStep() })
	return s
}

// claimsOf are what a machine needs for a step. One that always runs asks no BMC.
func claimsOf(b *provision.Batch, run provision.RunID, m *provision.MachineRun, s provision.PlanStep) []provision.Claim {
	out := []provision.Claim{provision.PlaceClaim(b, run)}
	if s.Loads {
		out = append(out, provision.PowerClaims(b, m.Drawing())...)
	}
	if !s.Always {
		out = append(out, provision.BMCClaim(m.Machine))
	}
	return out
}

// Yield implements provision.Yielder.
func (r *recorder) Yield() (back func(context.Context) error) {
	place := provision.PlaceClaim(r.batch, r.turn.Run)
	r.give(context.Background(), []string{place.Key})
	return func(ctx context.Context) error { return r.hold(ctx, place) }
}

// heldMost is the longest pause between two looks at whether the limiter has granted.
const heldMost = time.Second

// hold waits until the machine has claims, in the middle of its step.
func (r *recorder) hold(ctx context.Context, claims ...provision.Claim) error {
	e := r.engine
	w := want{Holder: e.names.machine(r.turn.Run, r.turn.Machine), Claims: claims, Lease: r.turn.Times.Lease}
	keys := make([]string, len(claims))
	for i, c := range claims {
		keys[i] = c.Key
	}
	asked := false
	for wait := retold / 10; ; wait = min(2*wait, heldMost) {
		s, err := e.standing(ctx, w.Holder, keys)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx) // the end of the step takes the want back
		case err == nil && s.Held && asked: // as of now: a want makes the lease last as long again
			return nil
		case err == nil && !s.Waits: // not asked yet, or the limiter was ended and began anew
			asked = e.client.SignalWorkflow(ctx, e.names.limiter(), "", askSignal, ask{Want: &w}) == nil
		case err != nil:
			e.opt.Log.Warn("the limiter does not say whether a lease is granted; it is asked again", "holder", w.Holder, "err", err)
		}
		pause(ctx, wait)
	}
}

func (e *Engine) standing(ctx context.Context, holder string, keys []string) (s standing, err error) {
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	v, err := e.client.QueryWorkflow(ctx, e.names.limiter(), "", standingQuery, holder, keys)
	if err != nil {
		return s, err
	}
	return s, v.Get(&s)
}
