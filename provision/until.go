package provision

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Estimator is a step that knows from profile, spec and batch how long it may take.
type Estimator interface {
	Takes(*Env) time.Duration
}

// PutDown is the error by which a step says that its run's deadline keeps it from
// beginning, or has ended it at a safe point with its load down. It is no failed try.
type PutDown struct {
	Why string `json:"why"`
	// Untouched says that nothing was begun on the machine in this attempt that reboots,
	// loads or writes.
	Untouched bool `json:"untouched,omitempty"`
}

func (p *PutDown) Error() string { return p.Why }

// ParseUntil reads the end of a run as people state it: a time of day at the clock of
// this machine ("06:00", the next one), an RFC 3339 time, or how long from now ("8h").
func ParseUntil(text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if t, err := time.ParseInLocation("15:04", text, now.Location()); err == nil {
		at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location())
		if !at.After(now) {
			at = time.Date(now.Year(), now.Month(), now.Day()+1, t.Hour(), t.Minute(), 0, 0, now.Location())
		}
		return at, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		d, derr := time.ParseDuration(strings.ReplaceAll(text, " ", ""))
		if derr != nil {
			return time.Time{}, fmt.Errorf("%q is no time: write 06:00, 2026-03-01T06:00:00+01:00 or 8h", text)
		}
		at = now.Add(d)
	}
	if !at.After(now) {
		return time.Time{}, fmt.Errorf("%s is past: it is %s now", UntilText(at, now), now.Format("2006-01-02 15:04 MST"))
	}
	return at, nil
}

// UntilText is a deadline as people read it: "06:00" of this day or night, else with its
// date.
func UntilText(at, now time.Time) string {
	at = at.In(now.Location())
	if left := at.Sub(now); left > 0 && left < 24*time.Hour {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// Due reports whether the deadline is there; the zero time is none.
func Due(until, now time.Time) bool { return !until.IsZero() && !now.Before(until) }

// NotBegun is how a step is put off that waited until the deadline for its turn; facts are
// those of its machine.
func NotBegun(until time.Time, step string, facts Facts) *PutDown {
	return &PutDown{Why: fmt.Sprintf("%s was not begun: the run ends at %s", step, untilText(until)), Untouched: facts[factTouched] == ""}
}

func untilText(t time.Time) string { return UntilText(t, time.Now()) }

// deadline is that of a run within one try of a step. At its time the step ends where no
// act is under way of which only its end tells that it happened.
type deadline struct {
	at    time.Time
	timer *time.Timer

	mu   sync.Mutex
	open int // acts under way
	due  bool
	end  context.CancelCauseFunc
}

// newDeadline ends the context that it returns at the time of at; stop releases it. Where
// at is zero both do nothing.
func newDeadline(ctx context.Context, at time.Time) (limited context.Context, d *deadline) {
	if at.IsZero() {
		return ctx, nil
	}
	d = &deadline{at: at}
	limited, d.end = context.WithCancelCause(ctx)
	d.timer = time.AfterFunc(time.Until(at), d.ring)
	return limited, d
}

func (d *deadline) stop() {
	if d != nil {
		d.timer.Stop()
		d.end(nil)
	}
}

func (d *deadline) ring() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.due = true
	if d.open == 0 {
		d.end(ErrStopped)
	}
}

// past reports whether the step was ended, or would be as soon as its act has ended.
func (d *deadline) past() bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.due
}

// begin is asked before an act; none begins behind the deadline.
func (d *deadline) begin() error {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.due {
		return ErrStopped
	}
	d.open++
	return nil
}

// over is told of the end of an act.
func (d *deadline) over() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open--; d.due && d.open == 0 {
		d.end(ErrStopped)
	}
}

// putDown words err where the deadline has ended the step.
func (d *deadline) putDown(t Task, e *Env, err error) error {
	if err == nil || !d.past() {
		return err
	}
	var (
		down   *PutDown
		broken *BrokenError
	)
	if errors.As(err, &down) || errors.As(err, &broken) { // any other only says that it was cut short
		return err
	}
	why := fmt.Sprintf("put down in %s: the run ends at %s", t.Step.Name, untilText(t.Until))
	if t.Step.Loads {
		why += "; its load is down"
	}
	return &PutDown{Why: why, Untouched: e.Facts[factTouched] == ""}
}

// fits refuses to begin what reboots, loads or writes and could not end by the deadline. A
// step in the middle of which an earlier process ended goes on.
func (d *deadline) fits(t Task, info StepInfo, e *Env) error {
	if d == nil || info.Gentle || t.Step.Always || len(t.Intents) > 0 {
		return nil
	}
	need, left := info.takes(t.Step, e), time.Until(d.at)
	if need <= left {
		return nil
	}
	return &PutDown{
		Why: fmt.Sprintf("%s was not begun: it may take %s, and the run ends at %s, in %s",
			t.Step.Name, Took(need.Round(time.Minute)), untilText(d.at), Took(left.Round(time.Minute))),
		Untouched: e.Facts[factTouched] == "",
	}
}

// takes is how long a step may take: by what it says of itself, by its usual time, else
// all its time.
func (s StepInfo) takes(p PlanStep, e *Env) time.Duration {
	need := s.Takes
	if est, ok := s.Step.(Estimator); ok {
		need = est.Takes(e)
	}
	if need <= 0 || p.Timeout > 0 && p.Timeout < need {
		need = p.Timeout
	}
	return need
}

func (m *MachineRun) heldBack(e Event) error {
	p := &PutDown{}
	err := decode(e, p)
	m.stop(e, p.Why)
	m.Late = p
	return err
}

// touches notes that a step begins to do something. It is durable with the step's end, and
// where that is none, at once.
func (e *Env) touches(ctx context.Context, info StepInfo) (failed func() error) {
	if info.Gentle || info.Always || e.Facts[factTouched] != "" {
		return func() error { return nil }
	}
	e.Facts[factTouched] = "yes"
	return func() error { return e.Learn(context.WithoutCancel(ctx), Facts{factTouched: "yes"}) }
}

// burnMinutes is how long measuring and load may take, as a plan tells it; 0 = not known.
func burnMinutes(e *Env) int {
	minutes := e.Machine.Minutes
	if load := int(loadTime(e).Minutes()); load > minutes { // the profile's time is without a soak
		minutes += load
	}
	return minutes
}

// Takes implements Estimator. A load that an earlier process began and left is taken up
// where it is.
func (burnIn) Takes(e *Env) time.Duration {
	need := max(time.Duration(burnMinutes(e))*time.Minute, loadTime(e))
	meta, begun, err := e.Store.Meta()
	if err != nil || !begun || !meta.Ended.IsZero() {
		return need
	}
	if since := time.Since(meta.Started); since > 0 && since < need {
		need -= since
	}
	return need
}

// usualReboot is what a start of a server takes.
const usualReboot = 15 * time.Minute

// Takes implements Estimator.
func (rebootCycle) Takes(e *Env) time.Duration {
	return max(time.Duration(reboots(e).Count)*usualReboot, time.Nanosecond)
}
