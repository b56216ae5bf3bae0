package provision

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/redfish"
)

// vitalBMC is one that has a short way to what moves under load.
type vitalBMC struct {
	*monitored
	rows []redfish.Sensor
	err  error
}

func (v *vitalBMC) Vitals(context.Context) ([]redfish.Sensor, error) { return v.rows, v.err }

// A short reading is of few bytes: limits stand in it only where they are new.
func TestShortReadingOfBMC(t *testing.T) {
	e, m := monitoredEnv(t)
	rpm, least, more := 5000.0, 400.0, 500.0
	fan := redfish.Sensor{Name: "FAN1", Kind: redfish.FanSpeed, Reading: &rpm, Unit: "RPM", Health: "OK", State: "Enabled", Context: "Fan", Source: "/t#/Fans/0"}
	fan.Thresholds.LowerCritical = &least
	v := &vitalBMC{monitored: m, rows: []redfish.Sensor{fan}}
	e.open.bmc = func(context.Context, Machine) (BMC, error) { return v, nil }
	src := &bmcSource{env: e}
	for i, limited := range []bool{true, false, true, false} {
		if i == 2 {
			v.rows[0].Thresholds.LowerCritical = &more
		}
		ev, err := src.Watch(t.Context())
		if err != nil || ev.Usable() != nil || ev.Phase != burnin.PhaseLoad || ev.Name() != "bmc-sensors" {
			t.Fatalf("%+v, %v", ev, err)
		}
		set, err := burnin.BMCSensors.Parse(ev)
		if err != nil || !set.Short || len(set.Sensors) != 1 || set.Sensors[0].Reading.V != 5000 || set.Sensors[0].Limits.LowerCritical.Set != limited {
			t.Errorf("reading %d: %+v, %v; limits want %v", i, set, err, limited)
		}
		if n := len(ev.Out); n > 400 || strings.Contains(string(ev.Out), "\n") {
			t.Errorf("reading %d has %d bytes: %s", i, n, ev.Out)
		}
	}
	v.err = errors.New("no answer")
	if ev, err := src.Watch(t.Context()); err != nil || ev.Usable() == nil {
		t.Errorf("%+v, %v: want evidence of a reading that failed", ev, err)
	}
}

// A BMC without a short way is not asked for it again, and keeps its session.
func TestNoShortReadingOfBMC(t *testing.T) {
	e, m := monitoredEnv(t)
	if _, err := (&bmcSource{env: e}).Watch(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v, want ErrUnsupported", err)
	}
	if m.closed != 0 {
		t.Error("the session was ended")
	}
	v := &vitalBMC{monitored: m, err: redfish.ErrUnsupported}
	e.open.bmc = func(context.Context, Machine) (BMC, error) { return v, nil }
	e.dropClient()
	if _, err := (&bmcSource{env: e}).Watch(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v, want ErrUnsupported", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if ev, err := (&bmcSource{env: e}).Watch(ctx); err == nil {
		t.Errorf("a reading that was cut is evidence: %+v", ev)
	}
}
