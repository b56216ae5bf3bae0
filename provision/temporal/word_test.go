package temporal

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/enginetest"
)

// TestCancelWhileAWorkerIsDead: a worker that died holds the history of the run, so that
// what is said waits before it for seconds. The machines are told all the same.
func TestCancelWhileAWorkerIsDead(t *testing.T) {
	t.Parallel()
	e := open(t, testOptions(t.TempDir()))
	defer func() { _ = e.Close() }()
	id, err := e.Submit(t.Context(), enginetest.Batch(t, "job", 1), enginetest.NewWorld().Workflow())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for taken := ""; taken != e.names.run(id); { // and is never heard of again
		task, err := e.client.WorkflowService().PollWorkflowTaskQueue(ctx, &workflowservice.PollWorkflowTaskQueueRequest{
			Namespace: "default", TaskQueue: &taskqueue.TaskQueue{Name: e.names.queue()}, Identity: "dead",
		})
		if err != nil {
			t.Fatal(err)
		}
		taken = task.GetWorkflowExecution().GetWorkflowId()
	}
	if err := e.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	l, m := e.ledger(id), e.names.machine(id, "m1")
	s := &shelf{workflow: m}
	told := func() bool {
		if err := e.read(t.Context(), l, s); err != nil {
			t.Fatal(err)
		}
		for _, w := range s.book.words {
			if w.Copy && w.Event.Kind == provision.Cancelled {
				return true
			}
		}
		return false
	}
	for end := time.Now().Add(time.Minute); !told(); pause(t.Context(), retold) {
		if time.Now().After(end) {
			t.Fatal("m1 was not told that its run is cancelled")
		}
	}
}
