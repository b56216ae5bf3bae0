package redfish_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// readings are verbs that only ask.
func readings() []verb {
	return []verb{
		{name: "boot progress", do: func(ctx context.Context, c *redfish.Client) error { _, err := c.BootProgress(ctx); return err }},
		{name: "boot plan", do: func(ctx context.Context, c *redfish.Client) error {
			_, err := c.PlanBoot(ctx, redfish.Boot{Target: "Pxe", MAC: "00:53:00:00:00:02"})
			return err
		}},
		{name: "network read", do: func(ctx context.Context, c *redfish.Client) error { _, err := c.Network(ctx); return err }},
		{name: "password rules", do: func(ctx context.Context, c *redfish.Client) error { _, err := c.PasswordRules(ctx); return err }},
		{name: "media read", do: func(ctx context.Context, c *redfish.Client) error { _, err := c.Media(ctx); return err }},
		{name: "update ways", do: func(ctx context.Context, c *redfish.Client) error { _, err := c.UpdateWays(ctx); return err }},
		{name: "diagnostics list", do: func(ctx context.Context, c *redfish.Client) error { _, err := c.Diagnostics(ctx); return err }},
		{name: "last reset", do: func(ctx context.Context, c *redfish.Client) error { _, err := c.LastResetTime(ctx); return err }},
		{name: "screen", do: func(ctx context.Context, c *redfish.Client) error { _, err := c.Screen(ctx); return err }},
		{name: "console", do: func(ctx context.Context, c *redfish.Client) error {
			bounded, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return c.Console(bounded, io.Discard)
		}},
		{name: "events", tree: func() redfishtest.Tree { return eventTree(streamsEvents) }, do: func(ctx context.Context, c *redfish.Client) (last error) {
			bounded, cancel := context.WithTimeout(ctx, 300*time.Millisecond) // a good stream does not end
			defer cancel()
			for _, err := range c.Events(bounded) {
				last = err
			}
			return last
		}},
	}
}

// doors are the verbs that begin before a login.
func doors() map[string]func(context.Context, redfish.Config) error {
	return map[string]func(context.Context, redfish.Config) error{
		"open": func(ctx context.Context, cfg redfish.Config) error {
			c, err := redfish.Open(ctx, cfg)
			if err != nil {
				return err
			}
			return c.Close()
		},
		"greet": func(ctx context.Context, cfg redfish.Config) error { _, err := redfish.Greet(ctx, cfg); return err },
		"first password": func(ctx context.Context, cfg redfish.Config) error {
			return redfish.ChangeFirstPassword(ctx, cfg, "Another-2026")
		},
	}
}

// TestEveryFaultOnLogin: each fault from the first request on, and from the login on: a
// clear error or success, within bounds; no session left, no password sent twice, and
// nothing done to the machine.
func TestEveryFaultOnLogin(t *testing.T) {
	for _, fault := range redfishtest.FaultNames() {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			spec := fault
			switch fault {
			case "slow":
				spec = "slow=5ms"
			case "not-ready": // each refusal asks for a second
				spec = "not-ready*4"
			case "reset-connection": // each
				spec = "reset-connection=1"
			}
			for name, door := range doors() {
				for _, from := range []int32{1, 2} { // an act has a connection of its own, and the first is the login
					doorUnderFault(t, spec, name, from, door)
				}
			}
		})
	}
}

func doorUnderFault(t *testing.T, fault, name string, from int32, door func(context.Context, redfish.Config) error) {
	t.Helper()
	bmc := serve(t, redfishtest.Options{Tree: machineTree()})
	cfg := config(bmc)
	cfg.Poll = time.Millisecond
	if strings.HasPrefix(fault, "hang") {
		cfg.Timeout = 500 * time.Millisecond
	}
	var dialled atomic.Int32
	cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dialled.Add(1) == from {
			if err := bmc.SetFault(fault, true); err != nil {
				return nil, err
			}
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := door(ctx, cfg)
	if ctx.Err() != nil {
		t.Errorf("%s: took longer than %s: %v", name, patience, err)
	}
	if err != nil && !strings.Contains(err.Error(), bmc.Addr()) {
		t.Errorf("%s: an error without its BMC: %v", name, err)
	}
	if fault == "auth-fails" && name == "open" && !errors.Is(err, redfish.ErrAuth) {
		t.Errorf("the fault was not met from connection %d: %v", from, err)
	}
	if err := bmc.SetFault(fault, false); err != nil {
		t.Fatal(err)
	}
	if n := bmc.OpenSessions(); n != 0 {
		t.Errorf("%s, from connection %d: %d sessions left; %v", name, from, n, err)
	}
	refusals := map[string]bool{"auth-fails": true, "lockout": true, "login-forbidden": true, "basic-refused": true}
	if n := bmc.Unauthorized(); refusals[fault] && n > 1 {
		t.Errorf("%s: %d refused logins; %v", name, n, err)
	}
	for act := range bmc.Acts() {
		if !strings.HasPrefix(act, "session.") && name != "first password" {
			t.Errorf("%s: %s", name, act)
		}
	}
}
