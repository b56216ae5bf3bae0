package redfish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// StageBIOS writes the changes to the settings object, from where the next reset
// takes them, and returns the URI of the job that the BMC made of it, "" where it
// makes none. What already waits there is not sent again. The caller resets the
// host, then uses WaitJob and VerifyBIOS.
//
// All rounds go together, because one reset is enough where the BMC judges
// dependent values by each other. Where it judges them by those in force and
// refuses (iDRAC: SYS410, "read-only and depends on other attributes"), the first
// round goes alone: after the reset VerifyBIOS tells what is left.
func (c *Client) StageBIOS(ctx context.Context, changes []BIOSChange) (job string, err error) {
	if len(changes) == 0 {
		return "", nil
	}
	place, err := c.biosPlace(ctx)
	if err != nil {
		return "", err
	}
	changes, err = c.stageSecureBoot(ctx, place, changes)
	if err != nil || len(changes) == 0 {
		return "", err
	}
	if place.settings == "" {
		return "", fmt.Errorf("BMC %s: %w: its BIOS has no settings object", c.cfg.Addr, ErrUnsupported)
	}
	send := map[string]any{}
	for _, ch := range changes {
		if waiting, ok := place.bios.Pending[ch.Attribute]; !ok || !equalValue(waiting, ch.Want) {
			send[ch.Attribute] = ch.Want
		}
	}
	if len(send) > 0 {
		job, err = c.writeBIOS(ctx, place, send)
		first := slices.DeleteFunc(slices.Clone(changes), func(ch BIOSChange) bool { return ch.Round > 1 })
		if err != nil && len(first) > 0 && len(first) < len(changes) && ctx.Err() == nil {
			c.cfg.Log.InfoContext(ctx, "BIOS values that depend on others go in a round of their own", "bmc", c.cfg.Addr, "why", err)
			return c.StageBIOS(ctx, first)
		}
		if err != nil {
			return "", fmt.Errorf("stage BIOS values: %w", err)
		}
	}
	return c.behaviour.commit(ctx, c, place.settings, job)
}

func (c *Client) writeBIOS(ctx context.Context, place biosPlace, send map[string]any) (job string, err error) {
	body := map[string]any{"Attributes": send}
	if place.flat {
		body = maps.Clone(send)
	}
	// An apply time that was not declared is refused (bmclib #458).
	timed := slices.Contains(place.bios.ApplyTimes, "OnReset")
	if timed {
		body["@Redfish.SettingsApplyTime"] = map[string]string{"ApplyTime": "OnReset"}
	}
	a, sent := c.patchAnswer(ctx, place.settings, place.etag, body)
	if timed && saidMessage(sent, "PropertyUnknown") {
		delete(body, "@Redfish.SettingsApplyTime")
		a, sent = c.patchAnswer(ctx, place.settings, place.etag, body)
	}
	if isOwn(sent) {
		return "", sent
	}
	// What counts is what is there now, whatever the answer said.
	after, err := c.biosPlace(ctx)
	if err != nil {
		return "", fmt.Errorf("read them back: %w", errors.Join(sent, err))
	}
	if err := after.staged(send, sent); err != nil {
		return "", err
	}
	if a == nil || sent != nil {
		return "", nil
	}
	return jobOf(a), nil
}

// staged checks that what was sent waits or is in force already. Some BMCs list
// only what waits, some everything, one nothing at all.
func (p biosPlace) staged(send map[string]any, sent error) error {
	for _, name := range slices.Sorted(maps.Keys(send)) {
		listed, ok := p.listed[name]
		switch {
		case ok && !equalValue(listed, send[name]):
			return errors.Join(sent, fmt.Errorf("%s reads %v after %v was sent", name, listed, send[name]))
		case !ok && sent != nil && !equalValue(p.bios.Attributes[name], send[name]):
			return fmt.Errorf("%s is not pending: %w", name, sent)
		}
	}
	return nil
}
