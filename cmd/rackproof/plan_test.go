package main

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/provision"
)

// TestPlanSummary counts what the plan would change.
func TestPlanSummary(t *testing.T) {
	plans := []provision.MachinePlan{
		{Changes: []provision.Change{{Step: "firmware", What: "BMC"}, {Step: "firmware", What: "BIOS"}, {Step: "firmware", What: "reset", Want: "1"}, {Step: "boot", What: "boots"}}},
		{Problem: "no answer"},
	}
	if s := planSummary(plans); !strings.HasPrefix(s, "2 machines: 1 resets, 0 disks erased, 2 firmware changed, 1 cannot be planned") {
		t.Error(s)
	}
}
