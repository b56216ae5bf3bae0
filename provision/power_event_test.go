package provision

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/redfish"
)

// A power event stops what is under load in its rack, and what comes to its load later,
// until a person resumes; who is at fault already stays so.
func TestPowerEventStopsItsRack(t *testing.T) {
	s := newStory(t, "m1", "m2", "m3")
	s.add("m1", 1, StepEnded, StepDone{})
	s.events[len(s.events)-1].Step = "one"
	s.add("m2", 1, GotStuck, Stuck{Why: "host and BMC went silent under test", Next: "rackproof retest m2"})
	s.add("m1", 1, PowerFailed, PowerEvent{Rack: "R1", What: "m2 and m1 went silent at once", Machines: []string{"m2", "m1"}})
	r := s.fold()
	for _, name := range []string{"m1", "m2"} {
		if m := r.Find(name); m.State != StateRun || !m.Stopped || m.Next != "rackproof resume job" || m.Why != "power event at rack R1: m2 and m1 went silent at once. Its loads are down; no machine is at fault" {
			t.Errorf("%s is %s, stopped %v, next %q: %s", name, m.State, m.Stopped, m.Next, m.Why)
		}
	}
	if m := r.Find("m3"); m.Stopped {
		t.Error("m3 was stopped before its load")
	}
	s.add("m3", 1, StepEnded, StepDone{})
	s.events[len(s.events)-1].Step = "one"
	if m := s.fold().Find("m3"); m.Step != "two" || !m.Stopped {
		t.Errorf("m3 at %s, stopped %v: its load starts though nobody has looked", m.Step, m.Stopped)
	}
	r = s.add("", 0, Resumed, nil).fold()
	for _, m := range r.Machines {
		if !m.Runnable() {
			t.Errorf("%s is not resumed: %s", m.Machine.Name, m.Why)
		}
	}
	if len(r.Power) != 1 || !r.Power[0].Over || r.Power[0].At.IsZero() {
		t.Errorf("events %+v", r.Power)
	}
}

func TestSilentTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s silences
		for _, c := range []struct {
			after time.Duration
			m     Machine
			want  string
		}{
			{0, machine("a", "R1", 0), ""},
			{time.Minute, machine("a", "R1", 0), ""}, // the same one
			{0, machine("b", "R2", 0), ""},
			{time.Minute, machine("c", "R1", 0), "a"},
			{silentTogether + time.Second, machine("d", "R1", 0), ""},
			{0, machine("e", "", 0), ""}, // nobody knows their racks
			{0, machine("f", "", 0), ""},
		} {
			<-time.After(c.after)
			if got, err := s.add(c.m); err != nil || got != c.want {
				t.Errorf("%s: silent with %q, want %q (%v)", c.m.Name, got, c.want, err)
			}
		}
	})
}

// A silence that an earlier process of the run saw counts with one that this one sees.
func TestSilenceOutlivesTheProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "silences.json")
	for _, c := range []struct{ name, want string }{{"a", ""}, {"a", ""}, {"b", "a"}} {
		if got, err := openSilences(file).add(machine(c.name, "R1", 0)); err != nil || got != c.want {
			t.Errorf("%s: silent with %q, want %q (%v)", c.name, got, c.want, err)
		}
	}
	if err := os.WriteFile(file, []byte(`{"R1":{"mach`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := openSilences(file).add(machine("c", "R1", 0)); err != nil || got != "" {
		t.Errorf("from a cut file: %q, %v", got, err)
	}
}

// The second machine of a rack that goes silent with its BMC makes a power event of it, and
// is not STUCK.
func TestTwoSilentMachinesAreAPowerEvent(t *testing.T) {
	shared := &silences{}
	for i, name := range []string{"a", "b"} {
		f := newFakeBMC()
		e, rec := stepEnv(t, f, Machine{BMC: "127.0.0.1:1"})
		e.Machine.Name, e.Machine.Rack, e.silences = name, "R1", shared
		e.open.bmc = func(context.Context, Machine) (BMC, error) { return f, errors.New("refused") }
		err := e.lost(t.Context(), silent(), nil)
		if i == 0 {
			if _, stuck := errors.AsType[*Stuck](err); !stuck || len(rec.kinds) != 0 {
				t.Errorf("the first: %v, recorded %v", err, rec.kinds)
			}
			continue
		}
		aside, ok := errors.AsType[*Aside](err)
		if !ok || !strings.Contains(aside.Why, "a and b went silent at once") || len(rec.kinds) != 1 || rec.kinds[0] != PowerFailed {
			t.Errorf("the second: %v, recorded %v", err, rec.kinds)
		}
	}
}

func TestSupplyWatch(t *testing.T) {
	set := func(health string) redfish.Sensor {
		return redfish.Sensor{Name: "PowerSupply Redundancy Group 1", Kind: redfish.Discrete, Context: "PowerSupply", Health: health, Source: "/Power#/Redundancy/0"}
	}
	air := func(name string, at float64, critical *float64) redfish.Sensor {
		return redfish.Sensor{Name: name, Kind: redfish.Temperature, Reading: &at, Thresholds: redfish.Thresholds{UpperCritical: critical}}
	}
	limit := 42.0
	p, err := profiles.Open().Profile("hgx-h100-8")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		readings [][]redfish.Sensor
		want     string
	}{
		{"lost", [][]redfish.Sensor{{set("OK")}, {set("Critical")}, {set("Critical")}}, "its power supplies lost their redundancy"},
		{"one reading", [][]redfish.Sensor{{set("OK")}, {set("Critical")}, {set("OK")}, {set("Critical")}}, ""},
		{"lost from the beginning", [][]redfish.Sensor{{set("Critical")}, {set("Critical")}, {set("Critical")}}, ""},
		{"no word", [][]redfish.Sensor{{set("OK")}, {}, {set("")}, {}}, ""},
		{"hot air", [][]redfish.Sensor{{air("Inlet Temp", 43, &limit)}, {air("Inlet Temp", 44, &limit)}}, "Inlet Temp is 44 C, and its BMC's limit is 42 C"},
		{"the coolest counts", [][]redfish.Sensor{{air("Inlet Temp", 30, &limit), air("Ambient 2", 60, &limit)}, {air("Inlet Temp", 30, &limit), air("Ambient 2", 60, &limit)}}, ""},
		{"not of the air", [][]redfish.Sensor{{air("PSU1 Inlet", 60, &limit), air("CPU1 Temp", 90, &limit)}, {air("PSU1 Inlet", 60, &limit)}}, ""},
		{"no limit is no event", [][]redfish.Sensor{{air("Inlet Temp", 25, nil)}, {air("Inlet Temp", 25, nil)}}, ""},
	} {
		var w supplyWatch
		for _, r := range c.readings {
			w.see(r, p)
		}
		if got := w.failed(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if got := w.failed(); got != "" {
			t.Errorf("%s: said twice: %q", c.name, got)
		}
	}
}
