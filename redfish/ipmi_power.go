package redfish

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	cmdChassisStatus   = 0x01
	cmdChassisControl  = 0x02
	cmdChassisIdentify = 0x04

	controlOff  = 0x00
	controlOn   = 0x01
	controlSoft = 0x05 // by the power button's way: the operating system decides
)

// Power reads the state of the host. IPMI knows on and off only.
func (c *IPMI) Power(ctx context.Context) (PowerState, error) {
	b, err := c.chassis(ctx)
	if err != nil {
		return PowerUnknown, err
	}
	if b[0]&0x01 != 0 {
		return On, nil
	}
	return Off, nil
}

// chassis reads the three bytes of the chassis status, or four.
func (c *IPMI) chassis(ctx context.Context) ([]byte, error) {
	b, err := c.command(ctx, ipmiCommand{name: "Get Chassis Status", netFn: netFnChassis, cmd: cmdChassisStatus})
	if err == nil && len(b) < 3 {
		err = fmt.Errorf("BMC %s: Get Chassis Status: only %d bytes", c.cfg.Addr, len(b))
	}
	return b, err
}

// LastResetTime is "": IPMI keeps none. Who restarts a host takes it off and on
// again, and both can be read back.
func (c *IPMI) LastResetTime(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("BMC %s: %w", c.cfg.Addr, context.Cause(ctx))
	}
	return "", nil
}

// POSTDone knows nothing of a host that is on: IPMI does not tell.
func (c *IPMI) POSTDone(ctx context.Context) (done, known bool, err error) {
	state, err := c.Power(ctx)
	return false, err == nil && state == Off, err
}

// SetPower brings the host to a state, or restarts it, and reads back until it is
// there, as Client.SetPower does: being there is success, each command goes out once,
// and a lost answer is asked about and never acted on again. A restart is off and
// then on, because nothing in IPMI would tell that a reset had happened.
func (c *IPMI) SetPower(ctx context.Context, action PowerAction) error {
	soft := ipmiRung{"soft shutdown", controlSoft, c.cfg.GracefulWait}
	off := ipmiRung{"power off", controlOff, c.cfg.PowerWait}
	on := ipmiRung{"power on", controlOn, c.cfg.PowerWait}
	switch action {
	case PowerOn:
		return c.climb(ctx, On, on)
	case PowerOff:
		return c.climb(ctx, Off, soft, off)
	case ForceOff:
		return c.climb(ctx, Off, off)
	case Restart:
		if err := c.climb(ctx, Off, off); err != nil {
			return fmt.Errorf("restart: %w", err)
		}
		return c.climb(ctx, On, on)
	}
	return fmt.Errorf("power action %q: %w: use on, off, force-off or restart", action, ErrBadValue)
}

// ipmiRung is one command of a ladder, and how long the host may take to follow.
type ipmiRung struct {
	name    string
	control byte
	wait    time.Duration
}

// climb takes one rung after the other until the host is in the wanted state.
func (c *IPMI) climb(ctx context.Context, want PowerState, ladder ...ipmiRung) error {
	state, err := c.Power(ctx)
	if err != nil || state == want {
		return err
	}
	var last error
	for _, r := range ladder {
		if ctx.Err() != nil {
			return fmt.Errorf("BMC %s: %w", c.cfg.Addr, context.Cause(ctx))
		}
		_, sent := c.command(ctx, ipmiCommand{name: "Chassis Control: " + r.name, netFn: netFnChassis, cmd: cmdChassisControl, data: []byte{r.control}, once: true})
		if sent != nil && !isLost(sent) && codeOf(sent) == 0 {
			return sent
		}
		if codeOf(sent) == codePrivilege {
			return fmt.Errorf("%w; the user needs privilege operator for power", sent)
		}
		wait := r.wait
		if codeOf(sent) != 0 { // refused often means "already", and the state shown then may be old
			wait = min(wait, 2*c.cfg.Poll)
		}
		late := c.await(ctx, wait, want)
		if late == nil {
			return nil
		}
		last = fmt.Errorf("%s: %w", r.name, errors.Join(sent, late))
	}
	return fmt.Errorf("BMC %s: host is not %s: %w; look at the console, then use the power button", c.cfg.Addr, want, last)
}

// await polls the host until it is in a state. A read that fails is read again, and the
// last look begins when the time is over.
func (c *IPMI) await(ctx context.Context, limit time.Duration, want PowerState) error {
	deadline, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	seen := "not readable"
	for {
		look, over := deadline, deadline.Err() != nil
		if over {
			look = ctx
		}
		state, err := c.Power(look)
		switch {
		case err == nil && state == want:
			return nil
		case err == nil:
			seen = string(state)
		case errors.Is(err, ErrAuth):
			return err
		}
		if over || pause(deadline, c.cfg.Poll) != nil && ctx.Err() != nil {
			break
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("BMC %s: %w", c.cfg.Addr, context.Cause(ctx))
	}
	return fmt.Errorf("after %s the host is still %s", limit, seen)
}

// Locator reads whether the chassis shows itself. It wraps ErrUnsupported where the
// BMC switches the light and does not tell.
func (c *IPMI) Locator(ctx context.Context) (bool, error) {
	b, err := c.chassis(ctx)
	if err != nil {
		return false, err
	}
	const told, lit = 0x40, 0x30 // for a time, or until it is switched off
	if b[2]&told == 0 {
		return false, fmt.Errorf("BMC %s: %w: whether the locator LED is on; it can be switched", c.cfg.Addr, ErrUnsupported)
	}
	return b[2]&lit != 0, nil
}

// SetLocator switches the light, and reads it back where the BMC tells.
func (c *IPMI) SetLocator(ctx context.Context, on bool) error {
	data := []byte{0, 0}
	if on {
		data[1] = 1 // until it is switched off
	}
	_, err := c.command(ctx, ipmiCommand{name: "Chassis Identify", netFn: netFnChassis, cmd: cmdChassisIdentify, data: data})
	if code := codeOf(err); code == codeLength || code == codeTooLong || code == codeField { // IPMI 1.5 has no such byte
		data = []byte{0}
		if on {
			data[0] = 0xff
			c.cfg.Log.WarnContext(ctx, "locator LED goes off by itself after 255 s", "bmc", c.cfg.Addr)
		}
		_, err = c.command(ctx, ipmiCommand{name: "Chassis Identify", netFn: netFnChassis, cmd: cmdChassisIdentify, data: data})
	}
	if notOffered(err) {
		return fmt.Errorf("BMC %s: %w: no locator LED (%w)", c.cfg.Addr, ErrUnsupported, err)
	}
	if err != nil {
		return err
	}
	lit, err := c.Locator(ctx)
	switch {
	case errors.Is(err, ErrUnsupported):
		return nil
	case err != nil:
		return fmt.Errorf("read the locator LED back: %w", err)
	case lit != on:
		return fmt.Errorf("BMC %s: locator LED: accepted, but nothing changed", c.cfg.Addr)
	}
	return nil
}
