package provision

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rackproof/rackproof/redfish"
)

// What an earlier run of the batch found comes back, though this one changed nothing.
func TestRestoreBIOS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeBMC()
		f.attrs["IOMMU"] = "Disabled"
		e, _ := stepEnv(t, f, Machine{})
		e.Facts[FactBIOSFound] = `{"IOMMU":"Enabled"}`
		plan, err := restoreBIOS{}.Plan(t.Context(), e)
		if err != nil || len(plan) != 2 || plan[0] != (Change{Step: "restore-bios", What: "IOMMU", Now: "Disabled", Want: "Enabled"}) || plan[1].What != "reset" {
			t.Errorf("plan %v, %v", plan, err)
		}
		for range 2 { // the second time it is done
			if err := carryOut(t, restoreBIOS{}, e); err != nil {
				t.Fatal(err)
			}
		}
		if f.attrs["IOMMU"] != "Enabled" || f.acts["stage"] != 1 || f.acts["restart"] != 1 || e.Facts[FactHandover] != "BIOS as found" {
			t.Errorf("attributes %v, acts %v, %q", f.attrs, f.acts, e.Facts[FactHandover])
		}
	})
}

func TestRestoreBIOSWithNothingFound(t *testing.T) {
	f := newFakeBMC()
	e, _ := stepEnv(t, f, Machine{})
	if err := carryOut(t, restoreBIOS{}, e); err != nil || len(f.acts) != 0 || !strings.Contains(e.Facts[FactHandover], "changed nothing") {
		t.Errorf("%v, acts %v, %q", err, f.acts, e.Facts[FactHandover])
	}
}

func TestPowerAsFound(t *testing.T) {
	for _, test := range []struct {
		name        string
		facts       Facts
		now, want   redfish.PowerState
		acts        int
		says, plans string
	}{
		{"found off", Facts{FactPowerFound: "Off"}, redfish.On, redfish.Off, 1, "power Off, as found", "power-as-found: power On → Off"},
		{"found on", Facts{FactPowerFound: "On"}, redfish.Off, redfish.On, 1, "power On, as found", "power-as-found: power Off → On"},
		{"as it is", Facts{FactPowerFound: "On", FactHandover: "BIOS as found"}, redfish.On, redfish.On, 0, "BIOS as found; power On, as found", ""},
		{"nobody knows", Facts{FactPowerFound: "Unknown"}, redfish.On, redfish.On, 0, "left as it is", ""},
		{"in an image of an earlier run", Facts{FactPowerFound: "On", factImageLeft: "job"}, redfish.On, redfish.Off, 1, "powered off", "power-as-found: power On → Off"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeBMC()
				f.power = test.now
				e, _ := stepEnv(t, f, Machine{})
				e.Facts = test.facts
				plan, err := powerAsFound{}.Plan(t.Context(), e)
				if err != nil || (test.plans == "") != (len(plan) == 0) || len(plan) == 1 && plan[0].String() != test.plans {
					t.Errorf("plan %v, %v", plan, err)
				}
				for range 2 {
					if err := carryOut(t, powerAsFound{}, e); err != nil {
						t.Fatal(err)
					}
				}
				acts := f.acts[string(redfish.PowerOff)] + f.acts[string(redfish.PowerOn)]
				if f.power != test.want || acts != test.acts || !strings.Contains(e.Facts[FactHandover], test.says) {
					t.Errorf("power %s, %d acts, %q", f.power, acts, e.Facts[FactHandover])
				}
			})
		})
	}
}

func TestLeaveImage(t *testing.T) {
	for _, test := range []struct {
		name, boot, says string
		off              bool
	}{
		{"installed system", "disk", "in its installed system, as found", false},
		{"image of ours", "uefi-http", "powered off", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeBMC()
				f.attrs["IOMMU"] = "Disabled"
				e, _ := stepEnv(t, f, Machine{})
				e.Facts[FactBoot], e.Facts[FactBIOSFound] = test.boot, `{"IOMMU":"Enabled"}`
				if err := e.begin(); err != nil {
					t.Fatal(err)
				}
				if err := carryOut(t, leaveImage{}, e); err != nil {
					t.Fatal(err)
				}
				if (f.power == redfish.Off) != test.off || f.attrs["IOMMU"] != "Disabled" || !strings.Contains(e.Facts[FactHandover], test.says) {
					t.Errorf("power %s, attributes %v, %q", f.power, f.attrs, e.Facts[FactHandover])
				}
			})
		})
	}
}

// What a run put back is not put back again by the next, and another machine brings
// nothing with it.
func TestArrived(t *testing.T) {
	found := Facts{FactBIOSFound: `{"IOMMU":"Enabled"}`, FactPowerFound: "Off", FactBoot: "uefi-http", FactModel: "x"}
	run := Run{ID: "job", Machines: []MachineRun{
		{Machine: Machine{Name: "failed", Serial: "S1"}, Facts: found.Clone()},
		{Machine: Machine{Name: "back", Serial: "S2"}, Facts: found.Clone()},
		{Machine: Machine{Name: "other", Serial: "S3"}, Facts: found.Clone()},
		{Machine: Machine{Name: "gone", Serial: "S4"}, Facts: found.Clone()},
	}}
	run.Machines[1].Facts[factBIOSBack], run.Machines[1].Facts[factLeft] = "true", leftOff
	b := &Batch{Name: "job", Machines: []Machine{{Name: "failed", Serial: "S1"}, {Name: "back", Serial: "S2"}, {Name: "other", Serial: "S9"}}}
	got := run.Arrived(b)
	want := map[string]Facts{
		"failed": {FactBIOSFound: `{"IOMMU":"Enabled"}`, FactPowerFound: "Off", factImageLeft: "job"},
		"back":   {FactPowerFound: "Off"},
	}
	if !same(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	b.Arrived = got
	ev, err := NewEvent("job.2", "", Submitted, Submission{Batch: b, Plan: Qualify().Plan()})
	if err != nil {
		t.Fatal(err)
	}
	ev.At = time.Unix(0, 0)
	next, err := Fold([]Event{ev})
	if err != nil || next.Find("failed").Facts[FactBIOSFound] == "" || len(next.Find("other").Facts) != 0 {
		t.Errorf("%v, %+v", err, next.Machines)
	}
	was, _ := b.sum()
	b.Arrived = nil
	if now, _ := b.sum(); was != now {
		t.Error("what a machine was found with changes the plan file's sum of its batch")
	}
}

// Settings that the profile wants and the workflow does not set are not proven.
func TestBIOSThatIsNotSetIsInTheRecord(t *testing.T) {
	for _, test := range []struct {
		workflow string
		steps    []StepDone
		want     int
	}{
		{"qualify", nil, 0},
		{"qualify", []StepDone{{Step: "bios", LeftOut: "rack is \"R1\", not \"R2\""}}, 1},
		{"burnin", nil, 1},
		{"of a test", nil, 0},
	} {
		e, _ := stepEnv(t, newFakeBMC(), Machine{})
		e.Batch.Workflow, e.Steps = test.workflow, test.steps
		rec, err := e.record()
		if err != nil || len(rec.BIOS) != test.want || test.want == 1 && (rec.BIOS[0].Attribute != "iommu" || rec.BIOS[0].Wanted != "off") {
			t.Errorf("%s, %v: %v, %v", test.workflow, test.steps, rec.BIOS, err)
		}
		if len(rec.Steps) != 0 {
			t.Errorf("a step that was left out has a time: %v", rec.Steps)
		}
	}
}
