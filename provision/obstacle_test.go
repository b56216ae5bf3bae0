package provision

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/redfish"
)

// obstructedBMC has something in the way.
type obstructedBMC struct {
	*fakeBMC
	found []redfish.Obstacle
}

func (o obstructedBMC) Preflight(context.Context) ([]redfish.Obstacle, error) { return o.found, nil }

// TestLockdownIsFoundFirst: a lockdown stops a run that would change something, before
// it has, and no other; what else is in the way is told.
func TestLockdownIsFoundFirst(t *testing.T) {
	lockdown := redfish.Obstacle{Kind: redfish.LockedDown, What: "System Lockdown is on", Do: "switch it off", Stops: []string{"bios"}}
	waiting := redfish.Obstacle{Kind: redfish.PendingJob, What: "JID_1 is Scheduled", Do: "a reset runs it", Stops: []string{"bios"}}
	for _, test := range []struct {
		name  string
		found redfish.Obstacle
		iommu string
		steps []StepDone
		stuck bool
	}{
		{"locked, settings differ", lockdown, "Enabled", nil, true},
		{"locked, settings are as wanted", lockdown, "Disabled", nil, false},
		{"locked after the settings were made", lockdown, "Enabled", []StepDone{{Step: "bios"}}, false},
		{"a job waits", waiting, "Enabled", nil, false},
	} {
		f := obstructedBMC{newFakeBMC(), []redfish.Obstacle{test.found}}
		f.attrs["IOMMU"] = test.iommu
		e, _ := stepEnv(t, f.fakeBMC, Machine{Boot: Boot{Method: BootNone}})
		e.open.bmc = func(context.Context, Machine) (BMC, error) { return f, nil }
		e.Steps = test.steps
		_, err := preflight{}.Done(t.Context(), e)
		var stuck *Stuck
		if errors.As(err, &stuck) != test.stuck || len(f.acts) != 0 {
			t.Errorf("%s: %v, acts %v", test.name, err, f.acts)
		}
		if test.stuck && (!strings.Contains(stuck.Why, "bios") || stuck.Do != lockdown.Do) {
			t.Errorf("%s: %v", test.name, stuck)
		}
		p := MachinePlan{}
		e.Machine.Serial = f.id.SystemSerial
		if err := p.fill(t.Context(), e, Qualify()); (err != nil) != test.stuck || len(p.Obstacles) != 1 {
			t.Errorf("%s: planned with %v, %v", test.name, p.Obstacles, err)
		}
	}
}
