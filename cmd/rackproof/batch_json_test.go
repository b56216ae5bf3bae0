package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/rackproof/rackproof/burnin/report"
	"github.com/rackproof/rackproof/provision"
)

// A script reads of one object why the machines of a batch stand, and where its time went.
func TestBatchJSONTellsCausesOfSteps(t *testing.T) {
	run := &provision.Run{ID: "job", Batch: &provision.Batch{Name: "job"}, Plan: provision.Plan{Steps: []provision.PlanStep{{Name: "bios"}}}}
	for _, name := range []string{"m1", "m2", "m3"} {
		run.Machines = append(run.Machines, provision.MachineRun{
			Machine: provision.Machine{Name: name, Rack: "R1"}, State: provision.StateStuck, Step: "bios", Why: name + ": the BMC refuses the settings",
			Steps: []provision.StepDone{{Step: "bios", Seconds: 90}},
		})
	}
	var out bytes.Buffer
	if err := batchJSON(&out, judgementsIn(t.TempDir(), run), run, provision.Selector{}); err != nil {
		t.Fatal(err)
	}
	text := out.Bytes()
	var got struct {
		Schema     string `json:"schema"`
		Machines   []any  `json:"machines"`
		Causes     []any  `json:"causes"`
		StepCauses []struct {
			State, Step, Where string
			Machines           []string
			Of                 int
		} `json:"step_causes"`
		StepTimes []struct {
			Step   string
			Median float64 `json:"median_seconds"`
		} `json:"step_times"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != report.BatchSchema || len(got.Machines) != 3 || got.Causes == nil || len(got.StepCauses) != 1 || len(got.StepTimes) != 1 {
		t.Fatalf("%s", text)
	}
	c := got.StepCauses[0]
	if c.State != "STUCK" || c.Step != "bios" || len(c.Machines) != 3 || c.Of != 3 || c.Where != "every machine: firmware, profile or network, not hands" {
		t.Errorf("%+v", c)
	}
	if got.StepTimes[0].Step != "bios" || got.StepTimes[0].Median != 90 {
		t.Errorf("%+v", got.StepTimes[0])
	}
}
