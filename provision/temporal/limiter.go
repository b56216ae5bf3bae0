package temporal

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/rackproof/rackproof/provision"
)

// ask is what a holder says to the limiter, one of the three.
type ask struct {
	Want  *want  `json:"want,omitempty"`
	Give  *give  `json:"give,omitempty"`
	Renew *renew `json:"renew,omitempty"`
}

// renew makes the leases of a holder last as long again.
type renew struct {
	Holder string        `json:"holder"`
	Lease  time.Duration `json:"lease"`
}

// want asks for leases, all or none. Those that the holder
// has already stay.
type want struct {
	Holder string            `json:"holder"` // workflow ID
	N      int               `json:"n"`      // the answer names it; 0 = its step looks itself
	Claims []provision.Claim `json:"claims"`
	Lease  time.Duration     `json:"lease"`
}

// ofStep is a want of a step under way. That of its workflow, for the next step, is
// another one, and neither takes the place of the other.
func (w want) ofStep() bool { return w.N == 0 }

// give returns leases, and what the step of the holder still wants; no keys are all of
// the holder's, and all that it wants.
type give struct {
	Holder string   `json:"holder"`
	Keys   []string `json:"keys,omitempty"`
}

// lease is a granted claim.
type lease struct {
	Holder string          `json:"holder"`
	Claim  provision.Claim `json:"claim"`
	Since  time.Time       `json:"since"`
	Until  time.Time       `json:"until"`
}

// limits are what the limiter has granted and who waits; a new history goes on with it.
type limits struct {
	Leases []lease              `json:"leases,omitempty"`
	Queue  []want               `json:"queue,omitempty"` // oldest first
	Last   map[string]time.Time `json:"last,omitempty"`  // when a key was last granted
}

// limiterWorkflow grants leases of one site. A holder that does not renew, because
// somebody ended its workflow, loses them in time.
func limiterWorkflow(ctx workflow.Context, l limits) error {
	asks := workflow.GetSignalChannel(ctx, askSignal)
	if l.Last == nil {
		l.Last = map[string]time.Time{}
	}
	if err := workflow.SetQueryHandler(ctx, standingQuery, func(holder string, keys []string) (standing, error) {
		return l.standing(holder, keys), nil
	}); err != nil {
		return err
	}
	takeAll := func() {
		for {
			var a ask // anew each time: what is left out of one must not stay from the last
			if !asks.ReceiveAsync(&a) {
				return
			}
			l.hear(a, workflow.Now(ctx))
		}
	}
	for {
		takeAll()
		granted, again := l.grant(workflow.Now(ctx))
		for _, w := range granted {
			answer(ctx, w, &l)
		}
		if full(ctx) {
			takeAll()
			return workflow.NewContinueAsNewError(ctx, limiterType, l)
		}
		s := workflow.NewSelector(ctx)
		s.AddReceive(asks, func(workflow.ReceiveChannel, bool) {})
		timed, cancel := workflow.WithCancel(ctx)
		if again > 0 {
			s.AddFuture(workflow.NewTimer(timed, again), func(workflow.Future) {})
		}
		s.Select(ctx)
		cancel()
	}
}

// answer tells a holder that it has what it wanted. One that is gone gives it back.
func answer(ctx workflow.Context, w want, l *limits) {
	if w.ofStep() {
		return
	}
	if err := workflow.SignalExternalWorkflow(ctx, w.Holder, "", grantedSignal, w.N).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Info("holder is gone", "holder", w.Holder, "err", err)
		l.back(give{Holder: w.Holder})
	}
}

func (l *limits) hear(a ask, now time.Time) {
	switch {
	case a.Want != nil:
		l.want(*a.Want)
	case a.Give != nil:
		l.back(*a.Give)
	case a.Renew != nil:
		for i := range l.Leases {
			if l.Leases[i].Holder == a.Renew.Holder {
				l.Leases[i].Until = now.Add(a.Renew.Lease)
			}
		}
	}
}

// want puts a want in the queue, in the place of an earlier one of its holder.
func (l *limits) want(w want) {
	l.Queue = slices.DeleteFunc(l.Queue, func(o want) bool { return o.Holder == w.Holder && o.ofStep() == w.ofStep() })
	l.Queue = append(l.Queue, w)
}

func (l *limits) back(g give) {
	l.Leases = slices.DeleteFunc(l.Leases, func(o lease) bool {
		return o.Holder == g.Holder && (len(g.Keys) == 0 || slices.Contains(g.Keys, o.Claim.Key))
	})
	l.Queue = slices.DeleteFunc(l.Queue, func(w want) bool {
		return w.Holder == g.Holder && (len(g.Keys) == 0 || w.ofStep())
	})
}

// grant gives what can be given now, and says after how long it is worth looking
// again; 0 = only when something is said.
func (l *limits) grant(now time.Time) (granted []want, again time.Duration) {
	l.Leases = slices.DeleteFunc(l.Leases, func(o lease) bool { return !now.Before(o.Until) })
	l.Queue = slices.DeleteFunc(l.Queue, func(w want) bool {
		ok, pause := l.fits(w, now)
		if pause > 0 && (again == 0 || pause < again) {
			again = pause
		}
		if ok {
			l.take(w, now)
			granted = append(granted, w)
		}
		return ok
	})
	if len(l.Queue) > 0 { // what is held now comes free at the latest with its time
		for _, o := range l.Leases {
			if left := o.Until.Sub(now); again == 0 || left < again {
				again = left
			}
		}
	}
	return granted, again
}

// fits reports whether every claim of w can be granted; pause is for how long the
// start of another load is too near.
func (l *limits) fits(w want, now time.Time) (ok bool, pause time.Duration) {
	ok = true
	for _, c := range w.Claims {
		drawn, held := 0.0, false
		for _, o := range l.Leases {
			switch {
			case o.Claim.Key != c.Key:
			case o.Holder == w.Holder:
				held = true
			default:
				drawn += o.Claim.Weight
			}
		}
		if held {
			continue
		}
		if drawn+c.Weight > c.Limit {
			return false, 0
		}
		if last, known := l.Last[c.Key]; known && c.Apart > 0 {
			pause = max(pause, c.Apart-now.Sub(last))
		}
	}
	return ok && pause <= 0, max(pause, 0)
}

func (l *limits) take(w want, now time.Time) {
	for _, c := range w.Claims {
		i := slices.IndexFunc(l.Leases, func(o lease) bool { return o.Holder == w.Holder && o.Claim.Key == c.Key })
		if i >= 0 {
			l.Leases[i].Until = now.Add(w.Lease)
			continue
		}
		l.Leases = append(l.Leases, lease{Holder: w.Holder, Claim: c, Since: now, Until: now.Add(w.Lease)})
		if c.Apart > 0 {
			l.Last[c.Key] = now
		}
	}
}
