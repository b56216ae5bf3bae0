package provision

import (
	"fmt"
	"slices"
	"testing"
)

func stuckIn(n int, rack, why string) []MachineRun {
	var out []MachineRun
	for i := range n {
		name := fmt.Sprintf("%su%02d", rack, i)
		bmc := fmt.Sprintf("10.0.%d.%d", len(rack), i)
		out = append(out, MachineRun{
			Machine: Machine{Name: name, Rack: rack, BMC: bmc}, State: StateStuck, Step: "bios", Why: name + ": " + why + " at " + bmc,
		})
	}
	return out
}

func TestCauses(t *testing.T) {
	everywhere := Run{Machines: append(stuckIn(18, "r1", "no attribute IOMMU"), stuckIn(18, "r2", "no attribute IOMMU")...)}
	fault := MachineRun{Machine: Machine{Name: "x", Rack: "r2"}, State: StateFailed, Faulted: true, Facts: Facts{FactFault: "no memory"}}
	mixed := Run{Machines: slices.Concat(
		[]MachineRun{{Machine: Machine{Name: "ok", Rack: "r2"}, State: StatePassed, Why: "34 checks"}, fault, {Machine: Machine{Name: "run"}, State: StateRun, Why: "waits"}},
		stuckIn(3, "r1", "silent"), stuckIn(2, "r3", "refused"))}
	var asked Run
	for i := range 3 {
		asked.Machines = append(asked.Machines, MachineRun{Machine: Machine{Name: fmt.Sprint("m", i)}, State: StateHands, Step: "hands", Why: "plug the cables"})
	}
	for _, test := range []struct {
		run  Run
		sel  Selector
		want []string
	}{
		{everywhere, Selector{}, []string{"36 of 36 STUCK in bios the same way: no attribute IOMMU at (every machine: firmware, profile or network, not hands)"}},
		{mixed, Selector{}, []string{
			"3 of 8 STUCK in bios the same way: silent at (all in rack r1: look at what they share)",
			"2 of 8 STUCK in bios the same way: refused at",
			"1 of 8 FAILED: no memory",
		}},
		{asked, Selector{}, []string{"3 of 3 HANDS in hands the same way: plug the cables"}},
		{mixed, Selector{Racks: []string{"r2"}}, []string{"1 of 2 FAILED: no memory"}},
	} {
		var got []string
		for _, c := range test.run.Causes(test.sel) {
			got = append(got, c.String())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("got  %q\nwant %q", got, test.want)
		}
	}
}

func TestStepTimes(t *testing.T) {
	r := Run{Plan: Plan{Steps: []PlanStep{{Name: "bios"}, {Name: "boot"}, {Name: "report"}}}}
	for i, s := range []float64{240, 250, 720} {
		m := MachineRun{Machine: Machine{Name: fmt.Sprint("m", i)}, Steps: []StepDone{{Step: "bios", Seconds: s}}}
		if i == 0 {
			m.Steps = append(m.Steps, StepDone{Step: "boot", Seconds: 90})
		}
		r.Machines = append(r.Machines, m)
	}
	var got []string
	for _, s := range r.StepTimes(Selector{}) {
		got = append(got, s.String())
	}
	if want := []string{"bios 4 min 10 s, longest 12 min 0 s (m2)", "boot 1 min 30 s"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
