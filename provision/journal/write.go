package journal

import (
	"context"
	"fmt"

	"github.com/rackproof/rackproof/provision"
)

// entry is an event that is to be made durable.
type entry struct {
	event *provision.Event
	done  bool
	err   error
}

// write makes an event durable, with all that came meanwhile from other machines: a
// thousand of them share the time that a disk needs to be sure. It sets number and time.
func (e *Engine) write(ctx context.Context, ev *provision.Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	mine := &entry{event: ev}
	e.queued.Lock()
	e.queue = append(e.queue, mine)
	e.queued.Unlock()
	e.writing.Lock()
	defer e.writing.Unlock()
	if mine.done { // the one before wrote it too
		return mine.err
	}
	e.queued.Lock()
	all := e.queue
	e.queue = nil
	e.queued.Unlock()
	err := e.commit(context.WithoutCancel(ctx), all) // it is not ours alone
	for _, other := range all {
		other.done, other.err = true, err
	}
	return err
}

func (e *Engine) commit(ctx context.Context, all []*entry) error {
	tx, err := e.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("write %d events: %w", len(all), err)
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	for _, x := range all {
		if *x.event, err = insert(ctx, tx, *x.event); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("write %d events: %w", len(all), err)
	}
	return nil
}
