package temporal

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/rackproof/rackproof/provision"
)

// recorder makes the events of a step durable.
type recorder struct {
	engine  *Engine
	turn    turn
	claim   claim
	batch   *provision.Batch
	machine provision.Machine
	began   time.Time

	mu       sync.Mutex
	progress time.Time // when the last one was said
	lost     error     // the engine did not take an event
	ended    *provision.Event
}

// A history is bounded, and a burn-in may take days: progress is said the less often,
// the longer the step takes.
const (
	progressLeast = 5 * time.Second
	progressMost  = 10 * time.Minute
	progressShare = 20 // of the time so far
)

// Record implements provision.Recorder. The result of a change is said of the run,
// because other machines go by it.
func (r *recorder) Record(ctx context.Context, kind provision.Kind, data any) error {
	if kind == provision.Progressed && !r.due() {
		return nil
	}
	ev, err := provision.NewEvent(r.turn.Run, r.turn.Machine, kind, data)
	if err != nil {
		return err
	}
	ev.Attempt, ev.Step = r.turn.Attempt, r.turn.Step
	if kind == provision.ChangeEnded { // who is next must see it before this machine's end
		err = r.engine.sayAndSee(ctx, r.engine.ledger(r.turn.Run), r.engine.names.run(r.turn.Run), ev)
	} else {
		err = r.engine.say(ctx, r.engine.names.machine(r.turn.Run, r.turn.Machine), word{Claim: r.claim, Event: ev})
	}
	if kind == provision.StepEnded || kind == provision.StepFailed {
		r.ended = &ev
	}
	if err != nil && kind != provision.Progressed {
		r.mu.Lock()
		r.lost = err
		r.mu.Unlock()
	}
	return err
}

func (r *recorder) due() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	pause := min(max(time.Since(r.began)/progressShare, progressLeast), progressMost)
	if !r.progress.IsZero() && time.Since(r.progress) < pause {
		return false
	}
	r.progress = time.Now()
	return true
}

// over writes the result of a machine whose last step has just ended, so that no worker
// has to be asked for it.
func (r *recorder) over(ctx context.Context, own *provision.Run) error {
	if r.ended == nil {
		return nil
	}
	r.ended.Seq, r.ended.At = own.Seq+1, time.Now().UTC()
	if err := own.Apply(*r.ended); err != nil {
		return err
	}
	if m := own.Find(r.turn.Machine); !m.Runnable() || m.Step != "" {
		return nil
	}
	return r.Record(ctx, provision.MachineOver, nil)
}

// Unloaded implements provision.Unloader: the rack's power is for others now.
func (r *recorder) Unloaded() {
	var keys []string
	for _, c := range provision.PowerClaims(r.batch, r.machine) {
		keys = append(keys, c.Key)
	}
	if len(keys) > 0 {
		r.give(context.Background(), keys)
	}
}

// giveAll gives back all that the machine has, while it waits for another.
func (r *recorder) giveAll(ctx context.Context) { r.give(ctx, nil) }

func (r *recorder) give(ctx context.Context, keys []string) {
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	holder := r.engine.names.machine(r.turn.Run, r.turn.Machine)
	if err := r.engine.client.SignalWorkflow(ctx, r.engine.names.limiter(), "", askSignal, ask{Give: &give{Holder: holder, Keys: keys}}); err != nil {
		r.engine.opt.Log.Warn("lease not given back; it is with the end of the step", "holder", holder, "err", err)
	}
}

// beat tells the server that the step is under way. A worker that the server does not
// hear is given up there after silence; so it gives itself up before.
type beat struct {
	client  client.Client
	token   []byte
	silence time.Duration
}

// beatMost is the longest pause: the answer says whether the step was stopped, and a
// load must be down within seconds then.
const beatMost = 3 * time.Second

func (b *beat) keep(ctx context.Context, cancel context.CancelCauseFunc) {
	pauseFor := min(b.silence/4, beatMost)
	heard := time.Now()
	for ctx.Err() == nil {
		call, end := context.WithTimeout(ctx, b.silence/4)
		err := b.client.RecordActivityHeartbeat(call, b.token)
		end()
		switch {
		case err == nil:
			heard = time.Now()
		case gone(err):
			cancel(errGivenUp)
			return
		case time.Since(heard) > b.silence*3/4:
			cancel(errServerly)
			return
		}
		pause(ctx, pauseFor)
	}
}
