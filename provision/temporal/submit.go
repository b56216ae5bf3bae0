package temporal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"github.com/rackproof/rackproof/provision"
)

// Submit implements provision.Engine.
func (e *Engine) Submit(ctx context.Context, b *provision.Batch, w provision.Workflow) (provision.RunID, error) {
	sub := provision.Submission{Batch: b, Plan: w.Plan(), Until: b.Until}
	id, next, err := e.latest(ctx, b.Name)
	if err != nil {
		return "", err
	}
	if id == "" {
		return next, e.begin(ctx, next, sub)
	}
	l, err := e.load(ctx, id)
	if err != nil {
		return id, err
	}
	run, err := provision.Fold(l.after(0))
	if err != nil {
		return id, err
	}
	if b.Again {
		if !run.Finished() {
			return id, fmt.Errorf("run %s is still open; finish it, or carry it on without --again", id)
		}
		return next, e.begin(ctx, next, sub)
	}
	events, err := provision.Amend(&run, sub)
	if err != nil {
		return id, err
	}
	for _, ev := range events {
		if err := e.Tell(ctx, ev); err != nil {
			return id, err
		}
	}
	return id, e.forward(ctx, l) // what a submitter that crashed left undone
}

// latest gives the newest run of a batch's name, "" for none, and the name of one more.
func (e *Engine) latest(ctx context.Context, name string) (id, next provision.RunID, err error) {
	next = provision.RunID(name)
	for n := 2; ; n++ {
		_, err := e.client.DescribeWorkflow(ctx, e.names.run(next), "")
		if notFound(err) {
			return id, next, nil
		}
		if err != nil {
			return "", "", fmt.Errorf("submit %s: %w", name, err)
		}
		id, next = next, provision.RunID(fmt.Sprintf("%s.%d", name, n))
	}
}

// begin starts a run.
func (e *Engine) begin(ctx context.Context, id provision.RunID, sub provision.Submission) error {
	ev, err := provision.NewEvent(id, "", provision.Submitted, sub)
	if err != nil {
		return err
	}
	ev.At, ev.By = time.Now().UTC(), e.who
	if err := e.hook(e.opt.Before, ev); err != nil {
		return err
	}
	first := e.start(id, "")
	first.Words, first.Said = []kept{{N: 1, At: ev.At, Word: word{ID: rand.Text(), Event: ev}}}, 1
	options := e.options(e.names.run(id), attrBatch.ValueSet(sub.Batch.Name))
	options.WorkflowIDConflictPolicy, options.WorkflowExecutionErrorWhenAlreadyStarted = enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL, true
	if _, err := e.client.ExecuteWorkflow(ctx, options, runType, first); err != nil {
		if _, ok := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); ok {
			return fmt.Errorf("run %s was started by somebody else at this moment; submit it again to see how it stands", id)
		}
		return fmt.Errorf("start run %s: %w", id, e.explained(err))
	}
	if err := e.hook(e.opt.After, ev); err != nil {
		return err
	}
	l, err := e.load(ctx, id)
	if err != nil {
		return err
	}
	return e.forward(ctx, l)
}

func (e *Engine) start(id provision.RunID, machine string) start {
	return start{Version: wireVersion, Run: id, Machine: machine, Names: e.names, Times: e.opt.times}
}

func (e *Engine) options(id string, attrs ...temporal.SearchAttributeUpdate) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{ID: id, TaskQueue: e.names.queue(), TypedSearchAttributes: temporal.NewSearchAttributes(attrs...)}
}

// explained says what to do where the namespace was not set up.
func (e *Engine) explained(err error) error {
	if strings.Contains(err.Error(), "search attribute") {
		return fmt.Errorf("%w; set the namespace up once: rackproof worker --temporal %s --namespace %s --site %s --setup", err, e.opt.Address, e.opt.Namespace, e.names.Site)
	}
	return err
}

// seenWithin is for how long a word may wait before its history, where it is durable
// already: a worker holds that history, or held it and died. The server takes it from a
// dead one after 10 s, the default time of a workflow task.
const seenWithin = 15 * time.Second

func (e *Engine) sayAndSee(ctx context.Context, l *ledger, workflow string, ev provision.Event) error {
	w := word{ID: rand.Text(), Event: ev}
	if err := e.say(ctx, workflow, w); err != nil {
		return err
	}
	return e.see(ctx, l, workflow, w)
}

// see waits until readers have a word that was said, or it has waited so long that nobody
// can tell when they will.
func (e *Engine) see(ctx context.Context, l *ledger, workflow string, w word) error {
	l.mu.Lock()
	s := l.run
	for _, m := range l.machines {
		if m.workflow == workflow {
			s = m
		}
	}
	l.mu.Unlock()
	for end := time.Now().Add(seenWithin); time.Now().Before(end) && ctx.Err() == nil; pause(ctx, retold/10) {
		if err := e.read(ctx, l, s); err != nil || l.heard(s, w.ID) {
			l.merge()
			return err
		}
	}
	return ctx.Err()
}

// forward tells the machines of a run what was said of it, as far as they do not know
// it yet: what its history shows, and what was just said and may not be there yet.
// Machines that have no workflow get one.
func (e *Engine) forward(ctx context.Context, l *ledger, just ...word) error {
	all := l.said(just)
	racks, err := racksOf(all)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for _, s := range l.shelves() {
		g.Go(func() error {
			for _, w := range all {
				if w.Event.Machine != "" || l.knows(s, w.ID) {
					continue
				}
				if err := e.retell(ctx, l, s, w, racks[s.machine]); err != nil {
					return fmt.Errorf("run %s, machine %s: %w", l.id, s.machine, e.explained(err))
				}
			}
			return nil
		})
	}
	return g.Wait()
}

func (e *Engine) retell(ctx context.Context, l *ledger, s *shelf, w word, at place) error {
	ev, err := reduced(w.Event, s.machine)
	if err != nil {
		return err
	}
	ev.At, ev.By = w.Event.At, w.Event.By
	attrs := []temporal.SearchAttributeUpdate{attrBatch.ValueSet(at.batch)}
	if at.rack != "" {
		attrs = append(attrs, attrRack.ValueSet(at.rack))
	}
	_, err = e.client.SignalWithStartWorkflow(ctx, s.workflow, wordSignal, word{ID: w.ID, Copy: true, Event: ev},
		e.options(s.workflow, attrs...), machineType, e.start(l.id, s.machine))
	if err == nil {
		l.tell(s, w.ID)
	}
	return err
}

// place is by what a machine is found.
type place struct{ batch, rack string }

func racksOf(words []word) (map[string]place, error) {
	out := map[string]place{}
	for _, w := range words {
		sub, err := submissionOf(w.Event)
		if err != nil {
			return nil, err
		}
		if sub.Batch == nil {
			continue
		}
		for _, m := range sub.Batch.Machines {
			out[m.Name] = place{sub.Batch.Name, m.Rack}
		}
	}
	return out, nil
}
