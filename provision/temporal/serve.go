package temporal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// endWithin is how long the steps of a worker that ends have to put down what they do.
const endWithin = 20 * time.Second

// stickyFor is how long a workflow waits for the worker that has it in memory.
const stickyFor = 2 * time.Second

// deadlocked is how long a workflow may compute: folding a long story on a busy machine
// is no deadlock.
const deadlocked = 15 * time.Second

// Serve implements provision.Engine: it is a worker of the site. Steps that are under
// way when ctx ends go to another worker.
func (e *Engine) Serve(ctx context.Context) error {
	if e.opt.Worker == nil {
		return errors.New("an engine without a worker serves nothing")
	}
	if _, err := e.client.ExecuteWorkflow(ctx, e.options(e.names.limiter()), limiterType, limits{}); err != nil { // or finds it
		return ended(ctx, fmt.Errorf("limiter of site %s: %w", e.names.Site, err))
	}
	failed := make(chan error, 1)
	w := worker.New(e.client, e.names.queue(), worker.Options{
		WorkerStopTimeout:            endWithin,
		StickyScheduleToStartTimeout: stickyFor,
		DeadlockDetectionTimeout:     deadlocked,
		OnFatalError: func(err error) {
			select {
			case failed <- err:
			default:
			}
		},
	})
	w.RegisterWorkflowWithOptions(runWorkflow, workflow.RegisterOptions{Name: runType})
	w.RegisterWorkflowWithOptions(machineWorkflow, workflow.RegisterOptions{Name: machineType})
	w.RegisterWorkflowWithOptions(limiterWorkflow, workflow.RegisterOptions{Name: limiterType})
	s := &stepper{engine: e, serving: ctx}
	w.RegisterActivityWithOptions(s.step, activity.RegisterOptions{Name: stepType})
	if err := w.Start(); err != nil {
		return ended(ctx, fmt.Errorf("worker of site %s: %w", e.names.Site, err))
	}
	defer w.Stop()
	select {
	case err := <-failed:
		return fmt.Errorf("worker of site %s: %w", e.names.Site, err)
	case <-ctx.Done():
		return nil
	}
}

// ended hides errors that only come of being told to end.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
