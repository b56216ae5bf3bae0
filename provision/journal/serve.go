package journal

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/rackproof/rackproof/provision"
)

// Serve implements provision.Engine. Runs that another process carries are left
// to it, unless Options.Runs asks for them: then *provision.HeldError says who has
// it.
func (e *Engine) Serve(ctx context.Context) error {
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		active = map[provision.RunID]bool{}
		failed error
	)
	work, cancel := context.WithCancelCause(ctx)
	defer wg.Wait()
	defer cancel(nil)
	fail := func(err error) { // the first error counts: what comes of ending is none
		mu.Lock()
		defer mu.Unlock()
		if err != nil && work.Err() == nil {
			failed = err
			cancel(err)
		}
	}
	wg.Go(func() { // those who wait for events look up once more
		select {
		case <-e.opt.Ending:
			e.ring()
		case <-work.Done():
		}
	})
	for work.Err() == nil && !e.ending() {
		bell := e.bell()
		ids, err := e.served(work)
		fail(err)
		for _, id := range ids {
			mu.Lock()
			busy := active[id]
			mu.Unlock()
			if busy {
				continue
			}
			lease, err := e.own(work, id)
			fail(err)
			if lease == nil {
				continue
			}
			mu.Lock()
			active[id] = true
			mu.Unlock()
			wg.Go(func() {
				err := e.carry(work, id)
				fail(errors.Join(err, lease.Release()))
				mu.Lock()
				defer mu.Unlock()
				delete(active, id)
			})
		}
		pause(work, bell)
	}
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	return failed
}

// ending reports whether this process is to end.
func (e *Engine) ending() bool {
	select {
	case <-e.opt.Ending:
		return true
	default:
		return false
	}
}

// ended hides errors that only come of being told to end.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (e *Engine) served(ctx context.Context) ([]provision.RunID, error) {
	if e.opt.Runs != nil {
		return e.opt.Runs, nil
	}
	return e.Runs(ctx)
}

// idle reports whether nothing happened in a run since it had nothing to do.
func (e *Engine) idle(ctx context.Context, id provision.RunID) (bool, error) {
	var last provision.Seq
	err := e.db.QueryRowContext(ctx, `SELECT coalesce(max(seq), 0) FROM events WHERE run = ?`, string(id)).Scan(&last)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.rested[id] == last && last > 0, trouble(e.file, err)
}

// own takes a run that has something to do; a nil lease means that there is
// nothing to do, or that another has it.
func (e *Engine) own(ctx context.Context, id provision.RunID) (*provision.Lease, error) {
	if idle, err := e.idle(ctx, id); idle || err != nil {
		return nil, err
	}
	run, err := e.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	if run.Cancelled || !slices.ContainsFunc(run.Machines, e.mine) {
		e.mu.Lock()
		e.rested[id] = run.Seq
		e.mu.Unlock()
		return nil, nil
	}
	lease, err := provision.LeaseRun(e.state, id)
	var held *provision.HeldError
	if errors.As(err, &held) && e.opt.Runs == nil {
		return nil, nil
	}
	return lease, err
}

// mine reports whether this engine is to work on m now.
func (e *Engine) mine(m provision.MachineRun) bool { return m.Runnable() && e.opt.Select.Match(&m) }

// carry works on one run until nothing of it can go on.
func (e *Engine) carry(ctx context.Context, id provision.RunID) error {
	host, _ := os.Hostname()
	owner, err := provision.NewEvent(id, "", provision.Served, provision.Owner{PID: os.Getpid(), Host: host})
	if err != nil {
		return err
	}
	if err := e.append(ctx, owner); err != nil {
		return err
	}
	c := &carrier{engine: e, id: id, active: map[string]*working{}, news: true}
	if err := c.sync(ctx); err != nil {
		return err
	}
	c.gate = provision.NewGate(c.run.Batch)
	work, cancel := context.WithCancelCause(ctx)
	defer c.machines.Wait()
	defer cancel(nil)
	for ctx.Err() == nil {
		bell := e.bell()
		if err := c.sync(ctx); err != nil {
			return ended(ctx, err)
		}
		if err := c.failure(); err != nil {
			return err
		}
		c.heed()
		if c.start(work) == 0 {
			return nil
		}
		pause(ctx, bell)
	}
	return nil
}
