package provision

import (
	"errors"
	"strings"
	"testing"
)

// A step of a run that holds to a plan does what the plan says of this machine, values found
// and wanted, or leaves it alone and says what differs; the brake is not touched by that.
func TestStepHoldsToThePlan(t *testing.T) {
	wanted := Change{Step: "bios", What: "IOMMU", Now: "Enabled", Want: "Disabled"}
	reset := Change{Step: "bios", What: changeReset, Want: "1"}
	with := func(change func(*Change)) Change { c := wanted; change(&c); return c }
	for _, c := range []struct {
		name    string
		planned map[string][]Change
		begun   bool
		says    string
	}{
		{name: "no plan"},
		{name: "as planned", planned: map[string][]Change{"m1": {wanted, reset}}},
		{name: "more was planned", planned: map[string][]Change{"m1": {wanted, {Step: "bios", What: "SMT", Now: "On", Want: "Off"}}}},
		{name: "another value is there", planned: map[string][]Change{"m1": {with(func(c *Change) { c.Now = "Auto" })}}, says: "bios: IOMMU Enabled → Disabled; bios changed nothing"},
		{name: "another value is wanted", planned: map[string][]Change{"m1": {with(func(c *Change) { c.Want = "Auto" })}}, says: "not as planned"},
		{name: "of another step", planned: map[string][]Change{"m1": {with(func(c *Change) { c.Step = "secure-boot" })}}, says: "not as planned"},
		{name: "nothing planned", planned: map[string][]Change{"m1": {}}, says: "not as planned"},
		{name: "machine not planned", planned: map[string][]Change{"m2": {wanted}}, says: "this machine is not in the plan"},
		{name: "begun", planned: map[string][]Change{"m1": {}}, begun: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeBMC()
			e, rec := stepEnv(t, f, Machine{BMC: "10.0.0.1"})
			e.Batch.Planned, e.Batch.Source, e.Batch.Limits.Poll = c.planned, "po1.yaml", Duration(1e6)
			if c.begun {
				e.intents["bios settings"] = Intent{Act: "bios settings", Mark: `{"IOMMU":"Disabled"}`}
			}
			info, _ := Workflow{Steps: Steps()}.Find("bios")
			brake := NewBrake(map[string]int{e.Machine.model(): 10})
			err := doneDoDone(t.Context(), info, Task{}, e, brake)
			if c.says == "" {
				if err != nil || f.attrs["IOMMU"] != "Disabled" {
					t.Errorf("%v, BIOS %v", err, f.attrs)
				}
				return
			}
			var stuck *Stuck
			if !errors.As(err, &stuck) || !strings.Contains(stuck.Why, c.says) || !strings.Contains(stuck.Do, "rackproof plan -f po1.yaml -o new.plan") {
				t.Errorf("%v, want %q", err, c.says)
			}
			if len(f.acts) > 0 || len(rec.kinds) > 0 {
				t.Errorf("acts %v, recorded %v", f.acts, rec.kinds)
			}
			if w := brake.wave(e.Machine.model()); w.Failed != 0 || w.active != 0 || w.stopped != "" {
				t.Errorf("brake: %d failed, %d under way, %q", w.Failed, w.active, w.stopped)
			}
			if e.Facts[FactCarried] != "" {
				t.Error("asking for the plan changed the facts")
			}
		})
	}
}

// Every step that changes settings, firmware or disks holds to the plan.
func TestChangesHoldToThePlan(t *testing.T) {
	for _, info := range Steps() {
		_, destroys := info.Step.(destroyer)
		_, plans := info.Step.(Planner)
		if plans && (info.Canary || destroys) && !info.Planned && info.Step.Name() != (restoreBIOS{}).Name() {
			t.Errorf("%s changes a machine and holds to no plan", info.Step.Name())
		}
		if info.Planned && !plans {
			t.Errorf("%s holds to a plan and tells none", info.Step.Name())
		}
	}
}

// The plan goes with the run: another one replaces it, and the batch submitted without keeps it.
func TestPlanStaysWithTheRun(t *testing.T) {
	first, second := map[string][]Change{"m1": {}}, map[string][]Change{"m1": {{Step: "bios", What: "IOMMU"}}}
	s := newStory(t, "m1")
	r := s.fold()
	submit := func(planned map[string][]Change) int {
		b := *r.Batch
		b.Planned = planned
		events, err := Amend(r, Submission{Batch: &b, Plan: r.Plan})
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			if ev.Kind == Edited {
				s.add("", 0, Edited, Submission{Batch: &b, Plan: r.Plan})
			}
		}
		r = s.fold()
		return len(events)
	}
	for _, c := range []struct {
		planned, want map[string][]Change
		events        int
	}{{first, first, 2}, {nil, first, 1}, {first, first, 1}, {second, second, 2}} {
		if n := submit(c.planned); n != c.events || !same(r.Batch.Planned, c.want) {
			t.Errorf("submitted with %v: %d events, plan %v", c.planned, n, r.Batch.Planned)
		}
	}
	other := *r.Batch
	other.Planned = nil
	x, errX := r.Batch.sum()
	y, errY := other.sum()
	if x != y || errX != nil || errY != nil {
		t.Error("the plan of a run makes another batch of it")
	}
}
