package redfish

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// PowerState is the state of the host, as Redfish words it.
type PowerState string

// PowerUnknown stands for a state that the BMC does not report.
const (
	On           PowerState = "On"
	Off          PowerState = "Off"
	PoweringOn   PowerState = "PoweringOn"
	PoweringOff  PowerState = "PoweringOff"
	PowerUnknown PowerState = "Unknown"
)

// PowerAction is what SetPower is asked to bring about.
type PowerAction string

// PowerOff asks the operating system once, then forces; Restart does not ask.
const (
	PowerOn  PowerAction = "on"
	PowerOff PowerAction = "off"
	ForceOff PowerAction = "force-off"
	Restart  PowerAction = "restart"
)

// Power reads the state of the host.
func (c *Client) Power(ctx context.Context) (PowerState, error) {
	host, err := c.host(ctx)
	if err != nil {
		return PowerUnknown, err
	}
	return host.power(), nil
}

func (d systemDoc) power() PowerState {
	p := PowerState(d.Power)
	if slices.Contains([]PowerState{On, Off, PoweringOn, PoweringOff}, p) {
		return p
	}
	return PowerUnknown
}

// LastResetTime is when the host was last reset, as the BMC writes it; "" where
// it does not say. It is the marker by which a reset shows that it happened.
func (c *Client) LastResetTime(ctx context.Context) (string, error) {
	host, err := c.host(ctx)
	return host.LastReset.clean(), err
}

// rung is one reset of a ladder, and how the host shows that it worked.
type rung struct {
	reset string
	wait  time.Duration
}

// SetPower brings the host to a state, or restarts it, and reads back until it is
// there. It tries the allowed resets in order, each at most once: already being
// there is success, an answer that was lost is asked about and never acted on
// again.
func (c *Client) SetPower(ctx context.Context, action PowerAction) error {
	host, err := c.host(ctx)
	if err != nil {
		return err
	}
	allowed, err := c.resets(ctx, host)
	if err != nil {
		return err
	}
	w := c.cfg.PowerWait
	switch action {
	case PowerOn:
		return c.climb(ctx, host, allowed, On, []rung{{"On", w}, {"ForceOn", w}, {"PushPowerButton", w}})
	case PowerOff:
		return c.climb(ctx, host, allowed, Off, []rung{{"GracefulShutdown", c.cfg.GracefulWait}, {"ForceOff", w}})
	case ForceOff:
		return c.climb(ctx, host, allowed, Off, []rung{{"ForceOff", w}})
	case Restart:
		return c.restart(ctx, host, allowed)
	}
	return fmt.Errorf("power action %q: %w: use on, off, force-off or restart", action, ErrBadValue)
}

// restart prefers one reset where LastResetTime will prove it. Elsewhere nothing
// tells a host that was reset from one that was not, so it is taken off and on:
// both can be read back.
func (c *Client) restart(ctx context.Context, host systemDoc, allowed []string) error {
	on := []rung{{"On", c.cfg.PowerWait}, {"ForceOn", c.cfg.PowerWait}, {"PushPowerButton", c.cfg.PowerWait}}
	if host.power() == Off {
		return c.climb(ctx, host, allowed, On, on)
	}
	before := host.LastReset.clean()
	if before != "" {
		for _, reset := range []string{"ForceRestart", "PowerCycle"} {
			if !slices.Contains(allowed, reset) {
				continue
			}
			err := c.reset(ctx, host, reset)
			if isOwn(err) {
				return err
			}
			happened := func(d systemDoc) bool { return d.LastReset.clean() != before && d.power() == On }
			late := c.await(ctx, c.cfg.PowerWait, happened)
			if late == nil || ctx.Err() != nil {
				return late
			}
			if err == nil || uncertain(err) { // no other reset behind one that may be under way
				return fmt.Errorf("BMC %s: %s was sent, and after %s LastResetTime still reads %s: %w; look at the console before trying again",
					c.cfg.Addr, reset, c.cfg.PowerWait, before, late)
			}
		}
	}
	if err := c.climb(ctx, host, allowed, Off, []rung{{"ForceOff", c.cfg.PowerWait}}); err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	host, err := c.host(ctx)
	if err != nil {
		return err
	}
	return c.climb(ctx, host, allowed, On, on)
}

// climb takes the rungs that are allowed, one after the other, until the host is
// in the wanted state.
func (c *Client) climb(ctx context.Context, host systemDoc, allowed []string, want PowerState, ladder []rung) error {
	there := func(d systemDoc) bool { return d.power() == want }
	if there(host) || host.movingTo(want) && c.await(ctx, c.cfg.PowerWait, there) == nil {
		return nil
	}
	var last error
	tried := 0
	for _, r := range ladder {
		// PushPowerButton toggles: it is for hosts that know no other word.
		if !slices.Contains(allowed, r.reset) || r.reset == "PushPowerButton" && tried > 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("BMC %s: %w", c.cfg.Addr, context.Cause(ctx))
		}
		tried++
		sent := c.reset(ctx, host, r.reset)
		if isOwn(sent) {
			return sent
		}
		wait := r.wait
		if sent != nil && !uncertain(sent) { // refused often means "already", and the state shown then may be old
			wait = min(wait, 2*c.cfg.Poll)
		}
		late := c.await(ctx, wait, there)
		if late == nil {
			return nil
		}
		last = fmt.Errorf("%s: %w", r.reset, errors.Join(sent, late))
	}
	if tried == 0 {
		return fmt.Errorf("BMC %s: %w: none of its resets %v brings the host %s", c.cfg.Addr, ErrUnsupported, allowed, want)
	}
	return fmt.Errorf("BMC %s: host is not %s: %w; look at the console, then use the power button", c.cfg.Addr, want, last)
}

// movingTo reports that the host is on its way to a state already, perhaps by our
// own hand before we were interrupted.
func (d systemDoc) movingTo(want PowerState) bool {
	return d.power() == PoweringOn && want == On || d.power() == PoweringOff && want == Off
}

// resets lists the allowed reset types, from either place where BMCs put them.
func (c *Client) resets(ctx context.Context, host systemDoc) ([]string, error) {
	act := host.Actions.value.Reset
	if !act.ok || act.value.Target == "" {
		return nil, fmt.Errorf("BMC %s: %w: system %s has no reset action", c.cfg.Addr, ErrUnsupported, c.system.id())
	}
	allowed := slices.Clone(act.value.Allowed)
	if act.value.Info != "" {
		var info struct {
			Parameters list[struct {
				Name    text  `json:"Name"`
				Allowed words `json:"AllowableValues"`
			}] `json:"Parameters"`
		}
		if _, err := c.get(ctx, act.value.Info, &info); err != nil && len(allowed) == 0 {
			return nil, fmt.Errorf("find the allowed resets: %w", err)
		}
		for _, p := range info.Parameters {
			if p.Name == "ResetType" {
				allowed = append(allowed, p.Allowed...)
			}
		}
	}
	if len(allowed) == 0 {
		// Nothing listed is not nothing allowed; these two are in every version
		// of the schema.
		allowed = []string{"On", "ForceOff"}
	}
	return allowed, nil
}

// reset sends one reset. The answer may be a task; its outcome shows in what is
// read back, so it is not waited for here.
func (c *Client) reset(ctx context.Context, host systemDoc, kind string) error {
	_, err := c.t.act(ctx, call{
		method: http.MethodPost, uri: string(host.Actions.value.Reset.value.Target),
		body: map[string]string{"ResetType": kind},
	})
	return err
}

// await polls the host until it is as wanted. A read that fails is read again: a
// BMC is often silent just when its host changes state. The last look begins when the
// time is over: a slow BMC must not make a host look stuck.
func (c *Client) await(ctx context.Context, limit time.Duration, there func(systemDoc) bool) error {
	deadline, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	seen := "not readable"
	for {
		look, over := deadline, deadline.Err() != nil
		if over {
			look = ctx
		}
		host, err := c.host(look)
		if err == nil {
			if there(host) {
				return nil
			}
			seen = fmt.Sprintf("PowerState %s", host.power())
		}
		if errors.Is(err, ErrAuth) || errors.Is(err, ErrPinMismatch) {
			return err
		}
		if over || c.Pause(deadline, c.cfg.Poll) != nil && ctx.Err() != nil {
			break
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("BMC %s: %w", c.cfg.Addr, context.Cause(ctx))
	}
	return fmt.Errorf("after %s the host is still %s", limit, seen)
}
