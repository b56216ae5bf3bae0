package provision

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision/netboot"
	"github.com/rackproof/rackproof/redfish"
)

// Env is what a step sees: one machine in one attempt of one run. A BMC session
// and a shell are opened when they are first asked for, and closed when the step
// ends.
type Env struct {
	Run     RunID
	Attempt int
	Batch   *Batch
	Machine Machine
	Profile *profiles.Profile
	Spec    *profiles.Spec
	With    Options // what the workflow says of the step
	Log     *slog.Logger
	Store   *burnin.Store
	Facts   Facts // of earlier steps; Done and Do may add their own
	Boot    *netboot.Server
	Burner  Burner
	Steps   []StepDone
	Repairs []Repaired
	Version string // of rackproof

	rec       Recorder
	intents   map[string]Intent
	open      openers
	secrets   *Secrets
	known     *KnownBMCs // nil: nothing is known, and nothing is kept
	startBoot func(context.Context) error
	meeting   *Meeting // nil in a plan
	inrush    *Inrush
	deadline  *deadline // of the run; nil = none
	silences  *silences // nil in a plan
	desk      desk      // nil in a plan
	bmc       BMC
	node      burnin.Shell
	failed    *bool // what there is was judged as that in this step; nil = not asked yet

	telling  sync.Mutex // probes tell of their progress side by side
	reported time.Time
	lastText string
}

// openers make the connections of an Env.
type openers struct {
	bmc   func(context.Context, Machine) (BMC, error)
	renew func(context.Context, Machine) (BMC, error)              // where another certificate is expected; nil = never
	greet func(context.Context, Machine) (redfish.Greeting, error) // who is there, before a login; nil = nobody is asked
	known func(ctx context.Context, m Machine, sha256 string) (BMC, error)
	node  func(context.Context, Machine, Facts) (burnin.Shell, error)
	login func(context.Context, Machine) (redfish.Config, error) // how bmc logs in; nil = passwords are not changed here

	reset   func(context.Context, Machine) (sent bool, how string, err error) // of the BMC itself; nil = never
	answers func(context.Context, Machine) bool                               // somebody, where its BMC is to be; nil = nobody is asked
}

// Client returns the session with the machine's BMC.
func (e *Env) Client(ctx context.Context) (BMC, error) {
	if e.bmc != nil {
		return e.bmc, nil
	}
	c, err := e.open.bmc(ctx, e.Machine)
	if err != nil {
		if c, err = e.byNewPassword(ctx, err); err != nil {
			return nil, err
		}
	}
	if was, is := e.Facts[FactPrint], c.Fingerprint(); was != "" && is != was {
		why := fmt.Sprintf("another BMC answers at %s than at the beginning of this attempt (%s, was %s)", e.Machine.BMC, printWord(is), printWord(was))
		stuck := &Stuck{Why: why, Do: "Look which machine has this address now; nothing was changed through it.", Next: "rackproof retest " + e.Machine.Name, cause: redfish.ErrPinMismatch}
		return nil, errors.Join(stuck, c.Close())
	}
	e.bmc = c
	return c, nil
}

// Node returns a shell on the booted host.
func (e *Env) Node(ctx context.Context) (burnin.Shell, error) {
	if e.node != nil {
		return e.node, nil
	}
	s, err := e.open.node(ctx, e.Machine, e.Facts)
	if err != nil {
		return nil, err
	}
	e.node = s
	return s, nil
}

// StartBoot makes sure that boots are served.
func (e *Env) StartBoot(ctx context.Context) error { return e.startBoot(ctx) }

// Learn makes facts durable at once, for what must not be lost with the step.
func (e *Env) Learn(ctx context.Context, facts Facts) error {
	facts = e.secrets.facts(facts)
	if err := e.rec.Record(ctx, Learned, facts); err != nil {
		return err
	}
	maps.Copy(e.Facts, facts)
	return nil
}

// DropNode closes the shell, because the host went away.
func (e *Env) DropNode() {
	if e.node != nil {
		_ = e.node.Close()
		e.node = nil
	}
}

// dropClient ends a session that no longer answers; the next Client opens another.
func (e *Env) dropClient() {
	if e.bmc != nil {
		_ = e.bmc.Close()
		e.bmc = nil
	}
}

// Close ends the session and the shell.
func (e *Env) Close() error {
	e.DropNode()
	if e.bmc == nil {
		return nil
	}
	err := e.bmc.Close()
	e.bmc = nil
	return err
}

// progressEvery is the least time between two progress events of a machine: a
// journal is no telemetry.
const progressEvery = 5 * time.Second

// Progress tells people how far the step is and when it may end.
func (e *Env) Progress(ctx context.Context, until time.Time, format string, args ...any) {
	text := e.secrets.redact(fmt.Sprintf(format, args...))
	e.telling.Lock()
	defer e.telling.Unlock()
	if text == e.lastText || time.Since(e.reported) < progressEvery {
		return
	}
	e.reported, e.lastText = time.Now(), text
	if err := e.rec.Record(ctx, Progressed, Progress{Text: text, Until: until}); err != nil && ctx.Err() == nil {
		e.Log.Warn("progress not recorded", "err", err)
	}
}

// WaitFor asks until check is true, pausing between, or until ctx ends: a
// deadline is an infrastructure matter and makes the machine STUCK with why.
func (e *Env) WaitFor(ctx context.Context, pause time.Duration, stuck Stuck, check func() (bool, error)) error {
	return waitFor(ctx, sleeper{}, pause, stuck, check)
}

// Pauser waits, and may end a wait early because there is news; a BMC may be one.
type Pauser interface {
	Pause(context.Context, time.Duration) error
}

// sleeper has no news.
type sleeper struct{}

func (sleeper) Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func waitFor(ctx context.Context, p Pauser, pause time.Duration, stuck Stuck, check func() (bool, error)) error {
	for {
		ok, err := check()
		if err != nil || ok {
			return err
		}
		if cause := p.Pause(ctx, pause); errors.Is(cause, context.DeadlineExceeded) {
			return &stuck
		} else if cause != nil {
			return cause
		}
	}
}
