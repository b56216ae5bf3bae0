package provision_test

import (
	"fmt"

	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision"
)

// A batch file is checked whole before anything is contacted.
func ExampleParseBatch() {
	_, err := provision.ParseBatch("rack12.yaml", []byte(`name: po4711
profile: hgx-h100-8
defaults: {bmc: {user: "command:echo admin", password: "command:pass show bmc"}}
machines:
  - {name: r12u07, bmc: 10.0.12.7, sreial: S498765X3}
  - {name: r12u15, bmc: 10.0.12.300}
`), profiles.Open())
	fmt.Println(err)
	// Output:
	// rack12.yaml:5:36: unknown key "sreial" in a machine, did you mean "serial"?
	// rack12.yaml:6:25: bmc "10.0.12.300": "10.0.12.300" is not an IPv4 address
}

// A run is what its events tell, for every engine alike.
func ExampleFold() {
	start, _ := provision.NewEvent("po4711", "", provision.Submitted, provision.Submission{
		Batch: &provision.Batch{Name: "po4711", Machines: []provision.Machine{{Name: "r12u07"}}},
		Plan:  provision.Plan{Steps: []provision.PlanStep{{Name: "preflight"}}},
	})
	stuck, _ := provision.NewEvent("po4711", "r12u07", provision.GotStuck, provision.Stuck{Why: "BMC 10.0.12.7 is silent"})
	stuck.Attempt, stuck.Step = 1, "preflight"
	run, err := provision.Fold([]provision.Event{start, stuck})
	fmt.Println(err, run.Machines[0].State, run.Machines[0].Why)
	fmt.Println(run.Summary(provision.Selector{}))
	// Output:
	// <nil> STUCK BMC 10.0.12.7 is silent
	// 1 machine: 1 need you (rackproof hands) · 0 s · exit 5
}
