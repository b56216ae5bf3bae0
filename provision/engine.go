package provision

import (
	"context"
	"iter"
	"time"
)

// RunID names a run: the name of its batch, or name.2 for the same batch again.
type RunID string

// Seq orders the events of an engine. The first is 1.
type Seq int64

// Engine carries runs through crashes. Serve may run in one process while others
// submit, cancel and watch.
type Engine interface {
	// Submit starts a run of the batch, or resumes the open one of that name,
	// machines keyed by name. A finished run is returned as it is.
	Submit(context.Context, *Batch, Workflow) (RunID, error)
	// Cancel asks the owner of the run to stop; the run stays resumable.
	Cancel(context.Context, RunID) error
	// Watch yields the events of a run behind after, waiting for new ones until
	// ctx ends or the reader stops.
	Watch(ctx context.Context, run RunID, after Seq) iter.Seq2[Event, error]
	// Runs lists all runs, oldest first.
	Runs(context.Context) ([]RunID, error)
	// Serve executes and resumes runs until ctx ends.
	Serve(context.Context) error
}

// Teller is an engine that takes word from people: retest, done, stop, resume.
type Teller interface {
	Tell(context.Context, Event) error
}

// Worker does one step of one machine: the one operation that an engine knows.
// Errors of type Stuck, Hands and Fault say how the machine stands; any other
// error may be tried again.
type Worker interface {
	Step(context.Context, Task, Recorder) (Facts, error)
}

// Recorder makes an event durable before it returns.
type Recorder interface {
	Record(ctx context.Context, kind Kind, data any) error
}

// Unloader is told that a step's load is down before the step ends, so that its rack's
// power is free for others; a Recorder may be one.
type Unloader interface{ Unloaded() }

// Drawer is told what a machine under load draws by its BMC, in W; a Recorder may be one.
type Drawer interface{ Draws(watts float64) }

// A Yielder is a Recorder that gives the step's place among those worked on at once to
// others while it waits for them. back waits for a place again; it fails where ctx ends.
type Yielder interface {
	Yield() (back func(context.Context) error)
}

// Task is one step of one machine as an engine hands it to a worker.
type Task struct {
	Run     RunID
	Batch   *Batch
	Plan    Plan
	Machine Machine
	Attempt int
	Step    PlanStep
	Try     int
	Facts   Facts
	Intents map[string]Intent // of this step, by act
	Steps   []StepDone        // earlier steps of this attempt
	Repairs []Repaired        // before this attempt
	Until   time.Time         // when work on the run ends; zero = when it is done

	Rollouts map[string]Rollout // of the run
	Released int
}
