package redfish

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// jobDoc is a standard Task, a standard Job or a Dell job.
type jobDoc struct {
	Name       text          `json:"Name"`
	TaskState  text          `json:"TaskState"`
	TaskStatus text          `json:"TaskStatus"`
	State      text          `json:"JobState"`
	Status     text          `json:"JobStatus"`
	Type       text          `json:"JobType"`
	Message    text          `json:"Message"`
	MessageID  text          `json:"MessageId"`
	Messages   list[message] `json:"Messages"`
}

// jobOf finds the job that an answer names. A settings object that answers with
// its own id is no job.
func jobOf(a *answer) string {
	at := location(a)
	for _, part := range []string{"/Tasks/", "/TaskMonitors/", "/Jobs/", "JID_"} {
		if strings.Contains(at, part) {
			return at
		}
	}
	return ""
}

// WaitJob waits until a job has ended, as long as ctx allows. nil means that it
// ended without a complaint, or that it vanished, as tasks do when a BMC
// restarts or cleans up: what it did must be read back either way. A job that
// failed is an error wrapping ErrJobFailed; "Completed" with status Critical is
// a failure.
func (c *Client) WaitJob(ctx context.Context, job string) error {
	if job == "" {
		return nil
	}
	for {
		done, err := c.jobDone(ctx, job)
		if done || err != nil && !isLost(err) && statusOf(err) < 500 {
			return err
		}
		if err := c.Pause(ctx, c.cfg.Poll); err != nil {
			return fmt.Errorf("BMC %s: job %s has not ended: %w; look at the job queue, and whether the host was reset", c.cfg.Addr, link(job).id(), err)
		}
	}
}

func (c *Client) jobDone(ctx context.Context, job string) (bool, error) {
	a, err := c.t.read(ctx, job)
	if statusOf(err) == http.StatusNotFound || statusOf(err) == http.StatusGone {
		c.cfg.Log.InfoContext(ctx, "job vanished, its outcome decides", "bmc", c.cfg.Addr, "job", job)
		return true, nil
	}
	if err != nil {
		return false, err
	}
	c.record.keep(job, a.body)
	var doc jobDoc
	_ = json.Unmarshal(a.body, &doc)
	state := firstOf(string(doc.TaskState), string(doc.State))
	if state == "" { // a task monitor: 202 while it runs, then the operation's own answer
		return a.status != http.StatusAccepted, nil
	}
	return c.verdict(doc, state, job)
}

func (c *Client) verdict(d jobDoc, state, job string) (done bool, err error) {
	failed := func() error {
		said := []string{string(d.MessageID), string(d.Message)}
		for _, m := range d.Messages {
			said = append(said, string(m.Message))
		}
		said = append(said, string(d.TaskStatus), string(d.Status))
		return fmt.Errorf("BMC %s: %w: %s is %s: %s", c.cfg.Addr, ErrJobFailed, link(job).id(), state,
			c.record.literal(strings.Join(strings.Fields(strings.Join(said, " ")), " ")))
	}
	switch state {
	case "Completed":
		if d.TaskStatus == "Critical" || d.Status == "Critical" {
			return true, failed()
		}
		return true, nil
	case "Exception", "Killed", "Cancelled", // Task
		"Failed", "CompletedWithErrors", "RebootFailed", "DownloadFailed", "Invalid": // Job and iDRAC
		return true, failed()
	}
	return false, nil
}
