package provision

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rackproof/rackproof/redfish"
)

func onPDUs(name string, watts float64, pdus ...string) Machine {
	m := machine(name, "R1", watts)
	m.PDUs = pdus
	return m
}

// With one of its PDUs lost, a machine hangs on the others alone: that much must be free
// on each.
func TestPowerOfPDUs(t *testing.T) {
	pair := map[string]PDU{"A1": {KW: 21}, "B1": {KW: 21}}
	for _, test := range []struct {
		name     string
		racks    map[string]Rack
		pdus     map[string]PDU
		machines []Machine
		want     string
	}{
		{"a pair carries what one of them carries", nil, pair, []Machine{onPDUs("a", 10000, "A1", "B1"), onPDUs("a", 10000, "A1", "B1"), onPDUs("a", 10000, "A1", "B1")}, "a a"},
		{"the weaker of a pair counts", nil, map[string]PDU{"A1": {KW: 21}, "B1": {KW: 11}}, []Machine{onPDUs("a", 10000, "A1", "B1"), onPDUs("b", 10000, "A1", "B1")}, "a"},
		{"of three, two carry it", nil, map[string]PDU{"A": {KW: 10}, "B": {KW: 10}, "C": {KW: 10}}, []Machine{onPDUs("a", 10000, "A", "B", "C"), onPDUs("a", 10000, "A", "B", "C"), onPDUs("a", 10000, "A", "B", "C")}, "a a"},
		{"one feed without another", nil, pair, []Machine{onPDUs("a", 10000, "A1"), onPDUs("b", 10000, "B1"), onPDUs("a", 10000, "A1"), onPDUs("a", 10000, "A1")}, "a a b"},
		{"the rack counts too", map[string]Rack{"R1": {KW: 15}}, pair, []Machine{onPDUs("a", 10000, "A1", "B1"), onPDUs("b", 10000, "A1", "B1")}, "a"},
		{"an unknown draw is alone", nil, pair, []Machine{onPDUs("a", 0, "A1", "B1"), onPDUs("b", 800, "A1", "B1"), onPDUs("c", 0, "A1", "B1")}, "a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := strings.Join(admitted(t, NewGate(&Batch{Racks: test.racks, PDUs: test.pdus}), test.machines...), " ")
				if got != test.want {
					t.Errorf("loaded at once: %q, want %q", got, test.want)
				}
			})
		})
	}
}

func TestReadingOfDrawCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(&Batch{Racks: map[string]Rack{"R1": {KW: 25}}})
		a, err := g.Power(t.Context(), machine("a", "R1", 10000))
		if err != nil {
			t.Fatal(err)
		}
		b := machine("b", "R1", 10000)
		g.Draws("a", 15500)
		if got := g.Waits(b); got != "rack R1" {
			t.Errorf("beside a machine that draws 15.5 kW of 25: waits for %q", got)
		}
		a()
		if got := g.Waits(b); got != "" {
			t.Errorf("after it: waits for %q", got)
		}
		if a, err = g.Power(t.Context(), machine("a", "R1", 20000)); err != nil {
			t.Fatal(err)
		}
		defer a()
		g.Draws("a", 9000)
		<-time.After(drawSettles - time.Second)
		g.Draws("a", 12000)
		if got := g.Waits(b); got != "rack R1" {
			t.Errorf("a lower reading counts before %s: waits for %q", drawSettles, got)
		}
		<-time.After(time.Second)
		g.Draws("a", 11000)
		if got := g.Waits(b); got != "" {
			t.Errorf("12 kW at most, and 10 kW beside it are within 25: waits for %q", got)
		}
		if got := g.Waits(machine("c", "R1", 14000)); got != "rack R1" {
			t.Errorf("12 and 14 kW are over 25: waits for %q", got)
		}
		g.Draws("nobody", 1e6) // under no load: nothing is counted
		if got := g.Waits(b); got != "" {
			t.Errorf("waits for %q", got)
		}
	})
}

func TestDrawn(t *testing.T) {
	row := func(kind redfish.SensorKind, name, context, state, source string, watts float64) redfish.Sensor {
		return redfish.Sensor{Kind: kind, Name: name, Context: context, State: state, Source: source, Reading: &watts}
	}
	supply := func(name string, watts float64) []redfish.Sensor {
		return []redfish.Sensor{row(redfish.Discrete, name, "PowerSupply", "Enabled", "/p", 0), row(redfish.PowerDraw, name+" input", "PowerSupply", "", "/p", watts)}
	}
	control := row(redfish.PowerDraw, "System Power Control", "", "", "/redfish/v1/Chassis/1/Power#/PowerControl/0", 6100)
	gpu := row(redfish.PowerDraw, "GPU 1", "GPU", "", "/redfish/v1/Chassis/1/Sensors/gpu1", 698)
	two := append(supply("PSU1", 3000), supply("PSU2", 3200)...)
	for _, c := range []struct {
		name string
		list []redfish.Sensor
		want float64
	}{
		{"control", []redfish.Sensor{control, gpu}, 6100},
		{"the higher of two", append(two[:4:4], control), 6200},
		{"parts are not the whole", []redfish.Sensor{gpu}, 0},
		{"one supply says nothing", append(two[:4:4], two[0]), 0},
		{"the state of redundancy is no supply", append(two[:4:4], row(redfish.Discrete, "PowerSupply redundancy", "PowerSupply", "Enabled", "/p#/Redundancy/0", 0)), 6200},
	} {
		if got := drawn(c.list); got != c.want {
			t.Errorf("%s: %g W, want %g", c.name, got, c.want)
		}
	}
}

// What a load reads is told to its rack, and kept for the next load of the run.
func TestDrawIsToldAndKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, m := monitoredEnv(t)
		told := &drawRecorder{Recorder: e.rec}
		e.rec = told
		watts := 6100.0
		v := &vitalBMC{monitored: m, rows: []redfish.Sensor{{Name: "p", Kind: redfish.PowerDraw, Reading: &watts, Unit: "W", Source: "/Power#/PowerControl/0"}}}
		e.open.bmc = func(context.Context, Machine) (BMC, error) { return v, nil }
		src := &bmcSource{env: e}
		if _, err := src.Watch(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(told.watts) != 1 || told.watts[0] != watts {
			t.Errorf("told %v, want 6100 W once", told.watts)
		}
		if got := src.drawing.counts(9000); got != 9000 {
			t.Errorf("after one reading %g W are counted", got)
		}
	})
}

type drawRecorder struct {
	Recorder
	watts []float64
}

func (d *drawRecorder) Draws(watts float64) { d.watts = append(d.watts, watts) }

func TestDrawing(t *testing.T) {
	m := MachineRun{Machine: machine("a", "R1", 10000)}
	if got := m.Drawing().LoadedWatts; got != 10000 {
		t.Errorf("before it was read: %g W", got)
	}
	m.Facts = Facts{FactDraw: "7200"}
	if got := m.Drawing().LoadedWatts; got != 7200 {
		t.Errorf("%g W, want those that were read", got)
	}
}
