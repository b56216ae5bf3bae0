package redfish_test

import (
	"testing"
	"time"
)

// TestBootProgressOfCapturedTrees: what each captured machine tells of its start.
func TestBootProgressOfCapturedTrees(t *testing.T) {
	for tree, want := range map[string]string{
		"dell":          "POST code 7e",
		"hpe":           "FinishedPost",
		"lenovo":        "BootingOSOrInUndetectedOS",
		"nvidia_viking": "",
		"supermicro":    "SystemHardwareInitializationComplete, POST code ad",
	} {
		t.Run(tree, func(t *testing.T) {
			c, _ := start(t, tree)
			got, err := c.BootProgress(within(t, time.Minute))
			if err != nil || got.String() != want {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		})
	}
}
