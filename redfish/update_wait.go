package redfish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// pendingPolls is for how many looks a job must wait for the host's reset before that is
// believed: some jobs are pending for a moment before they run.
const pendingPolls = 10

// WaitUpdate follows an update to its end, as long as ctx allows, also through a restart
// of the BMC. reset says that it waits for a reset of the host, or takes effect there. A
// job that vanished has ended: the version tells how. One that failed, "Completed" with
// status Critical among them, wraps ErrJobFailed.
func (c *Client) WaitUpdate(ctx context.Context, job string) (reset bool, err error) {
	for pending := 0; ; {
		state, err := c.updateState(ctx, job)
		switch {
		case away(err):
			pending = 0 // it restarts, as part of the update
		case err != nil:
			return false, err
		case state == updateEnded, state == updateAwaitsHost:
			return state == updateAwaitsHost, nil
		case state == updatePending:
			if pending++; pending >= pendingPolls {
				return true, nil
			}
		default:
			pending = 0
		}
		if err := pause(ctx, c.cfg.Poll); err != nil {
			return false, fmt.Errorf("BMC %s: the update has not ended: %w; do not take its power away, look at its job queue", c.cfg.Addr, err)
		}
	}
}

// away reports a BMC that is not there for a while.
func away(err error) bool {
	return isLost(err) || errors.Is(err, ErrUnreachable) || errors.Is(err, ErrSessionLimit) || notReady(err) || statusOf(err) >= http.StatusInternalServerError
}

// updateState is how far an update is.
type updateState int

const (
	updateRuns       updateState = iota
	updatePending                // waits to be run, perhaps for the host's reset
	updateAwaitsHost             // is installed and runs after the host's reset
	updateEnded
)

func (c *Client) updateState(ctx context.Context, job string) (updateState, error) {
	if job == "" {
		return c.behaviour.updating(ctx, c)
	}
	a, err := c.t.read(ctx, job)
	if statusOf(err) == http.StatusNotFound || statusOf(err) == http.StatusGone {
		c.cfg.Log.InfoContext(ctx, "update job vanished, the version decides", "bmc", c.cfg.Addr, "job", job)
		return updateEnded, nil
	}
	if err != nil {
		return updateRuns, err
	}
	c.record.keep(job, a.body)
	var doc jobDoc
	_ = json.Unmarshal(a.body, &doc)
	return c.updateOf(doc, a.status, job)
}

// updateOf reads a job as that of an update.
func (c *Client) updateOf(d jobDoc, status int, job string) (updateState, error) {
	state := firstOf(string(d.TaskState), string(d.State))
	switch state {
	case "": // a task monitor: 202 while it runs, then the operation's own answer
		if status == http.StatusAccepted {
			return updateRuns, nil
		}
		return updateEnded, nil
	case "Pending", "Scheduled": // a task, and iDRAC's job of it
		return updatePending, nil
	}
	done, err := c.verdict(d, state, job)
	switch {
	case err != nil || !done:
		return updateRuns, err
	case d.awaits():
		return updateAwaitsHost, nil
	}
	return updateEnded, nil
}

// awaits: the DMTF Update registry has a message for an image that is installed and
// does not run yet.
func (d jobDoc) awaits() bool {
	ids := []text{d.MessageID}
	for _, m := range d.Messages {
		ids = append(ids, m.ID)
	}
	for _, id := range ids {
		if (&StatusError{MessageIDs: []string{string(id)}}).has("AwaitToActivate") {
			return true
		}
	}
	return false
}
