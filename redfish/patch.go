package redfish

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// patchAnswer changes a resource with the ETag it was read with. BMCs disagree about
// If-Match: AMI demands it (428), some refuse it (412), and a weak or gzipped tag
// is taken by few. Every answer that leads on here is a refusal before any
// effect.
func (c *Client) patchAnswer(ctx context.Context, uri link, etag string, body any) (*answer, error) {
	tag := strongTag(etag)
	a, err := c.actAfterPOST(ctx, call{method: http.MethodPatch, uri: string(uri), body: body, ifMatch: tag})
	switch statusOf(err) {
	case http.StatusPreconditionFailed, http.StatusPreconditionRequired:
	default:
		return a, c.refusedSilently(a, err, uri)
	}
	// The tag was old or missing: read it again, then try without.
	var doc struct {
		ETag text `json:"@odata.etag"`
	}
	fresh, readErr := c.get(ctx, uri, &doc)
	if readErr != nil {
		return a, err
	}
	tags := []string{strongTag(firstOf(fresh.header.Get("ETag"), string(doc.ETag))), "*", ""}
	for _, next := range tags {
		if next == tag {
			continue
		}
		a, err = c.actAfterPOST(ctx, call{method: http.MethodPatch, uri: string(uri), body: body, ifMatch: next})
		if s := statusOf(err); s != http.StatusPreconditionFailed && s != http.StatusPreconditionRequired {
			break
		}
	}
	return a, c.refusedSilently(a, err, uri)
}

// readBackTries bounds how often a change that was only accepted is looked for.
const readBackTries = 5

// readBack asks whether a change is there: once, and again for a while where the
// BMC said with 202 that it is still at it. The task it names is not waited for:
// some stay pending until a reset.
func (c *Client) readBack(ctx context.Context, a *answer, there func() (bool, error)) (bool, error) {
	for try := 1; ; try++ {
		ok, err := there()
		if ok || err != nil || a == nil || a.status != http.StatusAccepted || try == readBackTries {
			return ok, err
		}
		if err := pause(ctx, c.cfg.Poll); err != nil {
			return false, err
		}
	}
}

// actAfterPOST waits while the BMC refuses because the host is in POST, as iLO
// does; a refused request had no effect.
func (c *Client) actAfterPOST(ctx context.Context, request call) (*answer, error) {
	for waited := time.Duration(0); ; waited += c.cfg.Poll {
		a, err := c.t.act(ctx, request)
		if !said(err, inPOST) || waited >= c.cfg.PowerWait {
			return a, err
		}
		if pause(ctx, c.cfg.Poll) != nil {
			return a, err
		}
	}
}

// strongTag drops what transfer added to a tag: W/ before it, -gzip at its end.
func strongTag(etag string) string {
	etag = strings.TrimPrefix(etag, "W/")
	return strings.Replace(etag, `-gzip"`, `"`, 1)
}

// refusedSilently finds a refusal inside a success.
func (c *Client) refusedSilently(a *answer, err error, uri link) error {
	if err != nil {
		return err
	}
	for _, m := range messages(a.body) {
		e := c.t.statusError(http.MethodPatch, string(uri), a.status, m)
		if e.is(notTaken) {
			return fmt.Errorf("answered %d, but: %w", a.status, e)
		}
	}
	return nil
}

// object decodes a body into a plain map with exact numbers.
func object(body []byte) map[string]any {
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.UseNumber()
	var out map[string]any
	if dec.Decode(&out) != nil {
		return nil
	}
	return out
}
