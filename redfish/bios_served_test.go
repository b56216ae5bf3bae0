package redfish_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// changing counts the requests that could change something.
func changing(bmc *redfishtest.BMC) int {
	n := 0
	for request, times := range bmc.Requests() {
		if !strings.HasPrefix(request, "GET ") && !strings.Contains(request, "/Sessions") {
			n += times
		}
	}
	return n
}

// TestBIOSOnEveryServedMachine: what cannot be set is refused before the first PATCH
// with what could be; a good set takes one restart and is verified; the same set
// again sends nothing that changes anything.
func TestBIOSOnEveryServedMachine(t *testing.T) {
	for tree, c := range map[string]struct {
		integer, bounds string // an attribute with bounds, and how they are told
		beyond          int
		readOnly        string // "" where the machine has none that is shown
		readOnlyValue   string
		word, words     string // an enumeration, and its values
		good            map[string]any
	}{
		"dell": {
			integer: "AcPwrRcvryUserDelay", bounds: "whole numbers from 120 to 600", beyond: 601, readOnly: "SystemModelName", readOnlyValue: "x",
			word: "LogicalProc", words: "Enabled, Disabled", good: map[string]any{"LogicalProc": "Disabled", "AcPwrRcvryUserDelay": "130"},
		},
		"hpe": {
			integer: "NetworkBootRetryCount", bounds: "whole numbers from 0 to 20", beyond: 21, readOnly: "SecureBootStatus", readOnlyValue: "Enabled",
			word: "ProcSMT", words: "Enabled, Disabled", good: map[string]any{"ProcSMT": "Disabled", "NetworkBootRetryCount": 3},
		},
		"lenovo": {
			integer: "NetworkStackSettings_PXEbootwaittime", bounds: "whole numbers from 0 to 5", beyond: 6,
			readOnly: "SecureBootConfiguration_SecureBootStatus", readOnlyValue: "Enabled",
			word: "Processors_HyperThreading", words: "Enabled, Disabled",
			good: map[string]any{"Processors_HyperThreading": "Disabled", "NetworkStackSettings_PXEbootwaittime": "2"},
		},
		"supermicro": {
			integer: "PXEBootWaitTime", bounds: "whole numbers from 0 to 5", beyond: 6,
			word: "Hyper_Threading_ALL_", words: "Enable, Disable", good: map[string]any{"Hyper_Threading_ALL_": "Disable", "PXEBootWaitTime": "2", "QuietBoot": "false"},
		},
		"nvidia_viking": {
			integer: "PxeBootWaitTime", bounds: "whole numbers from 0 to 5", beyond: 6,
			word: "ProcessorHyperThreadingDisable", words: "Enabled, Disabled",
			good: map[string]any{"ProcessorHyperThreadingDisable": "Disabled", "PxeBootWaitTime": "2"},
		},
	} {
		t.Run(tree, func(t *testing.T) {
			client, bmc := start(t, tree)
			ctx := within(t, time.Minute)
			refused := func(wish map[string]any, parts ...string) {
				t.Helper()
				_, err := client.PlanBIOS(ctx, wish)
				if !errors.Is(err, redfish.ErrBadValue) {
					t.Errorf("%v: %v, want ErrBadValue", wish, err)
					return
				}
				for _, part := range parts {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%v: the error lacks %q: %v", wish, part, err)
					}
				}
			}
			refused(map[string]any{c.integer: "soon"}, "allowed are "+c.bounds)
			refused(map[string]any{c.integer: c.beyond}, "allowed are "+c.bounds)
			refused(map[string]any{c.word: "Sideways"}, "allowed are "+c.words)
			refused(map[string]any{c.word + "x": "Enabled"}, "not on this machine; nearest are ")
			if c.readOnly != "" {
				refused(map[string]any{c.readOnly: c.readOnlyValue}, "it is read-only", "stays ")
			}
			if n := changing(bmc); n != 0 {
				t.Errorf("%d requests that change something before anything was allowed", n)
			}

			changes, err := client.PlanBIOS(ctx, c.good)
			if err != nil || len(changes) != len(c.good) || redfish.Rounds(changes) != 1 {
				t.Fatalf("plan %+v, %v", changes, err)
			}
			boots := bmc.State().Boots
			if left := oneRound(ctx, t, client, bmc, c.good, changes); len(left) != 0 {
				t.Errorf("left %+v", left)
			}
			if n := bmc.State().Boots - boots; n != 1 {
				t.Errorf("%d boots, want one", n)
			}
			if left, err := client.VerifyBIOS(ctx, c.good); err != nil || len(left) != 0 {
				t.Errorf("verified: %v, %v", left, err)
			}
			before := changing(bmc)
			again, err := client.PlanBIOS(ctx, c.good)
			if err != nil || len(again) != 0 {
				t.Errorf("again: %v, %v", again, err)
			}
			if job, err := client.StageBIOS(ctx, again); err != nil || job != "" {
				t.Errorf("staging nothing: %q, %v", job, err)
			}
			if n := changing(bmc) - before; n != 0 {
				t.Errorf("the same set again sent %d requests that change something: %v", n, slices.Sorted(maps.Keys(bmc.Requests())))
			}
		})
	}
}
