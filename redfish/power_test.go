package redfish_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

func TestPowerLadder(t *testing.T) {
	for _, c := range []struct {
		name   string
		tree   string
		first  string // power state at the start
		faults []string
		action redfish.PowerAction
		want   redfish.PowerState
		acts   map[string]int
		fails  string // part of the error
	}{
		{name: "off asks the system", tree: "dell", action: redfish.PowerOff, want: redfish.Off, acts: map[string]int{"power.off": 1}},
		{name: "graceful never ends", tree: "dell", faults: []string{"graceful-stuck"}, action: redfish.PowerOff, want: redfish.Off, acts: map[string]int{"power.request": 1, "power.off": 1}},
		{name: "already on", tree: "supermicro", action: redfish.PowerOn, want: redfish.On, acts: map[string]int{}},
		{name: "on by ActionInfo", tree: "supermicro", first: "Off", action: redfish.PowerOn, want: redfish.On, acts: map[string]int{"power.on": 1}},
		{name: "shown state is old", tree: "dell", first: "Off", faults: []string{"stale-power"}, action: redfish.PowerOn, want: redfish.On, acts: map[string]int{"power.on": 1}},
		{name: "answer lost, effect kept", tree: "hpe", first: "Off", faults: []string{"lost-response=power.on*1"}, action: redfish.PowerOn, want: redfish.On, acts: map[string]int{"power.on": 1}},
		{name: "answer hangs, effect kept", tree: "hpe", faults: []string{"hang-after=power.off*1"}, action: redfish.ForceOff, want: redfish.Off, acts: map[string]int{"power.off": 1}},
		{name: "restart is proved by LastResetTime", tree: "nvidia_viking", action: redfish.Restart, want: redfish.On, acts: map[string]int{"power.reset": 1}},
		{name: "restart without LastResetTime", tree: "supermicro", action: redfish.Restart, want: redfish.On, acts: map[string]int{"power.off": 1, "power.on": 1}},
		{name: "restart of a host that is off", tree: "dell", first: "Off", action: redfish.Restart, want: redfish.On, acts: map[string]int{"power.on": 1}},
		{name: "restart, answer lost", tree: "dell", faults: []string{"lost-response=power.reset*1"}, action: redfish.Restart, want: redfish.On, acts: map[string]int{"power.reset": 1}},
		{name: "stuck", tree: "dell", faults: []string{"power-stuck"}, action: redfish.ForceOff, want: redfish.On, fails: "look at the console"},
		{name: "restart without effect", tree: "nvidia_viking", faults: []string{"lost-effect=power.reset"}, action: redfish.Restart, want: redfish.On, fails: "LastResetTime still reads"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bmc := serve(t, redfishtest.Options{Tree: captured(t, c.tree), PowerDelay: 20 * time.Millisecond, POSTDelay: 10 * time.Millisecond})
			cfg := config(bmc)
			switch {
			case c.fails != "":
				cfg.PowerWait = 200 * time.Millisecond
			case slices.Contains(c.faults, "graceful-stuck"):
				cfg.GracefulWait = 200 * time.Millisecond
			case slices.Contains(c.faults, "hang-after=power.off*1"):
				cfg.Timeout = time.Second
			}
			client, err := redfish.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			ctx := within(t, time.Minute)
			before := map[string]int{}
			if c.first == "Off" {
				if err := client.SetPower(ctx, redfish.ForceOff); err != nil {
					t.Fatal(err)
				}
				before = bmc.Acts()
			}
			for _, f := range c.faults {
				if err := bmc.SetFault(f, true); err != nil {
					t.Fatal(err)
				}
			}
			err = client.SetPower(ctx, c.action)
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("error %v, want %q", err, c.fails)
			}
			if state, err := client.Power(ctx); err != nil || state != c.want {
				t.Errorf("host is %s, %v; want %s", state, err, c.want)
			}
			after := bmc.Acts()
			for name := range after {
				if strings.HasPrefix(name, "power.") && c.fails == "" && after[name]-before[name] != c.acts[name] {
					t.Errorf("%s happened %d times, want %d", name, after[name]-before[name], c.acts[name])
				}
			}
			for name, n := range c.acts {
				if after[name]-before[name] != n {
					t.Errorf("%s happened %d times, want %d", name, after[name]-before[name], n)
				}
			}
		})
	}
}

func TestAlreadyThereSendsNothing(t *testing.T) {
	c, bmc := start(t, "supermicro")
	if err := c.SetPower(within(t, time.Minute), redfish.PowerOn); err != nil {
		t.Fatal(err)
	}
	for request, n := range bmc.Requests() {
		if strings.HasPrefix(request, "POST") && strings.Contains(request, "Reset") {
			t.Errorf("%d times %s for a host that was on", n, request)
		}
	}
}

func TestPowerNeedsAResetAction(t *testing.T) {
	tree := small()
	tree["/redfish/v1/Systems/a"] = []byte(smallSystem)
	bmc := serve(t, redfishtest.Options{Tree: tree})
	c := open(t, bmc)
	if err := bmc.Update("/redfish/v1/Systems/a", func(body map[string]any) { delete(body, "Actions") }); err != nil {
		t.Fatal(err)
	}
	if err := c.SetPower(t.Context(), redfish.PowerOn); !errors.Is(err, redfish.ErrUnsupported) {
		t.Errorf("no reset action: %v, want ErrUnsupported", err)
	}
	if err := c.SetPower(t.Context(), "sideways"); err == nil {
		t.Error("an unknown action is taken")
	}
}

func TestLocator(t *testing.T) {
	for _, tree := range []string{"dell", "hpe", "lenovo", "nvidia_viking", "supermicro"} {
		t.Run(tree, func(t *testing.T) {
			c, bmc := start(t, tree)
			ctx := within(t, time.Minute)
			for i, on := range []bool{true, true, false} {
				if err := c.SetLocator(ctx, on); err != nil {
					t.Fatal(err)
				}
				if got, err := c.Locator(ctx); err != nil || got != on || bmc.State().Locator != on {
					t.Errorf("step %d: locator %v (the machine's is %v), %v; want %v", i, got, bmc.State().Locator, err, on)
				}
			}
			if n := bmc.Acts()["locator.set"]; n != 2 {
				t.Errorf("%d acts, want 2: what is so already is not set", n)
			}
		})
	}
}

func TestLocatorReadsBack(t *testing.T) {
	c, _ := start(t, "hpe", "patch-ignored")
	if err := c.SetLocator(within(t, time.Minute), true); err == nil || !strings.Contains(err.Error(), "nothing changed") {
		t.Errorf("an ignored PATCH: %v, want an error", err)
	}
}

func TestPOSTDone(t *testing.T) {
	for tree, known := range map[string]bool{"dell": false, "hpe": true, "lenovo": true, "nvidia_viking": false, "supermicro": true} {
		c, _ := start(t, tree)
		ctx := within(t, time.Minute)
		done, got, err := c.POSTDone(ctx)
		if err != nil || got != known || done != known {
			t.Errorf("%s: done %v, known %v, %v; want known %v", tree, done, got, err, known)
		}
		if err := c.SetPower(ctx, redfish.ForceOff); err != nil {
			t.Fatal(err)
		}
		if done, got, err := c.POSTDone(ctx); err != nil || !got || done {
			t.Errorf("%s, off: done %v, known %v, %v; want known and not done", tree, done, got, err)
		}
	}
}
