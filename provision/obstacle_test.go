package provision

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rackproof/rackproof/redfish"
)

// obstructedBMC has something in the way.
type obstructedBMC struct {
	*fakeBMC
	found []redfish.Obstacle
	ends  time.Time // of what is in the way; zero: never
}

func (o obstructedBMC) Preflight(context.Context) ([]redfish.Obstacle, error) {
	if !o.ends.IsZero() && time.Now().After(o.ends) {
		return nil, nil
	}
	return o.found, nil
}

// TestJobOfTheBMC: one that runs is given time to end, and stops the run where it does
// not, before anything is changed.
func TestJobOfTheBMC(t *testing.T) {
	running := redfish.Obstacle{Kind: redfish.RunningJob, What: "JID_2 Firmware Update is Running", Do: "wait until it has ended", Stops: []string{"bios", "boot", "firmware"}}
	for _, test := range []struct {
		name  string
		after time.Duration
		iommu string
		stuck bool
		waits bool
	}{
		{"it ends", time.Minute, "Enabled", false, true},
		{"it does not", 24 * time.Hour, "Enabled", true, true},
		{"nothing is to be changed", 24 * time.Hour, "Disabled", false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			f := obstructedBMC{newFakeBMC(), []redfish.Obstacle{running}, start.Add(test.after)}
			f.attrs["IOMMU"] = test.iommu
			e, _ := stepEnv(t, f.fakeBMC, Machine{Boot: Boot{Method: BootNone}})
			e.open.bmc = func(context.Context, Machine) (BMC, error) { return f, nil }
			_, err := preflight{}.Done(t.Context(), e)
			stuck, ok := errors.AsType[*Stuck](err)
			if ok != test.stuck || !ok && err != nil || len(f.acts) != 0 {
				t.Errorf("%s: %v, acts %v", test.name, err, f.acts)
			}
			if e.Facts[FactCarried] != "" {
				t.Errorf("%s: what was planned stands as done: %v", test.name, e.Facts)
			}
			if ok && (!strings.Contains(stuck.Why, "JID_2") || stuck.Do != running.Do) {
				t.Errorf("%s: %v", test.name, stuck)
			}
			if waited := time.Since(start); (waited > 0) != test.waits || waited > jobPatience+time.Minute {
				t.Errorf("%s: waited %s", test.name, waited)
			}
		})
	}
}

// TestLockdownIsFoundFirst: a lockdown stops a run that would change something, before
// it has, and no other; what else is in the way is told.
func TestLockdownIsFoundFirst(t *testing.T) {
	lockdown := redfish.Obstacle{Kind: redfish.LockedDown, What: "System Lockdown is on", Do: "switch it off", Stops: []string{"bios"}}
	waiting := redfish.Obstacle{Kind: redfish.PendingJob, What: "JID_1 is Scheduled", Do: "a reset runs it", Stops: []string{"bios"}}
	other := redfish.Obstacle{Kind: redfish.PendingJob, What: "JID_3 is Scheduled", Do: "a reset runs it"}
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
		{"a job waits that keeps the BIOS", waiting, "Enabled", nil, true},
		{"one that does not", other, "Enabled", nil, false},
	} {
		f := obstructedBMC{newFakeBMC(), []redfish.Obstacle{test.found}, time.Time{}}
		f.attrs["IOMMU"] = test.iommu
		e, _ := stepEnv(t, f.fakeBMC, Machine{Boot: Boot{Method: BootNone}})
		e.open.bmc = func(context.Context, Machine) (BMC, error) { return f, nil }
		e.Steps = test.steps
		_, err := preflight{}.Done(t.Context(), e)
		var stuck *Stuck
		if errors.As(err, &stuck) != test.stuck || len(f.acts) != 0 {
			t.Errorf("%s: %v, acts %v", test.name, err, f.acts)
		}
		if test.stuck && (!strings.Contains(stuck.Why, "bios") || stuck.Do != test.found.Do) {
			t.Errorf("%s: %v", test.name, stuck)
		}
		p := MachinePlan{}
		e.Machine.Serial = f.id.SystemSerial
		if err := p.fill(t.Context(), e, Qualify()); (err != nil) != test.stuck || len(p.Obstacles) != 1 {
			t.Errorf("%s: planned with %v, %v", test.name, p.Obstacles, err)
		}
	}
}
