package redfish

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// DiscardBIOS takes back the BIOS values that wait for a reset, and the job that
// would set them. It is read back.
func (c *Client) DiscardBIOS(ctx context.Context) error {
	place, err := c.biosPlace(ctx)
	if err != nil || len(place.bios.Pending) == 0 {
		return err
	}
	var sent error
	if _, waits := place.bios.Pending[secureBootAttribute]; waits {
		delete(place.bios.Pending, secureBootAttribute)
		now := place.bios.Attributes[secureBootAttribute]
		_, sent = c.patchAnswer(ctx, place.secure.uri, place.secure.etag, map[string]any{"SecureBootEnable": now})
	}
	if len(place.bios.Pending) > 0 && !isOwn(sent) {
		sent = errors.Join(sent, c.behaviour.discard(ctx, c, place))
	}
	if isOwn(sent) {
		return sent
	}
	after, err := c.biosPlace(ctx)
	if err != nil {
		return fmt.Errorf("read the pending BIOS values back: %w", errors.Join(sent, err))
	}
	n := 0
	for name, value := range after.bios.Pending {
		if !equalValue(after.bios.Attributes[name], value) {
			n++
		}
	}
	if n > 0 {
		return fmt.Errorf("BMC %s: %d BIOS values still wait for a reset: %w", c.cfg.Addr, n,
			cmpError(sent, errors.New("accepted, and nothing changed; take them back on its own page")))
	}
	return nil
}

// deleteJob removes a job that waits. One that is gone already is deleted.
func (c *Client) deleteJob(ctx context.Context, job string) error {
	_, err := c.t.act(ctx, call{method: http.MethodDelete, uri: job})
	if s := statusOf(err); s == http.StatusNotFound || s == http.StatusGone {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete job %s: %w", link(job).id(), err)
	}
	return nil
}
