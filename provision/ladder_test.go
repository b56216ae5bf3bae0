package provision

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rackproof/rackproof/redfish"
)

// sickBMC does not answer until it is reset, and then goes away for a while.
type sickBMC struct {
	*fakeBMC
	sick   bool
	never  bool // comes back
	back   time.Time
	resets int
	after  func(*sickBMC) // what the reset changes beside
	refuse error          // of the reset
}

func (s *sickBMC) open(context.Context, Machine) (BMC, error) {
	if s.sick || time.Now().Before(s.back) {
		return nil, &Stuck{Why: "BMC silent", cause: redfish.ErrUnreachable}
	}
	return s.fakeBMC, nil
}

func (s *sickBMC) reset(context.Context, Machine) (bool, string, error) {
	if s.refuse != nil {
		return false, "", s.refuse
	}
	s.resets++
	s.sick, s.back = s.never, time.Now().Add(2*time.Minute)
	if s.after != nil {
		s.after(s)
	}
	return true, " over IPMI", nil
}

// asks is a step that asks the BMC.
type asks struct{ name string }

func (a asks) Name() string { return a.name }
func (asks) Done(ctx context.Context, e *Env) (bool, error) {
	_, err := e.Client(ctx)
	return err == nil, err
}
func (asks) Do(context.Context, *Env) (Facts, error) { return nil, nil }

// tries carries out a step as an engine does, with what it would have journaled.
func tries(t *testing.T, s *sickBMC, info StepInfo, change func(*Env, *Task)) (facts Facts, why []string, last error) {
	t.Helper()
	e, _ := stepEnv(t, s.fakeBMC, Machine{Serial: "S1"})
	e.open = openers{bmc: s.open, reset: s.reset}
	task := Task{Run: "job", Attempt: 1, Machine: e.Machine, Batch: e.Batch, Facts: Facts{FactPrint: "aa", FactUUID: s.id.UUID}, Intents: map[string]Intent{}}
	task.Step = Workflow{Steps: []StepInfo{info}}.Plan().Steps[0]
	if change != nil {
		change(e, &task)
	}
	e.Facts = task.Facts.Clone()
	for task.Try = 1; task.Try < 10; task.Try++ {
		e.Log = slog.New(slog.DiscardHandler)
		err := e.climb(t.Context(), task, info, doneDoDone(t.Context(), info, task, e, nil))
		e.dropClient()
		ends, again := Endings(err, task.Step, task.Try, nil, time.Now())
		if err != nil {
			why = append(why, fmt.Sprint(ends[0].Kind, ": ", err))
		}
		if !again {
			return e.Facts, why, err
		}
		task.Facts, e.intents = e.Facts.Clone(), map[string]Intent{}
	}
	t.Fatalf("it never ends: %v", why)
	return nil, nil, nil
}

func TestLadder(t *testing.T) {
	step := StepInfo{Step: asks{"bios"}, Timeout: time.Hour, Tries: 2}
	keeps, once := step, step
	keeps.KeepBMC, once.Tries = true, 1
	for _, test := range []struct {
		name   string
		info   StepInfo
		bmc    sickBMC
		change func(*Env, *Task)
		resets int
		fails  int    // tries that failed
		stuck  string // in the last word; "" = it went well
	}{
		{name: "well", info: step},
		{name: "hangs until reset", info: step, bmc: sickBMC{sick: true}, resets: 1, fails: 2},
		{name: "one try only", info: once, bmc: sickBMC{sick: true}, resets: 1, fails: 1},
		{name: "never comes back", info: step, bmc: sickBMC{sick: true, never: true}, resets: 1, fails: 2, stuck: "did not come back within 15 min 0 s"},
		{name: "comes back within the batch's time only", info: step, bmc: sickBMC{sick: true}, resets: 1, fails: 2, stuck: "did not come back within 1 min 0 s", change: func(e *Env, _ *Task) {
			e.Batch.Limits.BMCReset = Duration(time.Minute)
		}},
		{name: "switched off", info: step, bmc: sickBMC{sick: true}, fails: 2, stuck: "BMC silent", change: func(e *Env, _ *Task) { e.Batch.Limits.BMCReset = noReset }},
		{name: "while firmware is written", info: keeps, bmc: sickBMC{sick: true}, fails: 2, stuck: "BMC silent"},
		{name: "before it is proven whose BMC it is", info: step, bmc: sickBMC{sick: true}, fails: 1, stuck: "BMC silent", change: func(_ *Env, t *Task) { delete(t.Facts, FactPrint) }},
		{name: "reset before in this attempt", info: step, bmc: sickBMC{sick: true}, fails: 2, stuck: "Tried before: the step 2 times; a cold reset of the BMC, 3 min 0 s", change: func(_ *Env, t *Task) {
			t.Facts[FactBMCReset] = "a cold reset of the BMC, 3 min 0 s"
		}},
		{name: "cannot be reset", info: step, bmc: sickBMC{sick: true, refuse: errors.New("no way")}, fails: 2, stuck: "could not be reset either: bmc cold reset: no way"},
		{name: "another machine answers", info: step, bmc: sickBMC{sick: true, after: func(s *sickBMC) { s.id.UUID = "ffffffff-4455-6677-8899-aabbccddeeff" }}, resets: 1, fails: 2, stuck: "since its reset"},
		{name: "killed between intent and reset", info: once, bmc: sickBMC{sick: true}, fails: 1, stuck: "did not come back", change: func(e *Env, _ *Task) {
			e.intents[actBMCReset] = Intent{Act: actBMCReset, Mark: "Unknown"}
		}},
		{name: "killed behind the reset", info: once, bmc: sickBMC{sick: false, back: time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC)}, fails: 1, change: func(e *Env, _ *Task) {
			e.intents[actBMCReset] = Intent{Act: actBMCReset, Mark: "On", Acted: true}
		}},
		{name: "the host went off with it", info: once, bmc: sickBMC{back: time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC)}, fails: 1, stuck: "the host was Off before its BMC was reset and is On now", change: func(e *Env, _ *Task) {
			e.intents[actBMCReset] = Intent{Act: actBMCReset, Mark: "Off", Acted: true}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := test.bmc
				s.fakeBMC = newFakeBMC()
				facts, why, err := tries(t, &s, test.info, test.change)
				if s.resets != test.resets {
					t.Errorf("%d resets of the BMC, want %d", s.resets, test.resets)
				}
				if len(why) != test.fails || (err != nil) != (test.stuck != "") || err != nil && !strings.Contains(err.Error(), test.stuck) {
					t.Fatalf("%d failed, want %d and %q:\n%s", len(why), test.fails, test.stuck, strings.Join(why, "\n"))
				}
				if test.resets == 1 && facts[FactBMCReset] == "" {
					t.Error("no fact tells of the reset")
				}
			})
		})
	}
}

func TestFaultsDoNotClimb(t *testing.T) {
	e, _ := stepEnv(t, newFakeBMC(), Machine{})
	e.open.reset = func(context.Context, Machine) (bool, string, error) {
		t.Error("the BMC was reset")
		return false, "", nil
	}
	task := Task{Try: 1, Step: PlanStep{Name: "bios", Tries: 1}, Facts: Facts{FactPrint: "aa"}}
	for _, err := range []error{&Fault{Why: "a DIMM is gone"}, &Hands{Why: "a cable"}, errors.New("no such setting"), fmt.Errorf("x: %w", redfish.ErrAuth), &redfish.HopError{Hop: "b", Err: redfish.ErrUnreachable}} {
		if got := e.climb(t.Context(), task, StepInfo{Step: asks{"bios"}}, err); !errors.Is(got, err) {
			t.Errorf("%v became %v", err, got)
		}
	}
}
