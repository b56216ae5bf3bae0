package temporal

import (
	"go.temporal.io/sdk/workflow"

	"github.com/rackproof/rackproof/provision"
)

// passing are the keys that are given back with each step; the BMC stays ours until
// the machine waits for somebody.
func (w *machineRun) passing() []string {
	keys := []string{provision.PlaceClaim(w.run.Batch, w.start.Run).Key}
	if m := w.machine(); m != nil {
		for _, c := range provision.PowerClaims(w.run.Batch, m.Machine) {
			keys = append(keys, c.Key)
		}
	}
	return keys
}

// admitted waits for place, power and BMC. It is false when the machine may not go on
// any more.
func (w *machineRun) admitted(ctx workflow.Context) bool {
	if !w.want(ctx, claimsOf(w.run.Batch, w.start.Run, w.machine(), w.planned())) {
		return false
	}
	timed, cancel := workflow.WithCancel(ctx)
	defer cancel()
	granted, until := false, w.run.Until
	var due workflow.Future
	if !until.IsZero() {
		due = workflow.NewTimer(timed, max(until.Sub(workflow.Now(ctx)), 0))
	}
	for !granted && w.runnable() && w.run.Until.Equal(until) && (due == nil || !due.IsReady()) {
		s := workflow.NewSelector(ctx)
		if due != nil {
			s.AddFuture(due, func(workflow.Future) {})
		}
		s.AddReceive(w.words, func(workflow.ReceiveChannel, bool) { w.receive(ctx) })
		s.AddReceive(w.grants, func(workflow.ReceiveChannel, bool) {
			n := 0
			w.grants.Receive(ctx, &n)
			granted = granted || n == w.wants
		})
		s.Select(ctx)
	}
	w.late = !granted && due != nil && due.IsReady() && w.run.Until.Equal(until)
	return (granted || w.late) && w.runnable()
}

// want asks the limiter. It is false where the limiter is not there, after a pause:
// every worker starts it.
func (w *machineRun) want(ctx workflow.Context, claims []provision.Claim) bool {
	w.wants++
	w.held = true
	err := w.ask(ctx, ask{Want: &want{Holder: holder(ctx), N: w.wants, Claims: claims, Lease: w.start.Times.Lease}})
	if err != nil {
		_ = workflow.Sleep(ctx, w.start.Times.Backoff)
	}
	return err == nil
}

func holder(ctx workflow.Context) string { return workflow.GetInfo(ctx).WorkflowExecution.ID }

func (w *machineRun) ask(ctx workflow.Context, a ask) error {
	err := workflow.SignalExternalWorkflow(ctx, w.start.Names.limiter(), "", askSignal, a).Get(ctx, nil)
	if err != nil {
		workflow.GetLogger(ctx).Warn("no limiter", "site", w.start.Names.Site, "err", err)
	}
	return err
}

// give returns leases; no keys are all. A limiter that is not there holds none.
func (w *machineRun) give(ctx workflow.Context, keys ...string) {
	_ = w.ask(ctx, ask{Give: &give{Holder: holder(ctx), Keys: keys}})
}

func (w *machineRun) giveAll(ctx workflow.Context) {
	if w.held {
		w.give(ctx)
		w.held = false
	}
}

func (w *machineRun) renew(ctx workflow.Context) {
	_ = w.ask(ctx, ask{Renew: &renew{Holder: holder(ctx), Lease: w.start.Times.Lease}})
}
