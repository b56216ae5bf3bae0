package temporal

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/rackproof/rackproof/provision"
)

// Options say how an Engine works.
type Options struct {
	Address   string      // of the Temporal server, host:port
	Namespace string      // "" = default
	Site      string      // whose workers carry the runs submitted here
	TLS       *tls.Config // of the connection to the server; nil = none
	State     string      // state folder, for the locks of this machine's BMCs
	HostLocks string      // provision.HostLocks; "" = those of the state folder alone

	Worker  provision.Worker // nil for an engine that only looks and asks
	Secrets string           // file that this worker takes secret:NAME from
	Log     *slog.Logger     // nil discards

	// Before and After are called around every event said, for tests that end the
	// engine at a chosen moment. An error of Before keeps the event from being said.
	Before, After func(provision.Event) error

	prefix string // of workflow IDs, for tests that share a server
	times  times
}

// Engine implements provision.Engine and provision.Teller on a Temporal server.
type Engine struct {
	client client.Client
	names  names
	who    string // this process, in its events
	opt    Options

	mu   sync.Mutex
	runs map[provision.RunID]*ledger
}

// dialWithin is how long a server may take to answer.
const dialWithin = 10 * time.Second

// Open connects to a server. The error says what to do about one that does not answer.
func Open(ctx context.Context, opt Options) (*Engine, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Namespace == "" {
		opt.Namespace = client.DefaultNamespace
	}
	if opt.times == (times{}) {
		opt.times = defaultTimes()
	}
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	c, err := client.DialContext(ctx, client.Options{
		HostPort: opt.Address, Namespace: opt.Namespace, Logger: log.NewStructuredLogger(opt.Log),
		// The profiles of a batch are text, and a payload has at most 2 MB.
		DataConverter:     payloads,
		ConnectionOptions: client.ConnectionOptions{TLS: opt.TLS},
	})
	if err != nil {
		return nil, fmt.Errorf("server of Temporal at %s: %w; is it running, and is --temporal its frontend (port 7233)?", opt.Address, err)
	}
	if _, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: opt.Namespace}); err != nil {
		c.Close()
		return nil, fmt.Errorf("server of Temporal at %s, namespace %s: %w; create it with `temporal operator namespace create %s`", opt.Address, opt.Namespace, err, opt.Namespace)
	}
	return &Engine{client: c, names: names{Site: opt.Site, Prefix: opt.prefix}, who: provision.Operator(), opt: opt, runs: map[provision.RunID]*ledger{}}, nil
}

// Close ends the connection.
func (e *Engine) Close() error {
	e.client.Close()
	return nil
}

// State is the state folder.
func (e *Engine) State() string { return e.opt.State }

// Setup registers the search attributes in the engine's namespace.
func (e *Engine) Setup(ctx context.Context) error { return Setup(ctx, e.client, e.opt.Namespace) }

// Served reports whether a worker of the site asks for work.
func (e *Engine) Served(ctx context.Context) (bool, error) {
	d, err := e.client.DescribeTaskQueue(ctx, e.names.queue(), enums.TASK_QUEUE_TYPE_ACTIVITY)
	return err == nil && len(d.GetPollers()) > 0, err
}

// Cancel implements provision.Engine.
func (e *Engine) Cancel(ctx context.Context, id provision.RunID) error {
	return e.Tell(ctx, provision.Event{Run: id, Kind: provision.Cancelled})
}

// Tell implements provision.Teller. What is said of a run as a whole goes to each of
// its machines too.
func (e *Engine) Tell(ctx context.Context, ev provision.Event) error {
	l, err := e.load(ctx, ev.Run)
	if err != nil {
		return err
	}
	if ev.Machine != "" {
		return e.sayAndSee(ctx, l, e.names.machine(ev.Run, ev.Machine), ev)
	}
	ev.At, ev.By = time.Now().UTC(), e.who
	w := word{ID: rand.Text(), Event: ev}
	if err := e.say(ctx, e.names.run(ev.Run), w); err != nil {
		return err
	}
	if err := e.forward(ctx, l, w); err != nil { // before it is seen: a load must be down in seconds
		return err
	}
	return e.see(ctx, l, e.names.run(ev.Run), w)
}

// say makes an event durable: it is in the workflow's history, or waits before it,
// when say returns.
func (e *Engine) say(ctx context.Context, workflow string, w word) error {
	if w.Event.At.IsZero() {
		w.Event.At = time.Now().UTC()
	}
	w.Event.By = e.who
	if err := e.hook(e.opt.Before, w.Event); err != nil {
		return err
	}
	if err := e.client.SignalWorkflow(ctx, workflow, "", wordSignal, w); err != nil {
		return fmt.Errorf("event %s of %s: %w", w.Event.Kind, workflow, err)
	}
	return e.hook(e.opt.After, w.Event)
}

func (e *Engine) hook(f func(provision.Event) error, ev provision.Event) error {
	if f == nil {
		return nil
	}
	return f(ev)
}

// Runs implements provision.Engine. A run shows a moment after it was submitted.
func (e *Engine) Runs(ctx context.Context) (out []provision.RunID, err error) {
	query := fmt.Sprintf("WorkflowType = '%s' AND TaskQueue = '%s' AND ExecutionStatus = 'Running'", runType, e.names.queue())
	for token, more := []byte(nil), true; more; more = len(token) > 0 {
		page, err := e.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query, NextPageToken: token})
		if err != nil {
			return nil, fmt.Errorf("runs: %w", err)
		}
		for _, x := range page.GetExecutions() { // newest first
			out = append(out, provision.RunID(x.GetExecution().GetWorkflowId()[len(e.names.Prefix):]))
		}
		token = page.GetNextPageToken()
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out, nil
}

// Run folds the run as it stands now.
func (e *Engine) Run(ctx context.Context, id provision.RunID) (provision.Run, error) {
	l, err := e.load(ctx, id)
	if err != nil {
		return provision.Run{}, err
	}
	return provision.Fold(l.after(0))
}

func notFound(err error) bool {
	_, ok := errors.AsType[*serviceerror.NotFound](err)
	return ok
}
