package main

import (
	"context"

	"github.com/rackproof/rackproof/provision"
)

// notify sends the one message about a run, where its batch wants one. What becomes of
// it changes no result.
func (c *carry) notify(ctx context.Context, run *provision.Run) {
	sent, err := provision.Notifier{State: c.state, Secrets: c.secrets}.Tell(ctx, run)
	switch {
	case err != nil:
		c.app.progress("%v; the results stand, and it is tried again with `rackproof resume %s`", err, run.ID)
	case sent:
		c.app.progress("notified: %s", run.Batch.Notify)
	}
}

// notifyBrake sends it while others are still under way, where a change was stopped.
func (c *carry) notifyBrake(ctx context.Context, run *provision.Run) {
	if run.Braked() != "" {
		c.notify(ctx, run)
	}
}
