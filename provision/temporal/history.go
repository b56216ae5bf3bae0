package temporal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	"github.com/rackproof/rackproof/provision"
)

// stamped is a word with the server's time.
type stamped struct {
	word word
	at   time.Time
}

var payloads = converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), converter.NewZlibCodec(converter.ZlibCodecOptions{}))

// read takes what is new of a workflow's history.
func (e *Engine) read(ctx context.Context, l *ledger, s *shelf) error {
	d, err := e.client.DescribeWorkflow(ctx, s.workflow, "")
	if err != nil {
		return err
	}
	info := d.RawResponse.GetWorkflowExecutionInfo()
	now := mark{info.GetExecution().GetRunId(), info.GetHistoryLength()}
	l.mu.Lock()
	same := s.seen == now
	l.mu.Unlock()
	if same {
		return nil
	}
	var from *start
	var said []stamped
	h := e.client.GetWorkflowHistory(ctx, s.workflow, now.run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for h.HasNext() {
		ev, err := h.Next()
		if err != nil {
			return err
		}
		begun, w, err := decode(ev)
		switch {
		case err != nil:
			return fmt.Errorf("workflow %s: %w", s.workflow, err)
		case begun != nil:
			from = begun
		case w != nil:
			said = append(said, *w)
		}
	}
	l.put(s, from, said)
	l.mu.Lock()
	s.seen = now
	l.mu.Unlock()
	return nil
}

// decode finds in an event of a history what was said there; both may be nil.
func decode(ev *history.HistoryEvent) (*start, *stamped, error) {
	switch ev.GetEventType() {
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
		s := &start{}
		err := payloads.FromPayloads(ev.GetWorkflowExecutionStartedEventAttributes().GetInput(), s)
		if err == nil && s.Version != wireVersion {
			err = fmt.Errorf("it was started by another version of rackproof (%d, this one knows %d); use that one", s.Version, wireVersion)
		}
		return s, nil, err
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
		a := ev.GetWorkflowExecutionSignaledEventAttributes()
		if a.GetSignalName() != wordSignal {
			return nil, nil, nil
		}
		w := &stamped{at: ev.GetEventTime().AsTime()}
		return nil, w, payloads.FromPayloads(a.GetInput(), &w.word)
	default:
		return nil, nil, nil
	}
}

// follow reads a workflow's history as it grows, until ctx ends.
func (e *Engine) follow(ctx context.Context, l *ledger, s *shelf) error {
	for ctx.Err() == nil {
		n := 0
		h := e.client.GetWorkflowHistory(ctx, s.workflow, "", true, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for h.HasNext() { // ends where the history goes over into a new one
			ev, err := h.Next()
			if err != nil {
				return err
			}
			begun, w, err := decode(ev)
			if err != nil {
				return fmt.Errorf("workflow %s: %w", s.workflow, err)
			}
			switch {
			case begun != nil:
				l.put(s, begun, nil)
				n = begun.Said
			case w != nil:
				n++
				l.putOne(s, n, *w)
			}
			l.merge()
		}
		pause(ctx, retold)
	}
	return nil
}

// putOne takes word number n.
func (l *ledger) putOne(s *shelf, n int, w stamped) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n <= s.book.said {
		return
	}
	s.book.add(w.word, w.at)
	if s == l.run {
		l.meet()
	}
}

// followAll follows a run and its machines, those too that come later.
func (e *Engine) followAll(ctx context.Context, l *ledger, failed func(error)) {
	watched := map[*shelf]bool{}
	one := func(s *shelf) {
		for ctx.Err() == nil {
			err := e.follow(ctx, l, s)
			if err == nil || ctx.Err() != nil {
				return
			}
			if !notFound(err) {
				failed(err)
				return
			}
			pause(ctx, retold) // it is not told yet
		}
	}
	go one(l.run)
	for ctx.Err() == nil {
		bell := l.ring()
		for _, s := range l.shelves() {
			if !watched[s] {
				watched[s] = true
				go one(s)
			}
		}
		select {
		case <-bell:
		case <-ctx.Done():
		}
	}
}

// retold is how often a workflow that is not there yet is looked for.
const retold = 200 * time.Millisecond

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// Watch implements provision.Engine.
func (e *Engine) Watch(ctx context.Context, id provision.RunID, after provision.Seq) iter.Seq2[provision.Event, error] {
	return func(yield func(provision.Event, error) bool) {
		outer := ctx
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		l, err := e.load(ctx, id)
		if err != nil {
			if outer.Err() == nil {
				yield(provision.Event{}, err)
			}
			return
		}
		go e.followAll(ctx, l, cancel)
		for {
			bell := l.ring()
			for _, ev := range l.after(after) {
				after = ev.Seq
				if !yield(ev, nil) {
					return
				}
			}
			if ctx.Err() != nil {
				if cause := context.Cause(ctx); outer.Err() == nil && !errors.Is(cause, context.Canceled) {
					yield(provision.Event{}, cause)
				}
				return
			}
			select {
			case <-bell:
			case <-ctx.Done():
			}
		}
	}
}
