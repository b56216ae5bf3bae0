package redfish

import (
	"context"
	"slices"
	"strings"
)

// POSTDone tells whether the firmware has handed over to a boot loader or an
// operating system. known is false where the BMC does not say; then only the
// host itself can tell. Right after a reset the BMC may still show the end of the
// boot before.
func (c *Client) POSTDone(ctx context.Context) (done, known bool, err error) {
	host, err := c.host(ctx)
	if err != nil {
		return false, false, err
	}
	done, known = c.postDone(host)
	return done, known, nil
}

func (c *Client) postDone(host systemDoc) (done, known bool) {
	if host.power() == Off {
		return false, true
	}
	switch host.Progress.value.LastState {
	case "", "None", "OEM":
		return c.behaviour.postDone(host)
	case "OSBootStarted", "OSRunning":
		return true, true
	}
	done, _ = c.behaviour.postDone(host) // a vendor may mean more by a word than it says
	return done, true
}

// BootProgress is how far the start of a host is, as its BMC tells.
type BootProgress struct {
	State string `json:"state"`          // LastState of Redfish's BootProgress, such as MemoryInitializationStarted; "" = not told
	OEM   string `json:"oem,omitempty"`  // its OemLastState, or the vendor's own word
	Time  string `json:"time,omitempty"` // LastStateTime, by the BMC's clock
	Code  string `json:"post_code"`      // last POST code, in hex; "" = not told
}

// String is the progress in words; "" where the BMC tells nothing.
func (p BootProgress) String() string {
	words := []string{p.State, p.OEM}
	if p.Code != "" {
		words = append(words, "POST code "+p.Code)
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), ", ")
}

// BootProgress reads it. A POST code that could not be read is left out.
func (c *Client) BootProgress(ctx context.Context) (BootProgress, error) {
	host, err := c.host(ctx)
	if err != nil {
		return BootProgress{}, err
	}
	told := host.Progress.value
	p := BootProgress{State: told.LastState.clean(), OEM: firstOf(told.OEM.clean(), c.behaviour.postWord(host)), Time: string(told.LastTime)}
	if p.Code, err = c.behaviour.postCode(ctx, c, host); err != nil {
		c.cfg.Log.DebugContext(ctx, "POST code not read", "bmc", c.cfg.Addr, "err", err)
		p.Code = ""
	}
	return p, ctx.Err()
}

func (base) postCode(context.Context, *Client, systemDoc) (string, error) { return "", nil }

func (base) postWord(systemDoc) string { return "" }
