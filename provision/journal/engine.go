package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/rackproof/rackproof/provision"
)

// Options say how an Engine works.
type Options struct {
	Worker provision.Worker   // nil for an engine that only looks and asks
	Runs   []provision.RunID  // that Serve carries; nil = all
	Select provision.Selector // machines that Serve carries
	Log    *slog.Logger       // nil discards

	HostLocks string // provision.HostLocks; "" = BMCs are leased within the state folder alone

	// Ending, once closed, makes Serve end: each machine at its next safe point, its load
	// left running for whoever carries the run on. nil = Serve ends with its context only.
	Ending <-chan struct{}

	Backoff time.Duration // before the second try of a step, doubling; 0 = 2 s

	// Before and After are called around the writing of every event, for tests
	// that end the engine at a chosen moment. An error of Before keeps the event
	// from being written.
	Before, After func(provision.Event) error
}

// Engine implements provision.Engine and provision.Teller on the journal of one
// state folder.
type Engine struct {
	state string
	file  string // the journal
	who   string // this process, in its events
	db    *sql.DB
	opt   Options

	writing sync.Mutex // held by the one who commits
	queued  sync.Mutex
	queue   []*entry

	mu     sync.Mutex
	wake   chan struct{}                     // closed and renewed with every event of this process
	rested map[provision.RunID]provision.Seq // last event of runs that have nothing to do
}

// pollEvery is how often other processes' events are looked for.
const pollEvery = 200 * time.Millisecond

// Open opens the journal of a state folder.
func Open(ctx context.Context, state string, opt Options) (*Engine, error) {
	file := filepath.Join(state, "journal.db")
	db, err := openDB(ctx, file)
	if err != nil {
		return nil, err
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Backoff <= 0 {
		opt.Backoff = 2 * time.Second
	}
	return &Engine{state: state, file: file, who: provision.Operator(), db: db, opt: opt, wake: make(chan struct{}), rested: map[provision.RunID]provision.Seq{}}, nil
}

// State is the state folder.
func (e *Engine) State() string { return e.state }

// Close closes the journal.
func (e *Engine) Close() error { return e.db.Close() }

// Submit implements provision.Engine.
func (e *Engine) Submit(ctx context.Context, b *provision.Batch, w provision.Workflow) (id provision.RunID, err error) {
	tx, err := e.db.BeginTx(ctx, nil)
	if err != nil {
		return "", trouble(e.file, fmt.Errorf("submit %s: %w", b.Name, err))
	}
	defer func() {
		if err = trouble(e.file, err); err != nil {
			_ = tx.Rollback()
		}
	}()
	last, err := lastRun(ctx, tx, b.Name)
	if err != nil {
		return "", err
	}
	events, id, err := e.submission(ctx, tx, last, b, w)
	if err != nil {
		return "", err
	}
	for _, ev := range events {
		if err := e.hook(e.opt.Before, ev); err != nil {
			return "", err
		}
		ev.By = e.who
		if _, err := insert(ctx, tx, ev); err != nil {
			return "", err
		}
	}
	if err := tx.Commit(); err != nil {
		return "", fmt.Errorf("submit %s: %w", b.Name, err)
	}
	e.ring()
	return id, nil
}

// submission decides what submitting a batch means: a new run, an edit, a resume,
// or nothing.
func (e *Engine) submission(ctx context.Context, tx *sql.Tx, last []string, b *provision.Batch, w provision.Workflow) ([]provision.Event, provision.RunID, error) {
	sub := provision.Submission{Batch: b, Plan: w.Plan(), Until: b.Until}
	if len(last) == 0 {
		return e.newRun(ctx, tx, provision.RunID(b.Name), sub)
	}
	id := provision.RunID(last[len(last)-1])
	run, err := fold(ctx, tx, id)
	if err != nil {
		return nil, id, err
	}
	if b.Again {
		if !run.Finished() {
			return nil, id, fmt.Errorf("run %s is still open; finish it, or carry it on without --again", id)
		}
		return e.newRun(ctx, tx, provision.RunID(fmt.Sprintf("%s.%d", b.Name, len(last)+1)), sub)
	}
	out, err := provision.Amend(&run, sub)
	return out, id, err
}

func (e *Engine) newRun(ctx context.Context, tx *sql.Tx, id provision.RunID, sub provision.Submission) ([]provision.Event, provision.RunID, error) {
	_, err := tx.ExecContext(ctx, `INSERT INTO runs(id, name, started) VALUES(?,?,?)`, string(id), sub.Batch.Name, time.Now().UTC().Format(timeForm))
	if err != nil {
		return nil, id, fmt.Errorf("start run %s: %w", id, err)
	}
	ev, err := provision.NewEvent(id, "", provision.Submitted, sub)
	return []provision.Event{ev}, id, err
}

// lastRun lists the runs of a batch's name, oldest first.
func lastRun(ctx context.Context, q querier, name string) ([]string, error) {
	return texts(ctx, q, `SELECT id FROM runs WHERE name = ? ORDER BY rowid`, name)
}

func texts(ctx context.Context, q querier, query string, args ...any) (out []string, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, fmt.Errorf("journal: %w", err)
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

func fold(ctx context.Context, q querier, id provision.RunID) (provision.Run, error) {
	events, err := selectEvents(ctx, q, id, 0)
	if err != nil {
		return provision.Run{}, err
	}
	return provision.Fold(events)
}

// Run folds the run as it stands now.
func (e *Engine) Run(ctx context.Context, id provision.RunID) (provision.Run, error) {
	run, err := fold(ctx, e.db, id)
	if err == nil && run.Batch == nil {
		err = fmt.Errorf("there is no run %s; `rackproof status` lists them", id)
	}
	return run, trouble(e.file, err)
}

// Runs implements provision.Engine.
func (e *Engine) Runs(ctx context.Context) ([]provision.RunID, error) {
	names, err := texts(ctx, e.db, `SELECT id FROM runs ORDER BY rowid`)
	out := make([]provision.RunID, len(names))
	for i, n := range names {
		out[i] = provision.RunID(n)
	}
	return out, trouble(e.file, err)
}

// Cancel implements provision.Engine.
func (e *Engine) Cancel(ctx context.Context, id provision.RunID) error {
	return e.Tell(ctx, provision.Event{Run: id, Kind: provision.Cancelled})
}

// Tell implements provision.Teller.
func (e *Engine) Tell(ctx context.Context, ev provision.Event) error {
	if _, err := e.Run(ctx, ev.Run); err != nil {
		return err
	}
	return e.append(ctx, ev)
}

// append makes an event durable.
func (e *Engine) append(ctx context.Context, ev provision.Event) error {
	if err := e.hook(e.opt.Before, ev); err != nil {
		return err
	}
	ev.By = e.who
	if err := e.write(ctx, &ev); err != nil {
		return trouble(e.file, err)
	}
	e.ring()
	return e.hook(e.opt.After, ev)
}

func (e *Engine) hook(f func(provision.Event) error, ev provision.Event) error {
	if f == nil {
		return nil
	}
	return f(ev)
}

// ring wakes those who wait for events.
func (e *Engine) ring() {
	e.mu.Lock()
	defer e.mu.Unlock()
	close(e.wake)
	e.wake = make(chan struct{})
}

func (e *Engine) bell() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.wake
}

// pause waits for an event of this process, or until others' may have come.
func pause(ctx context.Context, bell <-chan struct{}) {
	t := time.NewTimer(pollEvery)
	defer t.Stop()
	select {
	case <-bell:
	case <-t.C:
	case <-ctx.Done():
	}
}

// Watch implements provision.Engine.
func (e *Engine) Watch(ctx context.Context, id provision.RunID, after provision.Seq) iter.Seq2[provision.Event, error] {
	return func(yield func(provision.Event, error) bool) {
		for ctx.Err() == nil {
			bell := e.bell() // before reading: what comes meanwhile wakes us
			events, err := selectEvents(ctx, e.db, id, after)
			if err != nil {
				if ctx.Err() == nil {
					yield(provision.Event{}, trouble(e.file, err))
				}
				return
			}
			for _, ev := range events {
				after = ev.Seq
				if !yield(ev, nil) {
					return
				}
			}
			pause(ctx, bell)
		}
	}
}
