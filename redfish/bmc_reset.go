package redfish

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// Sick reports an error of the kind that a BMC causes which should be restarted: it does not
// answer, answers 5xx, or has no free session. A way that ends before the BMC tells nothing
// of it, and neither does an answer that the BMC means.
func Sick(err error) bool {
	switch {
	case err == nil, isHop(err), errors.Is(err, ErrAuth), errors.Is(err, ErrPinMismatch), errors.Is(err, ErrUnsupported):
		return false
	case errors.Is(err, ErrUnreachable), errors.Is(err, ErrSessionLimit):
		return true
	}
	status := statusOf(err)
	return status >= http.StatusInternalServerError && status != http.StatusNotImplemented
}

type resettable struct {
	Type    text `json:"ManagerType"`
	Actions maybe[struct {
		Reset maybe[struct {
			Target  text  `json:"target"`
			Allowed words `json:"ResetType@Redfish.AllowableValues"`
		}] `json:"#Manager.Reset"`
	}] `json:"Actions"`
}

func (m resettable) target() string { return string(m.Actions.value.Reset.value.Target) }

// ResetBMC restarts the BMC itself by Redfish, once; the host goes on. It logs in anew and
// reads as little as there is to it, because it is for BMCs of which much does not answer.
// sent says that the BMC may have taken it, whatever err says. It wraps ErrUnsupported where
// not exactly one BMC can be restarted.
func ResetBMC(ctx context.Context, cfg Config) (sent bool, err error) {
	cfg = cfg.withDefaults()
	c, err := newClient(cfg)
	if err != nil {
		return false, err
	}
	defer func() {
		if closing := c.Close(); closing != nil { // the session went with the BMC
			cfg.Log.DebugContext(ctx, "log out", "bmc", cfg.Addr, "err", closing)
		}
	}()
	if _, err := c.readRoot(ctx); err != nil {
		return false, err
	}
	if err := c.t.session.open(ctx); err != nil {
		return false, err
	}
	m, err := c.ownManager(ctx)
	if err != nil {
		return false, err
	}
	kind := "GracefulRestart" // what every schema has
	if slices.Contains(m.Actions.value.Reset.value.Allowed, "ForceRestart") {
		kind = "ForceRestart"
	}
	_, err = c.t.act(ctx, call{method: http.MethodPost, uri: m.target(), body: map[string]string{"ResetType": kind}})
	if err != nil && !uncertain(err) {
		return false, fmt.Errorf("BMC %s: reset of the BMC: %w", cfg.Addr, err)
	}
	return true, err
}

// ownManager is the one BMC that can be restarted: not that of a baseboard beside it.
func (c *Client) ownManager(ctx context.Context) (*resettable, error) {
	uris, err := c.members(ctx, serviceRoot+"Managers")
	if err != nil {
		return nil, err
	}
	var unread gaps
	can := slices.DeleteFunc(each[resettable](ctx, c, uris, &unread), func(m *resettable) bool { return m == nil || m.target() == "" })
	if len(can) > 1 {
		can = slices.DeleteFunc(can, func(m *resettable) bool { return m.Type.clean() != "BMC" })
	}
	if len(can) != 1 {
		return nil, fmt.Errorf("BMC %s: %w: %d of %d managers can be restarted, so none was", c.cfg.Addr, ErrUnsupported, len(can), len(uris))
	}
	return can[0], nil
}

const cmdColdReset = 0x02

// ResetBMCByIPMI is ResetBMC by IPMI's Cold Reset.
func ResetBMCByIPMI(ctx context.Context, cfg Config) (sent bool, err error) {
	c, err := OpenIPMI(ctx, cfg)
	if err != nil {
		return false, err
	}
	defer func() { _ = c.Close() }()
	_, err = c.command(ctx, ipmiCommand{name: "Cold Reset", netFn: netFnApp, cmd: cmdColdReset, once: true})
	if err != nil && !isLost(err) {
		return false, fmt.Errorf("BMC %s: Cold Reset: %w", cfg.Addr, err)
	}
	return true, err
}
