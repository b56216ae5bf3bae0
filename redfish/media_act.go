package redfish

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// mediaTries bounds how often an accepted insert or eject is looked for: the BMC
// fetches from the image before it shows it.
const mediaTries = 10

// insert tries the forms of a request until the image shows, in this drive or in
// another: an R670 (iDRAC10) put it into "Remote File Share 2".
func (c *Client) insert(ctx context.Context, s MediaSlot, image string) (MediaSlot, error) {
	var last error
	for _, body := range insertBodies(s.Style, image) {
		a, sent := c.sendMedia(ctx, s, insertTarget, body)
		if isOwn(sent) {
			return s, sent
		}
		var in MediaSlot
		there, err := c.mediaShows(ctx, a, sent, func(all []MediaSlot) bool {
			for _, m := range all {
				if m.Holds(image) {
					in = m
				}
			}
			return in.URI != ""
		})
		switch {
		case err != nil:
			return s, fmt.Errorf("read it back: %w", errors.Join(sent, err))
		case there:
			return in, nil
		case sent == nil:
			return s, errors.New("accepted, but no virtual drive shows it")
		}
		if last = sent; !said(sent, notTaken) {
			break
		}
	}
	return s, last
}

// insertBodies are the forms to try, the least first: iLO4 refuses Inserted
// (community.general #4595), a SYS-821GE asks for the image alone, others for the
// protocol too. XCC has no action and wants a PATCH with Inserted.
func insertBodies(style, image string) []map[string]any {
	least := map[string]any{"Image": image}
	full := map[string]any{"Image": image, "Inserted": true, "WriteProtected": true}
	if style == stylePatch {
		return []map[string]any{{"Image": image, "Inserted": true}, least}
	}
	return []map[string]any{least, full, {"Image": image, "TransferProtocolType": "HTTP", "TransferMethod": "Stream"}}
}

// EjectMedia takes whatever is in a drive out of it and reads it back. An empty
// drive is success.
func (c *Client) EjectMedia(ctx context.Context, s MediaSlot) error {
	var now mediaDoc
	if _, err := c.get(ctx, link(s.URI), &now); err != nil {
		return err
	}
	if !now.used() {
		return nil // a BMC calls it an error to eject nothing
	}
	var last error
	for _, body := range ejectBodies(now) {
		a, sent := c.sendMedia(ctx, s, ejectTarget, body)
		if isOwn(sent) {
			return fmt.Errorf("BMC %s: eject slot %s: %w", c.cfg.Addr, s.ID, sent)
		}
		empty, err := c.mediaShows(ctx, a, sent, func(all []MediaSlot) bool {
			for _, m := range all {
				if m.URI == s.URI || m.ID == s.ID {
					return !m.Inserted
				}
			}
			return true // the drive went with its image
		})
		switch {
		case err != nil:
			return fmt.Errorf("BMC %s: eject slot %s: read it back: %w", c.cfg.Addr, s.ID, errors.Join(sent, err))
		case empty:
			return nil
		}
		if last = cmpError(sent, errors.New("accepted, but the image is still in it")); !said(sent, notTaken) {
			break
		}
	}
	return fmt.Errorf("BMC %s: eject slot %s: %w; eject it in the BMC's web page", c.cfg.Addr, s.ID, last)
}

func ejectBodies(d mediaDoc) []map[string]any {
	if d.Actions.value.Eject.value.Target != "" {
		return []map[string]any{{}}
	}
	return []map[string]any{{"Image": nil, "Inserted": false}, {"Image": nil}, {"Inserted": false}}
}

func insertTarget(d mediaDoc) text { return d.Actions.value.Insert.value.Target }
func ejectTarget(d mediaDoc) text  { return d.Actions.value.Eject.value.Target }

// sendMedia sends by the action that the drive offers now, else as a PATCH: a
// SYS-821GE has no eject before something is inserted.
func (c *Client) sendMedia(ctx context.Context, s MediaSlot, target func(mediaDoc) text, body map[string]any) (*answer, error) {
	var now mediaDoc
	if _, err := c.get(ctx, link(s.URI), &now); err != nil {
		return nil, err
	}
	if to := target(now); to != "" {
		return c.actAfterPOST(ctx, call{method: http.MethodPost, uri: string(to), body: body})
	}
	return c.patchAnswer(ctx, link(s.URI), string(now.ETag), body)
}

// mediaShows looks at the drives until they are as wanted: once after a refusal,
// else for a while, which is longer where the BMC made a task of it or its answer
// was lost.
func (c *Client) mediaShows(ctx context.Context, a *answer, sent error, want func([]MediaSlot) bool) (bool, error) {
	limit := mediaTries * c.cfg.Poll
	if uncertain(sent) || a != nil && a.status == http.StatusAccepted {
		limit = c.cfg.PowerWait
	}
	for waited := time.Duration(0); ; waited += c.cfg.Poll {
		all, err := c.Media(ctx)
		if err == nil && want(all) {
			return true, nil
		}
		if waited >= limit || sent != nil && !uncertain(sent) {
			return false, err
		}
		if sent == nil {
			if job := jobOf(a); job != "" {
				if _, err := c.jobDone(ctx, job); errors.Is(err, ErrJobFailed) {
					return false, err
				}
			}
		}
		if err := pause(ctx, c.cfg.Poll); err != nil {
			return false, err
		}
	}
}

// offeredMedia lists the drives, after the BMC was asked to offer some where it
// hides them behind a setting of its own.
func (c *Client) offeredMedia(ctx context.Context) ([]MediaSlot, error) {
	slots, err := c.Media(ctx)
	if !errors.Is(err, ErrUnsupported) {
		return slots, err
	}
	offered, asking := c.behaviour.offerMedia(ctx, c)
	if asking != nil {
		return nil, errors.Join(err, asking)
	}
	if !offered {
		return nil, err
	}
	for try := 1; ; try++ {
		slots, err := c.Media(ctx)
		if err == nil || try == mediaTries {
			return slots, err
		}
		if err := pause(ctx, c.cfg.Poll); err != nil {
			return nil, err
		}
	}
}
