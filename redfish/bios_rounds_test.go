package redfish_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// TestBIOSRounds: a setting that another one unlocks is set after it, in one reset
// where the BMC takes both, in two where it does not.
func TestBIOSRounds(t *testing.T) {
	for _, c := range []struct {
		tree, fault string
		intents     map[string]string
		first, then string // attributes of the rounds
		resets      int
	}{
		{tree: "dell", intents: map[string]string{"c-states": "on"}, first: "SysProfile", then: "ProcCStates", resets: 1},
		{tree: "dell", fault: "bios-rounds", intents: map[string]string{"c-states": "on"}, first: "SysProfile", then: "ProcCStates", resets: 2},
		{tree: "hpe", intents: map[string]string{"c-states": "off"}, first: "WorkloadProfile", then: "MinProcIdlePower", resets: 1},
		{tree: "hpe", fault: "bios-rounds", intents: map[string]string{"c-states": "off"}, first: "WorkloadProfile", then: "MinProcIdlePower", resets: 2},
		{tree: "hpe", fault: "bios-drops*1", intents: map[string]string{"c-states": "off"}, first: "WorkloadProfile", then: "MinProcIdlePower", resets: 2},
		{
			tree: "supermicro", intents: map[string]string{"performance": "max"},
			first: "PowerPerformanceTuning_3CE0", then: "ENERGY_PERF_BIAS_CFGMode_3CE1", resets: 1,
		},
	} {
		t.Run(c.tree+" "+c.fault, func(t *testing.T) {
			client, bmc := start(t, c.tree)
			if c.fault != "" {
				if err := bmc.SetFault(c.fault, true); err != nil {
					t.Fatal(err)
				}
			}
			ctx := within(t, time.Minute)
			attrs, unmapped, err := client.MapIntents(ctx, c.intents)
			if err != nil || len(unmapped) != 0 {
				t.Fatalf("intents: %v, %v", unmapped, err)
			}
			changes, err := client.PlanBIOS(ctx, attrs)
			if err != nil || len(changes) != 2 || changes[0].Attribute != c.first || changes[1].Attribute != c.then || redfish.Rounds(changes) != 2 {
				t.Fatalf("plan %+v, %v; want %s, then %s", changes, err, c.first, c.then)
			}
			resets := 0
			for ; len(changes) > 0 && resets < 3; resets++ {
				changes = oneRound(ctx, t, client, bmc, attrs, changes)
			}
			if len(changes) > 0 || resets != c.resets {
				t.Errorf("%d resets, left %v; want %d and nothing", resets, changes, c.resets)
			}
		})
	}
}

// oneRound stages, restarts and returns what differs behind it.
func oneRound(ctx context.Context, t *testing.T, c *redfish.Client, bmc *redfishtest.BMC, want map[string]any, changes []redfish.BIOSChange) []redfish.BIOSChange {
	t.Helper()
	job, err := c.StageBIOS(ctx, changes)
	if err != nil {
		t.Fatal(err)
	}
	boots := bmc.State().Boots
	if err := c.SetPower(ctx, redfish.Restart); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitJob(ctx, job); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for bmc.State().POST || bmc.State().Boots == boots {
		select {
		case <-ctx.Done():
			t.Fatal("the machine never booted")
		case <-tick.C:
		}
	}
	left, err := c.PlanBIOS(ctx, want)
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// TestWishesThatContradict: a profile that sets what another wish wants otherwise.
func TestWishesThatContradict(t *testing.T) {
	client, bmc := start(t, "dell")
	ctx := within(t, time.Minute)
	_, err := client.PlanBIOS(ctx, map[string]any{"SysProfile": "PerfPerWattOptimizedDapc", "ProcCStates": "Disabled"})
	if !errors.Is(err, redfish.ErrBadValue) || !strings.Contains(err.Error(), "contradicts another wish, which makes it Enabled") {
		t.Errorf("error %v", err)
	}
	attrs, unmapped, err := client.MapIntents(ctx, map[string]string{"performance": "max", "c-states": "on"})
	if err != nil || len(unmapped) != 1 || unmapped[0].Intent != "c-states" || !strings.Contains(unmapped[0].Why, "while SysProfile is PerfOptimized") {
		t.Errorf("%v, unmapped %+v, %v; want c-states refused by name of what locks it", attrs, unmapped, err)
	}
	if n := bmc.Acts()["bios.stage"]; n != 0 {
		t.Errorf("%d acts, want none", n)
	}
}
