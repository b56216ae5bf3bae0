package provision

import (
	"fmt"
	"slices"
	"time"

	"github.com/rackproof/rackproof/burnin"
)

// State of a machine: three while under way, then the four results.
type State string

// States of a machine, as people read them.
const (
	StateRun        State = "RUN"
	StateHands      State = "HANDS" // waits for a person
	StateStuck      State = "STUCK" // infrastructure; never counted as hardware
	StatePassed     State = "PASSED"
	StateDeviations State = "PASSED WITH DEVIATIONS"
	StateFailed     State = "FAILED"
	StateIncomplete State = "INCOMPLETE"
)

// Owners of a state: who has the next move.
const (
	OwnerTool     = "tool"
	OwnerHands    = "hands"
	OwnerVendor   = "vendor"
	OwnerCustomer = "customer"
)

// Run is one workflow over one batch, as its events tell it.
type Run struct {
	ID        RunID        `json:"id"`
	Batch     *Batch       `json:"batch"`
	Plan      Plan         `json:"plan"`
	Started   time.Time    `json:"started"`
	Last      time.Time    `json:"last"` // time of the last event
	Seq       Seq          `json:"seq"`  // of the last event
	Owner     Owner        `json:"owner,omitzero"`
	Cancelled bool         `json:"cancelled,omitempty"`
	Until     time.Time    `json:"until,omitzero"` // when work on it ends; zero = when it is done
	Machines  []MachineRun `json:"machines"`       // in the order of the batch

	Rollouts map[string]Rollout `json:"rollouts,omitempty"` // of changes that go canary first, by model
	Power    []PowerEvent       `json:"power_events,omitempty"`
	Released int                `json:"released,omitempty"` // how often a person let the brake go
}

// MachineRun is one machine in a run, in its latest attempt.
type MachineRun struct {
	Machine Machine           `json:"machine"`
	Attempt int               `json:"attempt"`
	State   State             `json:"state"`
	Owner   string            `json:"owner"`
	Next    string            `json:"next,omitempty"`
	Why     string            `json:"why,omitempty"` // what matters, one line
	Do      string            `json:"do,omitempty"`  // what a person looks at or corrects, while STUCK
	Since   time.Time         `json:"since"`
	Until   time.Time         `json:"until,omitzero"`
	Step    string            `json:"step,omitempty"` // under way, or next
	Try     int               `json:"try,omitempty"`
	Failed  int               `json:"failed,omitempty"` // tries of the step that failed
	Facts   Facts             `json:"facts,omitempty"`
	Intents map[string]Intent `json:"intents,omitempty"` // of the step under way, by act
	Steps   []StepDone        `json:"steps,omitempty"`   // ended in this attempt
	Result  burnin.Result     `json:"result,omitempty"`
	Hands   *Hands            `json:"hands,omitempty"`
	Faulted bool              `json:"faulted,omitempty"`  // only steps that always run are left
	Stopped bool              `json:"stopped,omitempty"`  // a person took its load down, or the run's deadline
	Late    *PutDown          `json:"put_down,omitempty"` // by the run's deadline
	Broken  bool              `json:"broken,omitempty"`   // rackproof itself failed on it
	Repairs []Repaired        `json:"repairs,omitempty"`  // before this attempt, all of them
	Earlier []PastAttempt     `json:"earlier,omitempty"`  // attempts before this one
}

// PastAttempt is how an attempt stood when a person asked for the next.
type PastAttempt struct {
	Attempt int           `json:"attempt"`
	State   State         `json:"state"`
	Result  burnin.Result `json:"result,omitempty"`
	Line    string        `json:"line,omitempty"`
}

// Find returns the machine called name, or nil.
func (r *Run) Find(name string) *MachineRun {
	i := slices.IndexFunc(r.Machines, func(m MachineRun) bool { return m.Machine.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Machines[i]
}

// Over reports whether m has a result in its latest attempt.
func (m *MachineRun) Over() bool {
	switch m.State {
	case StatePassed, StateDeviations, StateFailed, StateIncomplete:
		return true
	default:
		return false
	}
}

// Runnable reports whether an engine can do anything for m now.
func (m *MachineRun) Runnable() bool { return m.State == StateRun && !m.Stopped }

// Settled reports whether nothing can go on without a person.
func (r *Run) Settled() bool {
	return r.Cancelled || !slices.ContainsFunc(r.Machines, func(m MachineRun) bool { return m.Runnable() })
}

// Finished reports whether every machine has a result.
func (r *Run) Finished() bool {
	return !slices.ContainsFunc(r.Machines, func(m MachineRun) bool { return !m.Over() })
}

// Exit statuses of a run, as CLI.md states them.
const (
	exitPassed      = 0
	exitBroken      = 1
	exitHardware    = 3
	exitIncomplete  = 4
	exitNotFinished = 5
)

// exitPrecedence is the order in which the worst of many counts.
var exitPrecedence = []int{exitBroken, exitNotFinished, exitHardware, exitIncomplete}

// ExitCode is the exit status of m alone.
func (m *MachineRun) ExitCode() int {
	switch {
	case m.Broken:
		return exitBroken
	case !m.Over():
		return exitNotFinished
	default:
		return m.Result.ExitCode()
	}
}

// ExitCode is the exit status by the machines that sel chooses: rackproof failed
// (1) before not finished (5), failed (3), incomplete (4) and passed (0).
func (r *Run) ExitCode(sel Selector) int {
	if codes := r.ExitCodes(sel); len(codes) > 0 {
		return codes[0]
	}
	return exitPassed
}

// ExitCodes are the exit statuses other than 0 of the machines that sel chooses,
// each once and the worst first.
func (r *Run) ExitCodes(sel Selector) []int {
	var codes []int
	for _, code := range exitPrecedence {
		if slices.ContainsFunc(r.Machines, func(m MachineRun) bool { return sel.Match(&m) && m.ExitCode() == code }) {
			codes = append(codes, code)
		}
	}
	return codes
}

// StateOf is the state that a result makes.
func StateOf(r burnin.Result) State {
	switch r {
	case burnin.Passed:
		return StatePassed
	case burnin.PassedWithDeviations:
		return StateDeviations
	case burnin.Failed:
		return StateFailed
	default:
		return StateIncomplete
	}
}

func place(rack string, u int) string {
	switch {
	case rack != "" && u > 0:
		return fmt.Sprintf("%s U%02d", rack, u)
	case u > 0:
		return fmt.Sprintf("U%02d", u)
	default:
		return rack
	}
}
