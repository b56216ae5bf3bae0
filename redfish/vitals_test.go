package redfish_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// TestVitalsOfTrees: what moves under load, of every captured machine, for the requests
// that it costs, and as a reading of all sensors shows it.
func TestVitalsOfTrees(t *testing.T) {
	for _, c := range []struct {
		tree     string
		requests int
		kinds    map[redfish.SensorKind]int
	}{
		{"dell", 2, map[redfish.SensorKind]int{redfish.Temperature: 5, redfish.FanSpeed: 6, redfish.PowerDraw: 5, redfish.Voltage: 4, redfish.Discrete: 3}},
		{"hpe", 2, map[redfish.SensorKind]int{redfish.Temperature: 53, redfish.FanSpeed: 6, redfish.Voltage: 2, redfish.PowerDraw: 1, redfish.Discrete: 3}},
		{"lenovo", 2, map[redfish.SensorKind]int{redfish.Temperature: 21, redfish.FanSpeed: 10, redfish.Voltage: 4, redfish.PowerDraw: 11, redfish.Discrete: 5}},
		{"nvidia_viking", 4, map[redfish.SensorKind]int{redfish.Temperature: 120, redfish.FanSpeed: 36, redfish.Discrete: 7}},
		{"supermicro", 2, map[redfish.SensorKind]int{redfish.Temperature: 38, redfish.FanSpeed: 6, redfish.Voltage: 6, redfish.PowerDraw: 13, redfish.Discrete: 9}},
	} {
		t.Run(c.tree, func(t *testing.T) {
			client, bmc := start(t, c.tree)
			all, err := client.Sensors(within(t, time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			before := requests(bmc)
			list, err := client.Vitals(within(t, time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			if n := requests(bmc) - before; n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
			got := map[redfish.SensorKind]int{}
			for _, s := range list {
				got[s.Kind]++
				if twin := sensorNamed(t, all, s.Name); twin.Kind != s.Kind || twin.Unit != s.Unit {
					t.Errorf("%+v, and among all sensors %+v", s, twin)
				}
			}
			if !maps.Equal(got, c.kinds) {
				t.Errorf("%v, want %v", got, c.kinds)
			}
		})
	}
}

// plainRoot is the root of a BMC that knows no $expand.
const plainRoot = `{"Systems":{"@odata.id":"/redfish/v1/Systems"}}`

// TestVitalsOneByOne: of a BMC that gives sensors one by one, fans and supplies first,
// a bounded number, and never two at once.
func TestVitalsOneByOne(t *testing.T) {
	const c = "/redfish/v1/Chassis/a"
	more := map[string]string{"/redfish/v1": plainRoot, c + "/PowerSubsystem": `{}`, c + "/ThermalSubsystem": `{}`}
	var members []string
	for i := range 40 {
		uri := fmt.Sprintf("%s/Sensors/%d", c, i)
		members = append(members, fmt.Sprintf(`{"@odata.id":%q}`, uri))
		kind, unit, context := "Temperature", "Cel", "CPU"
		switch {
		case i >= 36:
			kind, unit, context = "Rotational", "RPM", "Fan"
		case i == 35:
			kind, unit, context = "Power", "W", "PowerSupply"
		}
		more[uri] = fmt.Sprintf(`{"Id":"%d","Name":"S%d","ReadingType":%q,"ReadingUnits":%q,"PhysicalContext":%q,"Reading":%d}`, i, i, kind, unit, context, 40+i)
	}
	more[c+"/Sensors"] = `{"Members":[` + strings.Join(members, ",") + `]}`
	bmc := serve(t, redfishtest.Options{Tree: sensorTree(more)})
	client := open(t, bmc)
	if all, err := client.Sensors(within(t, time.Minute)); err != nil || len(all) != 40 {
		t.Fatalf("%d, %v", len(all), err)
	}
	before := requests(bmc)
	list, err := client.Vitals(within(t, time.Minute))
	if err != nil || len(list) != 16 {
		t.Fatalf("%d sensors, %v; want 16", len(list), err)
	}
	for i, s := range list {
		if fan := s.Kind == redfish.FanSpeed; fan != (i < 4) {
			t.Errorf("%d is %+v, want the four fans first", i, s)
		}
	}
	if list[4].Context != "PowerSupply" {
		t.Errorf("%+v, want the supply after the fans", list[4])
	}
	if n := requests(bmc) - before; n > 19 {
		t.Errorf("%d requests, want at most 19: 16 sensors and what the chassis links to", n)
	}
}

// TestVitalsGoAlone: a reading that is taken often never has two requests under way.
func TestVitalsGoAlone(t *testing.T) {
	const c = "/redfish/v1/Chassis/a"
	more := map[string]string{
		"/redfish/v1":                  plainRoot,
		c:                              `{"Id":"a","ThermalSubsystem":{"@odata.id":"` + c + `/ThermalSubsystem"}}`,
		c + "/ThermalSubsystem":        `{"Fans":{"@odata.id":"` + c + `/ThermalSubsystem/Fans"}}`,
		c + "/ThermalSubsystem/Fans":   `{"Members":[{"@odata.id":"` + c + `/ThermalSubsystem/Fans/1"},{"@odata.id":"` + c + `/ThermalSubsystem/Fans/2"},{"@odata.id":"` + c + `/ThermalSubsystem/Fans/3"}]}`,
		c + "/ThermalSubsystem/Fans/1": `{"Id":"1","Name":"Fan 1","SpeedPercent":{"Reading":44,"SpeedRPM":4408}}`,
		c + "/ThermalSubsystem/Fans/2": `{"Id":"2","Name":"Fan 2","SpeedPercent":{"Reading":44,"SpeedRPM":4409}}`,
		c + "/ThermalSubsystem/Fans/3": `{"Id":"3","Name":"Fan 3","SpeedPercent":{"Reading":44,"SpeedRPM":4410}}`,
	}
	bmc := serve(t, redfishtest.Options{Tree: sensorTree(more)})
	client := open(t, bmc)
	list, err := client.Vitals(within(t, time.Minute))
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	if n := bmc.MaxInFlight(); n != 1 {
		t.Errorf("%d requests at once, want one", n)
	}
}

func TestNoVitals(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: sensorTree(map[string]string{"/redfish/v1/Chassis/a": `{"Id":"a"}`})})
	if list, err := open(t, bmc).Vitals(within(t, time.Minute)); !errors.Is(err, redfish.ErrUnsupported) {
		t.Errorf("%+v, %v; want ErrUnsupported", list, err)
	}
}
