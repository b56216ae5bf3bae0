package redfish_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish/redfishtest"
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

// TestPOSTOfOneVendor: at SystemHardwareInitializationComplete a host is in POST, except
// on machines that stay there.
func TestPOSTOfOneVendor(t *testing.T) {
	tree := machineTree()
	tree[aSystem] = []byte(strings.Replace(string(tree[aSystem]), "OSRunning", "SystemHardwareInitializationComplete", 1))
	if done, known, err := open(t, serve(t, redfishtest.Options{Tree: tree})).POSTDone(t.Context()); done || !known || err != nil {
		t.Errorf("of no known vendor: %v, %v, %v; want it in POST", done, known, err)
	}
	c, _ := start(t, "supermicro")
	if done, known, err := c.POSTDone(t.Context()); !done || !known || err != nil {
		t.Errorf("SYS-821GE: %v, %v, %v; want it done", done, known, err)
	}
}
