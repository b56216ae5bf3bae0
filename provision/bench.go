package provision

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

// Bench is the Worker of this machine: it does real steps, against real BMCs and
// hosts, and keeps evidence in the state folder.
type Bench struct {
	State     string     // state folder
	Workflows []Workflow // that it knows
	Secrets   *Secrets   // values to keep out of everything written
	Burner    Burner
	Log       *slog.Logger
	Version   string // of rackproof, for the record

	// OpenBMC and OpenNode make connections; nil = Redfish and SSH.
	OpenBMC  func(context.Context, Machine) (BMC, error)
	OpenNode func(context.Context, Machine, Facts) (burnin.Shell, error)
	// Planned, if set, is told of every machine of a plan as soon as its BMC has
	// answered or not; calls do not overlap.
	Planned func(p MachinePlan, done, total int)

	mu       sync.Mutex
	runs     map[RunID]*site
	bastions *Bastions // nil until one is needed
}

// BrokenError says that rackproof itself failed, not the machine nor its
// surroundings.
type BrokenError struct {
	Err error
	Do  string // what a person does about it; "" = read the log
}

func (e *BrokenError) Error() string { return "rackproof failed: " + e.Err.Error() }

// Unwrap gives the cause.
func (e *BrokenError) Unwrap() error { return e.Err }

// AttemptDir is where the evidence of an attempt lies.
func AttemptDir(state string, run RunID, machine string, attempt int) string {
	return filepath.Join(RunDir(state, run), machine, strconv.Itoa(attempt))
}

// RunDir is the folder of a run.
func RunDir(state string, run RunID) string { return filepath.Join(state, "runs", string(run)) }

// Step implements Worker.
func (b *Bench) Step(ctx context.Context, t Task, rec Recorder) (facts Facts, err error) {
	var s *site
	defer func() {
		if v := recover(); v != nil {
			err = &BrokenError{Err: fmt.Errorf("%v", v)}
			b.Log.Error("panic in a step", "machine", t.Machine.Name, "step", t.Step.Name, "panic", v, "stack", string(debug.Stack()))
		}
		err = b.Secrets.clean(brokenByDisk(b.State, err))
		if s != nil && err != nil && ctx.Err() == nil {
			s.log.Info("step did not end", "machine", t.Machine.Name, "step", t.Step.Name, "try", t.Try, "err", err)
		}
	}()
	if err := refused(t); err != nil {
		return nil, err
	}
	info, ok := b.find(t.Plan.Name, t.Step)
	if !ok {
		return nil, &BrokenError{Err: fmt.Errorf("workflow %s has no step %s", t.Plan.Name, t.Step.Name)}
	}
	if s, err = b.site(t); err != nil {
		return nil, &BrokenError{Err: err}
	}
	env, err := b.env(t, rec, s)
	if err != nil {
		return nil, &BrokenError{Err: err}
	}
	defer func() {
		if cerr := env.Close(); cerr != nil {
			env.Log.Warn("session not closed", "err", cerr)
		}
	}()
	if !t.Step.Always {
		ctx, env.deadline = newDeadline(ctx, t.Until)
	}
	defer env.deadline.stop()
	err = env.deadline.putDown(t, env, doneDoDone(ctx, info, t, env, s.brake))
	err = env.climb(ctx, t, info, err)
	if u, ok := rec.(Unloader); ok {
		u.Unloaded()
	}
	env.diagnose(ctx, t.Step.Name, err)
	if err != nil {
		return nil, err
	}
	return news(t.Facts, b.Secrets.facts(env.Facts)), nil
}

// refused says why a task is not begun: this rackproof does not know its plan, or its run
// has ended.
func refused(t Task) error {
	switch {
	case t.Plan.Version < 1 || t.Plan.Version > PlanVersion:
		return &BrokenError{Err: fmt.Errorf("the run was planned by version %d of the workflow, this rackproof knows 1 to %d; carry it on with the rackproof that started it", t.Plan.Version, PlanVersion)}
	case Due(t.Until, time.Now()) && !t.Step.Always:
		return NotBegun(t.Until, t.Step.Name, t.Facts)
	}
	return nil
}

// doneDoDone asks, acts, and asks again.
func doneDoDone(ctx context.Context, info StepInfo, t Task, e *Env, brake *Brake) (err error) {
	timeout := t.Step.Timeout
	done, err := within(ctx, timeout, info.Step, e, askDone)
	if err != nil || done {
		return err
	}
	if err := e.deadline.fits(t, info, e); err != nil {
		return err
	}
	if info.Canary {
		if err := e.Close(); err != nil { // no session is held while others go first
			e.Log.Warn("session not closed", "err", err)
		}
		model := rollout(info.Step.Name(), e.Machine)
		if err := e.enter(ctx, brake, model); err != nil {
			return err
		}
		defer func() { e.changed(ctx, brake, model, err) }()
	}
	if _, err := within(ctx, timeout, info.Step, e, func(ctx context.Context, _ Step, e *Env) (bool, error) {
		return true, e.asPlanned(ctx, info)
	}); err != nil {
		return err
	}
	failed := e.touches(ctx, info)
	done, err = within(ctx, timeout, info.Step, e, func(ctx context.Context, s Step, e *Env) (bool, error) {
		facts, err := s.Do(ctx, e)
		maps.Copy(e.Facts, facts)
		if err != nil {
			return false, err
		}
		return askDone(ctx, s, e)
	})
	if err == nil && !done {
		err = fmt.Errorf("%s was carried out, but the machine does not show it", info.Step.Name())
	}
	if err != nil {
		if lerr := failed(); lerr != nil {
			e.Log.Warn("not recorded that the step had begun", "err", lerr)
		}
	}
	return err
}

// changed tells run and brake how a change went. It is durable before others
// follow.
func (e *Env) changed(ctx context.Context, brake *Brake, model string, err error) {
	if errors.Is(err, errNotPlanned) { // it says nothing of the change
		brake.Leave(model, e.Machine.Name, "", true)
		return
	}
	why := cause(e.secrets.clean(err), e.Machine)
	if ctx.Err() == nil {
		if rerr := e.rec.Record(ctx, ChangeEnded, ChangeResult{Model: model, Cause: why}); rerr != nil {
			e.Log.Warn("result of a change not recorded", "err", rerr)
		}
	}
	brake.Leave(model, e.Machine.Name, why, ctx.Err() != nil)
}

func askDone(ctx context.Context, s Step, e *Env) (bool, error) { return s.Done(ctx, e) }

// within gives f the time of a step. Time that is up without a better word is an
// infrastructure matter.
func within(ctx context.Context, timeout time.Duration, s Step, e *Env, f func(context.Context, Step, *Env) (bool, error)) (bool, error) {
	limited := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	ok, err := f(limited, s, e)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil && limited.Err() != nil && !waits(err) {
		return false, &Stuck{
			Why: fmt.Sprintf("%s did not end within %s: %v", s.Name(), timeout, err),
			Do:  "Look at the machine's console.", cause: err,
		}
	}
	return ok, err
}

// waits reports whether err says itself how the machine stands.
func waits(err error) bool {
	var (
		stuck  *Stuck
		hands  *Hands
		fault  *Fault
		broken *BrokenError
		aside  *Aside
	)
	return errors.As(err, &aside) || errors.As(err, &stuck) || errors.As(err, &hands) || errors.As(err, &fault) || errors.As(err, &broken)
}

// find gives a step of a plan its code: of the workflow that the bench has by that
// name, else of all steps that there are. A plan never takes the brake off a step.
func (b *Bench) find(workflow string, step PlanStep) (StepInfo, bool) {
	w := Workflow{Steps: Steps()}
	if i := slices.IndexFunc(b.Workflows, func(w Workflow) bool { return w.Name == workflow }); i >= 0 {
		w = b.Workflows[i]
	}
	info, ok := w.Find(step.Name)
	info.Canary = info.Canary || step.Canary
	return info, ok
}

func (b *Bench) env(t Task, rec Recorder, s *site) (*Env, error) {
	profile, spec, err := s.resolve(t)
	if err != nil {
		return nil, err
	}
	store, err := burnin.OpenStore(AttemptDir(b.State, t.Run, t.Machine.Name, t.Attempt))
	if err != nil {
		return nil, err
	}
	if err := store.Sweep(); err != nil {
		return nil, err
	}
	e := &Env{
		Run: t.Run, Attempt: t.Attempt, Batch: t.Batch, Machine: b.atBMC(t.Machine, t.Facts).withNewPassword(t.Facts), Profile: profile, Spec: spec,
		With:  t.Step.With,
		Log:   s.log.With("machine", t.Machine.Name, "attempt", t.Attempt, "step", t.Step.Name),
		Store: store, Facts: t.Facts.Clone(), Boot: s.netboot, Burner: b.Burner,
		Steps: t.Steps, Repairs: t.Repairs, Version: b.Version,
		rec: rec, intents: map[string]Intent{}, startBoot: s.startNetboot, meeting: s.meeting, inrush: s.inrush, silences: s.silences, desk: s.desk,
		open: b.openers(), secrets: b.Secrets, known: OpenKnownBMCs(b.State),
	}
	maps.Copy(e.intents, t.Intents)
	return e, nil
}

func (b *Bench) openers() openers {
	o := openers{bmc: b.OpenBMC, known: b.openKnown, answers: b.answers, node: b.OpenNode}
	if o.bmc == nil {
		o.bmc, o.renew, o.greet, o.login, o.reset = b.openBMC, b.renewBMC, b.greetBMC, b.bmcConfig, b.resetOverAny
	}
	if o.node == nil {
		o.node = b.openNode
	}
	return o
}

// StopLoads takes down what a run has on a host. With carried, another process
// carries the run: it frees the host itself, unless it has not come to that yet.
func (b *Bench) StopLoads(ctx context.Context, run RunID, m *MachineRun, carried bool) error {
	node, err := b.openers().node(ctx, m.Machine, m.Facts)
	if err != nil {
		return b.Secrets.clean(fmt.Errorf("%s: %w; its dead-man timer ends the load by itself", m.Machine.Name, err))
	}
	if carried {
		_, err = burnin.HaltNode(ctx, node, "", string(run))
	} else {
		_, err = burnin.ReleaseNode(ctx, node, "", string(run))
	}
	return errors.Join(err, node.Close())
}

// news are the facts that a step added or changed.
func news(before, after Facts) Facts {
	out := Facts{}
	for k, v := range after {
		if before[k] != v {
			out[k] = v
		}
	}
	return out
}

// Close ends what the runs opened: netboot servers and logs.
func (b *Bench) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, s := range b.runs {
		errs = append(errs, s.close())
	}
	b.runs = nil
	if b.bastions != nil {
		errs = append(errs, b.bastions.Close())
		b.bastions = nil
	}
	return errors.Join(errs...)
}

// resolved are the profile and spec of one machine.
type resolved struct {
	profile *profiles.Profile
	spec    *profiles.Spec
}

func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("run log: %w", err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("run log: %w", err)
	}
	return f, nil
}
