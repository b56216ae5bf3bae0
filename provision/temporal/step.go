package temporal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/rackproof/rackproof/provision"
)

// stepper is the activity "step".
type stepper struct {
	engine  *Engine
	serving context.Context //nolint:containedctx // ends the steps under way when the worker ends
}

// Why a step under way is put down.
var (
	errMoved    = errors.New("this worker ends; another one goes on")
	errGivenUp  = errors.New("the step was cancelled, or went to another worker")
	errServerly = errors.New("the Temporal server has not answered for so long that it has given this worker up")
)

// step does one try of one step of one machine. How the machine fared is in the events;
// an error is of the engine, and the step goes to another worker.
func (s *stepper) step(ctx context.Context, t turn) error {
	if t.Version != wireVersion {
		return fmt.Errorf("step %s of %s was given by another version of rackproof (%d, this worker knows %d)", t.Step, t.Machine, t.Version, wireVersion)
	}
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.serving, func() { cancel(errMoved) })()
	b := &beat{client: s.engine.client, token: activity.GetInfo(ctx).TaskToken, silence: t.Times.Heartbeat}
	go b.keep(work, cancel)
	err := s.work(work, t, claim{Turn: t.Turn, Attempt: int(activity.GetInfo(ctx).Attempt)})
	switch cause := context.Cause(work); {
	case work.Err() == nil:
		return err
	case errors.Is(cause, errGivenUp):
		return temporal.NewCanceledError()
	default:
		return temporal.NewApplicationErrorWithOptions(cause.Error(), "moved", temporal.ApplicationErrorOptions{NextRetryDelay: time.Millisecond})
	}
}

// work claims the machine, looks how it stands, and does what is next.
func (s *stepper) work(ctx context.Context, t turn, c claim) error {
	e := s.engine
	id := e.names.machine(t.Run, t.Machine)
	if err := e.client.SignalWorkflow(ctx, id, "", wordSignal, word{Claim: c}); err != nil {
		return fmt.Errorf("claim %s: %w", id, err)
	}
	run, own, err := e.stand(ctx, t, c)
	if err != nil {
		return err
	}
	m := own.Find(t.Machine)
	if m == nil || own.Cancelled || !m.Runnable() || m.Attempt != t.Attempt || m.Step != t.Step || m.Failed != t.Failed {
		return nil // more has happened than the workflow knew
	}
	r := &recorder{engine: e, turn: t, claim: c, batch: run.Batch, machine: m.Machine}
	if m.Step == "" {
		return r.Record(ctx, provision.MachineOver, nil)
	}
	if err := known(run, m); err != nil {
		return r.Record(ctx, provision.Broke, provision.Failure{Error: err.Error(), Try: m.Failed + 1})
	}
	if err := s.try(ctx, run, m, r); err != nil {
		return err
	}
	return r.over(ctx, own)
}

// known refuses what this worker cannot carry out as it was meant.
func known(run *provision.Run, m *provision.MachineRun) error {
	if run.Plan.Version < 1 || run.Plan.Version > provision.PlanVersion {
		return fmt.Errorf("the run was planned by version %d of the workflow, this worker knows 1 to %d; carry it on with workers of the rackproof that started it", run.Plan.Version, provision.PlanVersion)
	}
	for what, want := range map[string]string{"profile " + m.Machine.Profile: m.Machine.ProfileSHA256, "spec " + m.Machine.Spec: m.Machine.SpecSHA256} {
		if sum := sha256.Sum256(run.Batch.Resolved[want]); hex.EncodeToString(sum[:]) != want {
			return fmt.Errorf("%s as the run carries it is not the one that it names (SHA-256 %.12s); submit the batch again", what, want)
		}
	}
	return nil
}

// stand reads what was said of the run, and of the machine alone, once the claim is in its history: nothing that
// an earlier worker said is missing then, and nothing of it comes later.
func (e *Engine) stand(ctx context.Context, t turn, c claim) (common, own *provision.Run, err error) {
	l := e.ledger(t.Run)
	if err := e.read(ctx, l, l.run); err != nil {
		return nil, nil, fmt.Errorf("run %s: %w", t.Run, err)
	}
	s := l.shelf(t.Machine)
	if s == nil {
		return nil, nil, fmt.Errorf("run %s has no machine %s", t.Run, t.Machine)
	}
	for wait := time.Millisecond; ; wait = min(2*wait, retold) {
		if err := e.read(ctx, l, s); err != nil {
			return nil, nil, fmt.Errorf("run %s, machine %s: %w", t.Run, t.Machine, err)
		}
		at := l.claimed(s)
		if c.before(at) {
			return nil, nil, errGivenUp
		}
		if at == c {
			break
		}
		pause(ctx, wait)
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
	}
	l.mu.Lock()
	ownWords, commonWords := s.book.words, l.run.book.words
	l.mu.Unlock()
	if own, err = folded(ownWords); err != nil {
		return nil, nil, err
	}
	common, err = folded(commonWords)
	return common, own, err
}

func folded(words []word) (*provision.Run, error) {
	events := make([]provision.Event, len(words))
	for i, w := range words {
		events[i] = w.event()
	}
	run, err := provision.Fold(events)
	return &run, err
}

func (l *ledger) shelf(machine string) *shelf {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.machines[machine]
}

func (l *ledger) claimed(s *shelf) claim {
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.book.claim
}

// try does one try of the step and says how it ended.
func (s *stepper) try(ctx context.Context, run *provision.Run, m *provision.MachineRun, r *recorder) error {
	if task := s.task(run, m, 0); r.turn.Late || provision.Due(run.Until, time.Now()) && !task.Step.Always {
		return r.Record(ctx, provision.HeldBack, provision.NotBegun(run.Until, m.Step, m.Facts))
	}
	lease, err := s.lease(ctx, run, m, r.turn)
	if err != nil {
		if held, ok := errors.AsType[*provision.HeldError](err); ok {
			return r.Record(ctx, provision.GotStuck, provision.Stuck{Why: held.Error(), Do: "Wait for it, or cancel it."})
		}
		return err
	}
	defer func() { _ = lease.Release() }()
	try := m.Failed + 1
	task := s.task(run, m, try)
	if r.claim.Attempt > 1 { // the worker before may have given some back in the middle
		if err := r.hold(ctx, claimsOf(run.Batch, run.ID, m, task.Step)...); err != nil {
			return err
		}
	}
	if err := r.Record(ctx, provision.StepStarted, provision.Try{Try: try}); err != nil {
		return err
	}
	r.began = time.Now()
	facts, stepErr := s.engine.opt.Worker.Step(ctx, task, r)
	if ctx.Err() != nil {
		return context.Cause(ctx) // whoever goes on asks the machine
	}
	if r.lost != nil {
		return r.lost // it ended because the engine did not hear it
	}
	if aside, ok := errors.AsType[*provision.Aside](stepErr); ok {
		if err := r.Record(ctx, provision.Progressed, provision.Progress{Text: aside.Why}); err != nil {
			return err
		}
		r.giveAll(ctx)
		aside.Wait(ctx)
		return nil
	}
	ends, _ := provision.Endings(stepErr, task.Step, try, facts, r.began) // the workflow pauses
	for _, end := range ends {
		if err := r.Record(ctx, end.Kind, end.Data); err != nil {
			return err
		}
	}
	return nil
}

// lease takes the BMC on this host too, where other rackproofs know of no limiter. A
// worker that was given up may have it for a moment yet.
func (s *stepper) lease(ctx context.Context, run *provision.Run, m *provision.MachineRun, t turn) (*provision.Lease, error) {
	for _, p := range run.Plan.Steps {
		if p.Name == m.Step && p.Always {
			return nil, nil // it asks no BMC
		}
	}
	for end := time.Now().Add(t.Times.Heartbeat); ; pause(ctx, retold) {
		lease, err := provision.LeaseBMC(s.engine.opt.State, s.engine.opt.HostLocks, t.Run, m.Machine)
		if _, held := errors.AsType[*provision.HeldError](err); !held || ctx.Err() != nil || time.Now().After(end) {
			return lease, err
		}
	}
}

func (s *stepper) task(run *provision.Run, m *provision.MachineRun, try int) provision.Task {
	t := provision.Task{
		Run: run.ID, Batch: run.Batch, Plan: run.Plan, Machine: m.Machine.WithSecrets(s.engine.opt.Secrets), Attempt: m.Attempt, Try: try,
		Facts: m.Facts, Intents: m.Intents, Steps: m.Steps, Repairs: m.Repairs, Rollouts: run.Rollouts, Released: run.Released, Until: run.Until,
	}
	for _, p := range run.Plan.Steps {
		if p.Name == m.Step {
			t.Step = p
		}
	}
	return t
}

func gone(err error) bool {
	if temporal.IsCanceledError(err) {
		return true
	}
	_, ok := errors.AsType[*serviceerror.NotFound](err)
	return ok
}
