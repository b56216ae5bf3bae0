package temporal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/rackproof/rackproof/provision"
)

// turn is one step of one machine as its workflow gives it to a worker.
type turn struct {
	Version int             `json:"version"`
	Turn    int             `json:"turn"`
	Run     provision.RunID `json:"run"`
	Machine string          `json:"machine"`
	Attempt int             `json:"attempt"`
	Step    string          `json:"step"` // "" = all have ended
	Failed  int             `json:"failed"`
	Late    bool            `json:"late,omitempty"` // no place came free before the run's deadline
	Names   names           `json:"names"`
	Times   times           `json:"times"`
}

// machineRun is the workflow of one machine.
type machineRun struct {
	*keeper
	run    provision.Run // of this machine alone
	turn   int
	held   bool // the limiter may hold leases for it
	wants  int
	late   bool // its turn did not come before the run's deadline: a worker is to say so
	grants workflow.ReceiveChannel
	result string // as the search attribute has it
}

// machineWorkflow has the steps of one machine done, one after another. It stays open
// when the machine has its result: a person may ask for a retest.
func machineWorkflow(ctx workflow.Context, s start) error {
	if s.Version != wireVersion {
		return fmt.Errorf("machine %s of run %s was started by another version of rackproof (%d, this worker knows %d); start a worker of that version", s.Machine, s.Run, s.Version, wireVersion)
	}
	w := &machineRun{turn: s.Turn, held: s.Held, wants: s.Wants, grants: workflow.GetSignalChannel(ctx, grantedSignal)}
	w.keeper = newKeeper(ctx, s, func(said word) {
		if err := w.run.Apply(said.event()); err != nil {
			panic(err) // half a story is no story: it waits for a worker that can read it
		}
	})
	for {
		w.drain(ctx)
		w.show(ctx)
		if full(ctx) {
			next := w.anew()
			next.Turn, next.Held, next.Wants = w.turn, w.held, w.wants
			return workflow.NewContinueAsNewError(ctx, machineType, next)
		}
		if !w.runnable() {
			w.giveAll(ctx)
			w.receive(ctx)
			continue
		}
		w.rest(ctx)
		if w.runnable() && w.admitted(ctx) {
			w.step(ctx)
		}
	}
}

func (w *machineRun) machine() *provision.MachineRun { return w.run.Find(w.start.Machine) }

func (w *machineRun) runnable() bool {
	m := w.machine()
	return m != nil && !w.run.Cancelled && m.Runnable()
}

// planned is the step that is next, as the plan has it.
func (w *machineRun) planned() provision.PlanStep {
	i := slices.IndexFunc(w.run.Plan.Steps, func(s provision.PlanStep) bool { return s.Name == w.machine().Step })
	if i < 0 {
		return provision.PlanStep{Always: true} // all have ended: only the result is written
	}
	return w.run.Plan.Steps[i]
}

// show keeps the search attribute true.
func (w *machineRun) show(ctx workflow.Context) {
	m := w.machine()
	if m == nil {
		return
	}
	now := strings.ToLower(string(m.State))
	if m.Over() {
		now = string(m.Result)
	}
	if now == w.result {
		return
	}
	w.result = now
	if err := workflow.UpsertTypedSearchAttributes(ctx, attrResult.ValueSet(now)); err != nil {
		workflow.GetLogger(ctx).Warn("search attribute not set", "err", err)
	}
}

// rest waits before another try, or until something is said.
func (w *machineRun) rest(ctx workflow.Context) {
	failed := w.machine().Failed
	if failed == 0 {
		return
	}
	timed, cancel := workflow.WithCancel(ctx)
	defer cancel()
	w.await(ctx, workflow.NewTimer(timed, w.planned().Pause(failed, w.start.Times.Backoff)), func() bool { return w.runnable() && w.machine().Failed == failed })
}

// await takes words until f is ready, or on is no longer true.
func (w *machineRun) await(ctx workflow.Context, f workflow.Future, on func() bool) {
	for !f.IsReady() && on() {
		s := workflow.NewSelector(ctx)
		s.AddFuture(f, func(workflow.Future) {})
		s.AddReceive(w.words, func(workflow.ReceiveChannel, bool) { w.receive(ctx) })
		s.Select(ctx)
	}
}

// step gives the next step to a worker, and waits for its end. A machine that was
// stopped, or whose run was cancelled, ends its step at once.
func (w *machineRun) step(ctx workflow.Context) {
	m := w.machine()
	w.turn++
	t := turn{
		Version: wireVersion, Turn: w.turn, Run: w.start.Run, Machine: w.start.Machine,
		Attempt: m.Attempt, Step: m.Step, Failed: m.Failed, Late: w.late, Names: w.start.Names, Times: w.start.Times,
	}
	own, cancel := workflow.WithCancel(ctx)
	defer cancel()
	said := w.book.said
	f := workflow.ExecuteActivity(workflow.WithActivityOptions(own, workflow.ActivityOptions{
		TaskQueue:           w.start.Names.queue(),
		StartToCloseTimeout: 10 * 365 * 24 * time.Hour, // a step bounds itself; a lost worker shows by its silence
		HeartbeatTimeout:    w.start.Times.Heartbeat,
		WaitForCancellation: true,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: w.start.Times.Retry, BackoffCoefficient: 2, MaximumInterval: max(30*time.Second, w.start.Times.Retry)},
	}), stepType, t)
	goesOn := func() bool {
		m := w.machine()
		return w.runnable() && m.Attempt == t.Attempt
	}
	var renewal workflow.Future
	timed, over := workflow.WithCancel(ctx)
	for !f.IsReady() {
		if renewal == nil {
			renewal = workflow.NewTimer(timed, w.start.Times.Lease/2)
		}
		s := workflow.NewSelector(ctx)
		s.AddFuture(f, func(workflow.Future) {})
		s.AddFuture(renewal, func(workflow.Future) {
			renewal = nil
			w.renew(ctx)
		})
		s.AddReceive(w.words, func(workflow.ReceiveChannel, bool) { w.receive(ctx) })
		s.Select(ctx)
		if !goesOn() {
			cancel()
		}
	}
	over()
	w.give(ctx, w.passing()...)
	w.drain(ctx)
	if err := f.Get(ctx, nil); err != nil && !temporal.IsCanceledError(err) {
		workflow.GetLogger(ctx).Warn("step has no end", "machine", t.Machine, "step", t.Step, "err", err)
	}
	if w.book.said == said { // nothing was said of it, so that it would be asked again at once
		_ = workflow.Sleep(ctx, w.start.Times.Backoff)
	}
}
