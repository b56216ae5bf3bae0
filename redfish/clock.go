package redfish

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Clock reads the BMC's clock, and by how much it is ahead of ours: entries of
// its logs and what we know are compared through that. The error wraps
// ErrUnsupported where no manager of the host tells the time.
func (c *Client) Clock(ctx context.Context) (bmc time.Time, skew time.Duration, err error) {
	host, err := c.host(ctx)
	if err != nil {
		return time.Time{}, 0, err
	}
	for _, l := range host.Links.value.ManagedBy {
		var doc managerDoc
		began := time.Now()
		if _, err := c.get(ctx, l, &doc); err != nil {
			return time.Time{}, 0, fmt.Errorf("clock: %w", err)
		}
		asked := began.Add(time.Since(began) / 2)
		if at := parseTime(string(doc.DateTime), string(doc.Offset)); !at.IsZero() {
			skew := at.Sub(asked)
			c.plan.mu.Lock()
			c.plan.skew = &skew
			c.plan.mu.Unlock()
			return at, skew, nil
		}
	}
	return time.Time{}, 0, fmt.Errorf("BMC %s: clock: %w", c.cfg.Addr, ErrUnsupported)
}

// now is the BMC's time, from the skew that was last read.
func (c *Client) now(ctx context.Context) (time.Time, error) {
	c.plan.mu.Lock()
	skew := c.plan.skew
	c.plan.mu.Unlock()
	if skew != nil {
		return time.Now().Add(*skew), nil
	}
	at, _, err := c.Clock(ctx)
	return at, err
}

// timeForms are the ways in which BMCs write a moment, those without a zone last.
var timeForms = []string{time.RFC3339Nano, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05", "01/02/2006 15:04:05", "01/02/2006 15:04"}

// zonedForms is how many of timeForms carry their zone.
const zonedForms = 2

// clockUnset is the moment before which no server was built that is tested today.
// A BMC whose clock was never set counts from 1970, from 2000 (AMI), or gives what
// IPMI calls pre-init (up to 1987).
var clockUnset = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

// parseTime reads a moment; offset, such as "+01:00", is the BMC's own where the
// text has none. Zero is no time: none was written, or the clock was not set.
func parseTime(text, offset string) time.Time {
	text = strings.TrimSpace(text)
	for i, form := range timeForms {
		at, err := time.Parse(form, text)
		if err != nil {
			continue
		}
		if zone, err := time.Parse("Z07:00", strings.TrimSpace(offset)); i >= zonedForms && err == nil {
			_, seconds := zone.Zone()
			at = at.Add(-time.Duration(seconds) * time.Second)
		}
		if at.Before(clockUnset) {
			return time.Time{}
		}
		return at
	}
	return time.Time{}
}
