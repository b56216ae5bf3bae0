package provision

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rackproof/rackproof/burnin"
)

// Event is one thing that happened in a run. Events are only ever added.
type Event struct {
	Seq     Seq             `json:"seq"`
	At      time.Time       `json:"at"` // UTC
	Run     RunID           `json:"run"`
	Machine string          `json:"machine,omitempty"`
	Attempt int             `json:"attempt,omitempty"`
	Step    string          `json:"step,omitempty"`
	Kind    Kind            `json:"kind"`
	Data    json.RawMessage `json:"data,omitempty"`
	By      string          `json:"by,omitempty"` // user@host of the process that wrote it
}

// Kind says what happened. Kinds are only added, never changed.
type Kind string

// Kinds of events, with the type of their data.
const (
	Submitted   Kind = "submitted"    // Submission
	Edited      Kind = "edited"       // Submission: the batch file changed
	Served      Kind = "served"       // Owner: a process took the run
	Resumed     Kind = "resumed"      // Resume: what was stuck, cancelled or stopped goes on
	Cancelled   Kind = "cancelled"    // ask: the owner stops
	Stopped     Kind = "stopped"      // Selector: ask: loads down at once
	StepStarted Kind = "step_started" // Try
	Intended    Kind = "intent"       // Intent
	Acted       Kind = "acted"        // Intent: the machine showed that it happened
	Progressed  Kind = "progress"     // Progress
	Learned     Kind = "facts"        // Facts, in the middle of a step
	StepEnded   Kind = "step_done"    // StepDone
	StepFailed  Kind = "step_failed"  // Failure
	GotStuck    Kind = "stuck"        // Stuck
	NeedsHands  Kind = "hands"        // Hands
	Broke       Kind = "broke"        // Failure: rackproof itself failed
	MachineOver Kind = "machine_done" // the last step ended; the result is in the facts
	HandsDone   Kind = "done"         // Repaired: a person says it is done
	Retested    Kind = "retest"       // Repaired: a new attempt
	Rebind      Kind = "rebind"       // Repaired: its board or BMC was exchanged; a new attempt
	JudgedAgain Kind = "judge_again"  // Rejudgement: a finished machine, the same evidence
	PowerFailed Kind = "power_event"  // PowerEvent: the loads of its rack stop
	HeldBack    Kind = "held_back"    // PutDown: by the run's deadline
	ChangeEnded Kind = "change"       // ChangeResult: of a step that goes canary first
)

// NewEvent makes an event of run; data must encode to JSON.
func NewEvent(run RunID, machine string, kind Kind, data any) (Event, error) {
	e := Event{Run: run, Machine: machine, Kind: kind}
	if data == nil {
		return e, nil
	}
	b, err := json.Marshal(data)
	if err != nil {
		return e, fmt.Errorf("event %s of run %s: %w", kind, run, err)
	}
	e.Data = b
	return e, nil
}

// Submission starts a run.
type Submission struct {
	Batch *Batch `json:"batch"`
	Plan  Plan   `json:"plan"`
	// Until is when work on the run ends; zero = when it is done.
	Until time.Time `json:"until,omitzero"`
}

// Resume says what goes on. The zero Resume is everything that waits.
type Resume struct {
	Selector
	// Release lets the brake go: a person saw why it stopped, and goes on.
	Release bool `json:"release,omitempty"`
	// Until is when work on the run ends this time; zero = when it is done.
	Until time.Time `json:"until,omitzero"`
}

// Rejudgement is by what a finished machine is judged now.
type Rejudgement struct {
	Profile       string `json:"profile"`
	ProfileSHA256 string `json:"profile_sha256"`
	Spec          string `json:"spec"`
	SpecSHA256    string `json:"spec_sha256"`
}

// Owner is the process that carries a run.
type Owner struct {
	PID  int    `json:"pid"`
	Host string `json:"host"`
}

// Try counts the tries of a step.
type Try struct {
	Try int `json:"try"`
}

// Intent says, before an act, how the machine will show that it happened.
type Intent struct {
	Act   string `json:"act"`
	Mark  string `json:"mark"`
	Acted bool   `json:"acted,omitempty"`
}

// Progress is how far a step is.
type Progress struct {
	Text  string    `json:"text"`
	Until time.Time `json:"until,omitzero"` // expected end
}

// StepDone is a step as it went.
type StepDone struct {
	Step    string    `json:"step"`
	Started time.Time `json:"started,omitzero"`
	Seconds float64   `json:"seconds"`
	Tries   int       `json:"tries,omitempty"`
	Facts   Facts     `json:"facts,omitempty"`
	LeftOut string    `json:"left_out,omitempty"` // why its condition left it out: it never began
}

// Failure is a try that failed.
type Failure struct {
	Error string `json:"error"`
	Cause string `json:"cause,omitempty"` // the error without names and addresses: the same on machines alike
	Try   int    `json:"try,omitempty"`
	Fault bool   `json:"fault,omitempty"` // the machine is at fault: steps that always run follow
	Line  string `json:"line,omitempty"`
	Do    string `json:"do,omitempty"` // about a fault, or where rackproof itself failed
	Facts Facts  `json:"facts,omitempty"`
}

// Repaired is what people did before a new attempt.
type Repaired struct {
	At   time.Time `json:"at,omitzero"`
	By   string    `json:"by,omitempty"`
	Part string    `json:"part,omitempty"`
	Note string    `json:"note,omitempty"`
	// Swapped are the labels of two places whose parts were exchanged.
	Swapped []string `json:"swapped,omitempty"`
	// Whole asks for all to be measured again.
	Whole bool `json:"whole,omitempty"`
	// Rebound is by what the machine was known before, and is from then on.
	Rebound *Rebound `json:"rebound,omitempty"`
}

// Repair is r as the record of a machine keeps it.
func (r Repaired) Repair() burnin.Repair {
	rep := burnin.Repair{At: r.At, Part: r.Part, Note: r.Note}
	if r.Rebound != nil {
		rep.By, rep.Was, rep.Is = r.By, r.Rebound.Was.identity(), r.Rebound.Is.identity()
	}
	return rep
}
