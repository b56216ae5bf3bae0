package provision

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

func TestParseUntil(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones here:", err)
	}
	now := time.Date(2026, 3, 28, 22, 15, 0, 0, berlin) // the night in which the clock goes forward
	for text, want := range map[string]string{
		"06:00":                     "2026-03-29T06:00:00+02:00",
		"22:16":                     "2026-03-28T22:16:00+01:00",
		"22:15":                     "2026-03-29T22:15:00+02:00",
		"8h":                        "2026-03-29T07:15:00+02:00",
		"90 m":                      "2026-03-28T23:45:00+01:00",
		"2026-03-29T04:00:00Z":      "2026-03-29T06:00:00+02:00",
		"2026-03-29T06:00:00+02:00": "2026-03-29T06:00:00+02:00",
		"2026-03-28T06:00:00+01:00": "",
		"-1h":                       "",
		"0s":                        "",
		"6 o'clock":                 "",
		"25:00":                     "",
		"":                          "",
	} {
		at, err := ParseUntil(text, now)
		got := ""
		if err == nil {
			got = at.In(berlin).Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%q: %s (%v), want %s", text, got, err, want)
		}
	}
}

// timed is a step that acts for a while.
type timed struct {
	name   string
	act    time.Duration // of its act
	rest   time.Duration // behind it
	begun  bool
	ended  bool // the act came to its end
	cause  error
	onDone func() bool
}

func (s *timed) Name() string { return s.name }

func (s *timed) Done(context.Context, *Env) (bool, error) { return s.onDone != nil && s.onDone(), nil }

func (s *timed) Do(ctx context.Context, e *Env) (Facts, error) {
	s.begun = true
	happened := false
	err := e.Act(ctx, Act{
		Name: "flash", Deadline: 24 * time.Hour, Poll: time.Second,
		Mark: func(context.Context) (string, error) { return "1", nil },
		Seen: func(context.Context, string) (Sight, error) {
			if happened {
				return Happened, nil
			}
			return Absent, nil
		},
		Do: func(ctx context.Context) error {
			err := sleeper{}.Pause(ctx, s.act)
			happened = err == nil
			return err
		},
	})
	s.ended = err == nil
	if err == nil {
		err = sleeper{}.Pause(ctx, s.rest)
	}
	s.cause = err
	return nil, err
}

func TestDeadlineOfARun(t *testing.T) {
	for _, test := range []struct {
		name        string
		info        StepInfo
		step        timed
		left        time.Duration // until the deadline
		intents     map[string]Intent
		before      Facts
		begun, down bool
		untouched   bool
		took        time.Duration
	}{
		{name: "would not end by then", info: StepInfo{Timeout: time.Hour}, left: 59 * time.Minute, down: true, untouched: true},
		{name: "by its usual time it ends", info: StepInfo{Timeout: time.Hour, Takes: 10 * time.Minute}, left: 20 * time.Minute, begun: true, took: time.Second},
		{name: "something was done before", info: StepInfo{Timeout: time.Hour}, left: time.Minute, before: Facts{factTouched: "yes"}, down: true},
		{name: "gentle, ended by it", info: StepInfo{Timeout: time.Hour, Gentle: true}, step: timed{rest: time.Hour}, left: time.Minute, begun: true, down: true, untouched: true, took: time.Minute},
		{name: "gentle", info: StepInfo{Timeout: time.Hour, Gentle: true}, left: time.Minute, begun: true, took: time.Second},
		{name: "always, behind it", info: StepInfo{Timeout: time.Hour, Always: true}, left: -time.Minute, begun: true, took: time.Second},
		{name: "behind it", info: StepInfo{Timeout: time.Hour, Gentle: true}, left: -time.Minute, down: true, untouched: true},
		{name: "in the middle of it already", info: StepInfo{Timeout: time.Hour}, left: 10 * time.Minute, intents: map[string]Intent{"other": {Act: "other", Acted: true}}, begun: true, took: time.Second},
		{name: "takes longer than usual", info: StepInfo{Timeout: time.Hour, Takes: time.Minute, Loads: true}, step: timed{rest: 30 * time.Minute}, left: 10 * time.Minute, begun: true, down: true, took: 10 * time.Minute},
		{name: "in the middle of an act", info: StepInfo{Timeout: time.Hour, Takes: time.Minute}, step: timed{act: 15 * time.Minute, rest: time.Minute}, left: 10 * time.Minute, begun: true, down: true, took: 15 * time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, _ := stepEnv(t, newFakeBMC(), Machine{})
				s := test.step
				s.name, test.info.Step = "work", &s
				if s.rest == 0 {
					s.rest = time.Second
				}
				s.onDone = func() bool { return s.ended && s.cause == nil }
				w := Workflow{Name: "w", Steps: []StepInfo{test.info}}
				b := &Bench{State: t.TempDir(), Workflows: []Workflow{w}, Secrets: &Secrets{}, Log: slog.New(slog.DiscardHandler)}
				defer func() { _ = b.Close() }()
				m := Machine{Name: "m1", Profile: e.Profile.Name, Spec: e.Spec.Name, ProfileSHA256: e.Profile.SHA256(), SpecSHA256: e.Spec.SHA256()}
				began := time.Now()
				_, err := b.Step(t.Context(), Task{
					Run: "job", Attempt: 1, Machine: m, Plan: w.Plan(), Step: w.Plan().Steps[0], Try: 1, Intents: test.intents, Facts: test.before,
					Batch: &Batch{Name: "job", Machines: []Machine{m}, Resolved: map[string][]byte{e.Profile.SHA256(): e.Profile.Bytes(), e.Spec.SHA256(): e.Spec.Bytes()}},
					Until: began.Add(test.left),
				}, &memory{room: -1})
				down, isDown := errors.AsType[*PutDown](err)
				if s.begun != test.begun || isDown != test.down || !isDown && err != nil {
					t.Fatalf("begun %v, %v; want %v and put down %v", s.begun, err, test.begun, test.down)
				}
				if isDown && down.Untouched != test.untouched {
					t.Errorf("untouched %v: %s", down.Untouched, down.Why)
				}
				if took := time.Since(began); took != test.took {
					t.Errorf("took %s, want %s", took, test.took)
				}
				if test.begun && !s.ended && s.act > 0 {
					t.Error("its act was cut short")
				}
			})
		})
	}
}

func TestPutDownMachineGoesOn(t *testing.T) {
	at := time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)
	r := Run{}
	apply := func(when time.Time, machine, step string, kind Kind, data any) {
		t.Helper()
		ev, err := NewEvent("job", machine, kind, data)
		if err != nil {
			t.Fatal(err)
		}
		ev.Seq, ev.At, ev.Step, ev.Attempt = r.Seq+1, when, step, 1
		if machine == "" {
			ev.Attempt = 0
		}
		if err := r.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	batch := &Batch{Name: "job", Machines: []Machine{{Name: "m1"}}}
	apply(at.Add(-8*time.Hour), "", "", Submitted, Submission{Batch: batch, Plan: Qualify().Plan(), Until: at})
	if !r.Until.Equal(at) || r.Settled() {
		t.Fatalf("until %s, settled %v", r.Until, r.Settled())
	}
	ends, again := Endings(&PutDown{Why: "put down in burn-in: the run ends at 06:00; its load is down"}, PlanStep{Name: "burn-in", Tries: 3}, 1, nil, at)
	if again || len(ends) != 1 || ends[0].Kind != HeldBack {
		t.Fatalf("%v, again %v", ends, again)
	}
	apply(at, "m1", "burn-in", ends[0].Kind, ends[0].Data)
	m := r.Find("m1")
	if m.Runnable() || !r.Settled() || r.ExitCode(Selector{}) != 5 || m.Failed != 0 || m.Late == nil || m.Next != "rackproof resume job" {
		t.Errorf("put down: %+v, exit %d", m, r.ExitCode(Selector{}))
	}
	apply(at.Add(time.Hour), "", "", Resumed, Resume{})
	if m := r.Find("m1"); !m.Runnable() || m.Late != nil || !r.Until.IsZero() {
		t.Errorf("resumed: %+v until %s", m, r.Until)
	}
}
