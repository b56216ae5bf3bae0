package redfish

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// acWait is for how long a machine may be away after its power was cut: its BMC starts
// too.
const acWait = 15 * time.Minute

// acReset is one way to cut the power.
type acReset struct {
	target string
	kind   string // ResetType
}

// ACOffered is nil where the BMC offers a reset by which ACCycle can cut the power, and
// wraps ErrUnsupported where it offers none. It changes nothing: ask before an AC
// cycle is begun, so that none is begun that cannot be done.
func (c *Client) ACOffered(ctx context.Context) error {
	host, err := c.host(ctx)
	if err != nil {
		return err
	}
	_, err = c.acReset(ctx, host)
	return err
}

// ACCycle takes the power away from the whole machine and gives it back, as pulling the
// cords does, where the BMC offers that: FullPowerCycle, else the vendor's own. The host
// is switched off before. It is sent once, and again only where the BMC refused it for a
// host that is off. It is seen by a BMC that was away afterwards, a new reset time, or a
// host that was off and came on; what the host does then is its BIOS' setting. It wraps
// ErrUnsupported where the BMC has no such reset.
func (c *Client) ACCycle(ctx context.Context) error {
	host, err := c.host(ctx)
	if err != nil {
		return err
	}
	reset, err := c.acReset(ctx, host)
	if err != nil {
		return err
	}
	before, sent, err := c.cut(ctx, PowerOff, reset)
	if s := statusOf(sent); err == nil && (s == http.StatusBadRequest || s == http.StatusConflict) {
		before, sent, err = c.cut(ctx, PowerOn, reset) // some cut the power of a host that is on alone
	}
	if err != nil {
		return fmt.Errorf("before the AC cycle: %w", err)
	}
	if sent != nil && !uncertain(sent) {
		return fmt.Errorf("BMC %s: AC cycle: %w; pull the cords", c.cfg.Addr, sent)
	}
	err = c.awaitCut(ctx, before)
	if err != nil && sent != nil {
		return fmt.Errorf("%w (%w)", err, sent)
	}
	return err
}

// cut sends the reset to a host that was brought to a state, and gives what the host
// showed just before: switching it may move its reset time. With err nothing was sent; sent
// is the answer.
func (c *Client) cut(ctx context.Context, state PowerAction, reset acReset) (before systemDoc, sent, err error) {
	if err := c.SetPower(ctx, state); err != nil {
		return before, nil, err
	}
	if before, err = c.host(ctx); err != nil {
		return before, nil, err
	}
	return before, c.sendReset(ctx, reset), nil
}

func (c *Client) acReset(ctx context.Context, host systemDoc) (acReset, error) {
	allowed, err := c.resets(ctx, host)
	if err != nil && !errors.Is(err, ErrUnsupported) {
		return acReset{}, err
	}
	const full = "FullPowerCycle"
	if slices.Contains(allowed, full) {
		return acReset{string(host.Actions.value.Reset.value.Target), full}, nil
	}
	reset, err := c.behaviour.acReset(ctx, c)
	if err == nil && reset.target == "" {
		err = fmt.Errorf("BMC %s: %w: no reset that takes the power away; pull the cords", c.cfg.Addr, ErrUnsupported)
	}
	return reset, err
}

// offers gives a reset of an action where it is among the allowed ones.
func (d actionDoc) offers(kind string) acReset {
	if d.Target == "" || !slices.Contains(d.Allowed, kind) {
		return acReset{}
	}
	return acReset{string(d.Target), kind}
}

func (c *Client) sendReset(ctx context.Context, r acReset) error {
	_, err := c.t.act(ctx, call{method: http.MethodPost, uri: r.target, body: map[string]string{"ResetType": r.kind}})
	return err
}

// awaitCut waits until the machine shows that its power was cut since it showed before.
func (c *Client) awaitCut(ctx context.Context, before systemDoc) error {
	limit, cancel := context.WithTimeout(ctx, acWait)
	defer cancel()
	away := false
	for {
		host, err := c.host(limit)
		switch {
		case err == nil && (away || host.wasCut(before)):
			return nil
		case errors.Is(err, ErrAuth) || errors.Is(err, ErrPinMismatch):
			return err
		case isLost(err) && !isHop(err):
			away = true
		}
		if pause(limit, c.cfg.Poll) != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("BMC %s: %w", c.cfg.Addr, context.Cause(ctx))
			}
			return fmt.Errorf("BMC %s: AC cycle: for %s nothing shows that the power was cut; look at the machine, then pull the cords", c.cfg.Addr, acWait)
		}
	}
}

// wasCut: a host that is on shows it only where it was off before.
func (d systemDoc) wasCut(before systemDoc) bool {
	was, is := before.LastReset.clean(), d.LastReset.clean()
	return was != "" && is != "" && is != was || before.power() == Off && d.power() == On
}
