package redfish_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// requests counts what a BMC was asked, in all.
func requests(bmc *redfishtest.BMC) int {
	n := 0
	for _, k := range bmc.Requests() {
		n += k
	}
	return n
}

func sensorNamed(t *testing.T, list []redfish.Sensor, name string) redfish.Sensor {
	t.Helper()
	for _, s := range list {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no sensor %q among %d", name, len(list))
	return redfish.Sensor{}
}

// is compares a number that may be absent.
func is(v *float64, want float64) bool { return v != nil && *v == want }

// TestSensorsOfTrees reads every captured machine: how many sensors of each kind,
// some of them to the digit, and what it costs.
func TestSensorsOfTrees(t *testing.T) {
	for _, c := range []struct {
		tree          string
		kinds         map[redfish.SensorKind]int
		first, second int // requests
		check         func(*testing.T, []redfish.Sensor)
	}{
		{
			tree: "dell", first: 4, second: 2,
			kinds: map[redfish.SensorKind]int{redfish.Temperature: 5, redfish.FanSpeed: 6, redfish.Voltage: 10, redfish.PowerDraw: 5, redfish.Discrete: 44},
			check: func(t *testing.T, list []redfish.Sensor) {
				t.Helper()
				inlet := sensorNamed(t, list, "System Board Inlet Temp")
				if !is(inlet.Reading, 25) || !is(inlet.Thresholds.UpperCritical, 42) || !is(inlet.Thresholds.UpperCaution, 38) || !is(inlet.Thresholds.LowerCritical, -7) {
					t.Errorf("inlet %+v", inlet)
				}
				fan := sensorNamed(t, list, "System Board Fan5A")
				if !is(fan.Reading, 18720) || fan.Unit != "RPM" || !is(fan.Thresholds.LowerCritical, 480) {
					t.Errorf("fan %+v", fan)
				}
				good := sensorNamed(t, list, "System Board DIMM VSHORT")
				if good.Kind != redfish.Discrete || good.Reading != nil || good.Health != "OK" {
					t.Errorf("power good line %+v", good)
				}
			},
		},
		{
			tree: "hpe", first: 4, second: 2,
			kinds: map[redfish.SensorKind]int{redfish.Temperature: 53, redfish.FanSpeed: 6, redfish.Voltage: 2, redfish.PowerDraw: 1, redfish.Discrete: 3},
			check: func(t *testing.T, list []redfish.Sensor) {
				t.Helper()
				if fan := sensorNamed(t, list, "Fan 3"); !is(fan.Reading, 51) || fan.Unit != "%" {
					t.Errorf("fan %+v", fan)
				}
				if gone := sensorNamed(t, list, "25-HD Controller"); gone.Reading != nil || gone.State != "Absent" {
					t.Errorf("absent sensor %+v", gone)
				}
				if psu := sensorNamed(t, list, "PSU 2"); psu.Health != "OK" || psu.Context != "PowerSupply" {
					t.Errorf("supply %+v", psu)
				}
				if v := sensorNamed(t, list, "PSU 1 input voltage"); !is(v.Reading, 239) {
					t.Errorf("input voltage %+v", v)
				}
			},
		},
		{
			tree: "lenovo", first: 4, second: 2,
			kinds: map[redfish.SensorKind]int{redfish.Temperature: 21, redfish.FanSpeed: 10, redfish.Voltage: 8, redfish.PowerDraw: 11, redfish.Discrete: 5},
			check: func(t *testing.T, list []redfish.Sensor) {
				t.Helper()
				if off := sensorNamed(t, list, "PCIe 15 Temp"); off.Reading != nil || off.State != "Disabled" {
					t.Errorf("disabled sensor %+v", off)
				}
				if fan := sensorNamed(t, list, "Fan 1B Tach"); !is(fan.Reading, 5832) || !is(fan.Thresholds.LowerCritical, 432) {
					t.Errorf("fan %+v", fan)
				}
				if w := sensorNamed(t, list, "PSU1 output"); !is(w.Reading, 179) || w.Unit != "W" {
					t.Errorf("supply %+v", w)
				}
			},
		},
		{
			// Its Power has no supplies: six of them come in one answer.
			tree: "nvidia_viking", first: 6, second: 4,
			kinds: map[redfish.SensorKind]int{redfish.Temperature: 120, redfish.FanSpeed: 36, redfish.Voltage: 17, redfish.Discrete: 7},
			check: func(t *testing.T, list []redfish.Sensor) {
				t.Helper()
				margin := sensorNamed(t, list, "TLIMIT_GB_SXM6")
				if !is(margin.Reading, 56) || !is(margin.Thresholds.LowerCritical, -3) || margin.Thresholds.UpperCritical != nil {
					t.Errorf("GPU margin %+v", margin)
				}
				if psu := sensorNamed(t, list, "PSU0"); psu.Health != "" || psu.State != "" {
					t.Errorf("a supply without a state has one: %+v", psu)
				}
				if all := sensorNamed(t, list, "PowerSupply redundancy"); all.Health != "OK" {
					t.Errorf("redundancy %+v", all)
				}
			},
		},
		{
			tree: "supermicro", first: 4, second: 2,
			kinds: map[redfish.SensorKind]int{redfish.Temperature: 38, redfish.FanSpeed: 6, redfish.Voltage: 18, redfish.PowerDraw: 13, redfish.Discrete: 9},
			check: func(t *testing.T, list []redfish.Sensor) {
				t.Helper()
				if gone := sensorNamed(t, list, "M2_SSD1 Temp"); gone.Reading != nil || gone.State != "Absent" {
					t.Errorf("absent sensor %+v", gone)
				}
				if v := sensorNamed(t, list, "3.3VCC"); !is(v.Reading, 3.319) || !is(v.Thresholds.UpperCritical, 3.67) {
					t.Errorf("voltage %+v", v)
				}
			},
		},
	} {
		t.Run(c.tree, func(t *testing.T) {
			client, bmc := start(t, c.tree)
			before := requests(bmc)
			list, err := client.Sensors(within(t, time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			first := requests(bmc) - before
			if _, err := client.Sensors(within(t, time.Minute)); err != nil {
				t.Fatal(err)
			}
			if second := requests(bmc) - before - first; first != c.first || second != c.second {
				t.Errorf("%d requests, then %d; want %d, then %d", first, second, c.first, c.second)
			}
			got := map[redfish.SensorKind]int{}
			sources := map[string]bool{}
			for _, s := range list {
				got[s.Kind]++
				key := s.Source + s.Name
				if sources[key] || s.Name == "" || s.Source == "" {
					t.Errorf("not told apart: %+v", s)
				}
				sources[key] = true
			}
			for kind, want := range c.kinds {
				if got[kind] != want {
					t.Errorf("%d sensors of %s, want %d", got[kind], kind, want)
				}
			}
			if len(got) != len(c.kinds) {
				t.Errorf("kinds %v, want %v", got, c.kinds)
			}
			c.check(t, list)
			if n := bmc.MaxInFlight(); n > 4 {
				t.Errorf("%d requests at once, want at most 4", n)
			}
		})
	}
}

// TestSensorsOfDisfiguredTrees: a field of another shape costs that field alone.
func TestSensorsOfDisfiguredTrees(t *testing.T) {
	for _, fault := range []string{"na-numbers", "string-numbers", "empty-arrays-for-objects", "missing-status", "gzip-always"} {
		t.Run(fault, func(t *testing.T) {
			client, _ := start(t, "supermicro", fault)
			list, err := client.Sensors(within(t, time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			cpu := sensorNamed(t, list, "CPU1 Temp")
			if read := is(cpu.Reading, 29); read == (fault == "na-numbers") {
				t.Errorf("reading %v under %s", cpu.Reading, fault)
			}
			if stated := cpu.Health == "OK"; stated == (fault == "missing-status") {
				t.Errorf("health %q under %s", cpu.Health, fault)
			}
		})
	}
}

// sensorTree is a BMC with a chassis of the newer schema only.
func sensorTree(more map[string]string) redfishtest.Tree {
	tree := redfishtest.Tree{
		"/redfish/v1":           []byte(`{"Systems":{"@odata.id":"/redfish/v1/Systems"},"ProtocolFeaturesSupported":{"ExpandQuery":{"NoLinks":true,"MaxLevels":1}}}`),
		"/redfish/v1/Systems":   []byte(`{"Members":[{"@odata.id":"/redfish/v1/Systems/a"}]}`),
		"/redfish/v1/Systems/a": []byte(`{"Id":"a","PowerState":"On","Boot":{},"Actions":{"#ComputerSystem.Reset":{"target":"/x"}},"LogServices":{"@odata.id":"/redfish/v1/Systems/a/LogServices"},"Links":{"Chassis":[{"@odata.id":"/redfish/v1/Chassis/a"}],"ManagedBy":[{"@odata.id":"/redfish/v1/Managers/a"}]}}`),
		"/redfish/v1/Chassis/a": []byte(`{"Id":"a","Sensors":{"@odata.id":"/redfish/v1/Chassis/a/Sensors"},"PowerSubsystem":{"@odata.id":"/redfish/v1/Chassis/a/PowerSubsystem"},"ThermalSubsystem":{"@odata.id":"/redfish/v1/Chassis/a/ThermalSubsystem"}}`),
	}
	for uri, body := range more {
		tree[uri] = json.RawMessage(body)
	}
	return tree
}

const expandQuery = "?$expand=.($levels=1)"

// TestSensorsExpanded takes whole collections where the BMC gives them, page by
// page, and never reads a sensor for itself.
func TestSensorsExpanded(t *testing.T) {
	const c = "/redfish/v1/Chassis/a"
	bmc := serve(t, redfishtest.Options{Tree: sensorTree(map[string]string{
		c + "/Sensors" + expandQuery: `{"Members@odata.count":264,"Members":[
			{"@odata.id":"` + c + `/Sensors/inlet","Id":"inlet","Name":"Inlet","ReadingType":"Temperature","ReadingUnits":"Cel","Reading":"25.687000","Thresholds":{"UpperCritical":{"Reading":45},"UpperCaution":[],"LowerFatal":{"Reading":"N/A"}},"Status":{"State":"Enabled","Health":"OK"}},
			{"@odata.id":"` + c + `/Sensors/fan","Id":"fan","Name":"Fan","ReadingType":"Rotational","Reading":0,"Status":{"State":"Enabled","Health":"Critical"}}],
			"Members@odata.nextLink":"` + c + `/Sensors?$skip=2"}`,
		c + "/Sensors?$skip=2": `{"Members":[
			{"@odata.id":"` + c + `/Sensors/off","Id":"off","Name":"GPU","ReadingType":"Temperature","Reading":null,"Status":{"State":"UnavailableOffline"}},
			7,
			{"@odata.id":"` + c + `/Sensors/odd","Id":"odd","Name":"Odd","ReadingType":[],"Reading":{},"Status":"OK"}],
			"Members@odata.nextLink":"` + c + `/Sensors?$skip=2"}`,
		c + "/PowerSubsystem":                             `{"PowerSupplies":{"@odata.id":"` + c + `/PowerSubsystem/PowerSupplies"},"PowerSupplyRedundancy":[{"Status":{"State":"Enabled","Health":"Warning"}}]}`,
		c + "/PowerSubsystem/PowerSupplies" + expandQuery: `{"Members":[{"@odata.id":"` + c + `/PowerSubsystem/PowerSupplies/1","Id":"1","Name":"PSU1","Status":{"State":"UnavailableOffline","Health":"Critical"}}]}`,
	})})
	client := open(t, bmc)
	before := requests(bmc)
	list, err := client.Sensors(within(t, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if n := requests(bmc) - before; n != 6 {
		t.Errorf("%d requests, want 6: host, chassis, two pages, subsystem, supplies", n)
	}
	if len(list) != 6 {
		t.Errorf("%d sensors, want 6: %+v", len(list), list)
	}
	if inlet := sensorNamed(t, list, "Inlet"); !is(inlet.Reading, 25.687) || !is(inlet.Thresholds.UpperCritical, 45) || inlet.Thresholds.LowerFatal != nil {
		t.Errorf("inlet %+v", inlet)
	}
	if fan := sensorNamed(t, list, "Fan"); fan.Kind != redfish.FanSpeed || !is(fan.Reading, 0) || fan.Unit != "RPM" || fan.Health != "Critical" {
		t.Errorf("fan %+v", fan)
	}
	if off := sensorNamed(t, list, "GPU"); off.Reading != nil || off.State != "UnavailableOffline" {
		t.Errorf("sensor of what is off %+v", off)
	}
	if odd := sensorNamed(t, list, "Odd"); odd.Kind != redfish.Discrete || odd.Reading != nil || odd.Health != "" {
		t.Errorf("odd sensor %+v", odd)
	}
	if psu := sensorNamed(t, list, "PSU1"); psu.Health != "Critical" || psu.State != "UnavailableOffline" {
		t.Errorf("supply %+v", psu)
	}
}

// TestSensorsOneByOne: no $expand and no older body. One broken sensor is named,
// and costs itself alone.
func TestSensorsOneByOne(t *testing.T) {
	const c = "/redfish/v1/Chassis/a"
	bmc := serve(t, redfishtest.Options{Tree: sensorTree(map[string]string{
		c + "/Sensors":          `{"Members":[{"@odata.id":"` + c + `/Sensors/1"},{"@odata.id":"` + c + `/Sensors/2"},{"@odata.id":"` + c + `/Sensors/3"}]}`,
		c + "/Sensors/1":        `{"Id":"1","Name":"One","ReadingType":"Temperature","ReadingUnits":"C","Reading":40}`,
		c + "/Sensors/3":        `{"Id":"3","Name":"Three","ReadingUnits":"Watts","ReadingType":"Current","Reading":700}`,
		c + "/PowerSubsystem":   `{}`,
		c + "/ThermalSubsystem": `{}`,
	})})
	list, err := open(t, bmc).Sensors(within(t, time.Minute))
	partial, ok := errors.AsType[*redfish.PartialError](err)
	if !ok || len(partial.Missing) != 1 || !strings.HasPrefix(partial.Missing[0], c+"/Sensors/2: ") {
		t.Errorf("error %v, want the one that is missing", err)
	}
	if one := sensorNamed(t, list, "One"); !is(one.Reading, 40) || one.Unit != "Cel" {
		t.Errorf("%+v", one)
	}
	if three := sensorNamed(t, list, "Three"); three.Kind != redfish.PowerDraw || three.Unit != "W" {
		t.Errorf("%+v", three)
	}
}

// TestSensorsOfSubsystems: readings without limits are better than none.
func TestSensorsOfSubsystems(t *testing.T) {
	const c = "/redfish/v1/Chassis/a"
	bmc := serve(t, redfishtest.Options{Tree: sensorTree(map[string]string{
		c:                                      `{"Id":"a","ThermalSubsystem":{"@odata.id":"` + c + `/ThermalSubsystem"},"EnvironmentMetrics":{"@odata.id":"` + c + `/EnvironmentMetrics"}}`,
		c + "/ThermalSubsystem":                `{"Fans":{"@odata.id":"` + c + `/ThermalSubsystem/Fans"},"ThermalMetrics":{"@odata.id":"` + c + `/ThermalSubsystem/ThermalMetrics"}}`,
		c + "/ThermalSubsystem/ThermalMetrics": `{"TemperatureReadingsCelsius":[{"DeviceName":"HSC","Reading":"30.000000","DataSourceUri":"` + c + `/Sensors/hsc"}]}`,
		c + "/ThermalSubsystem/Fans":           `{"Members":[{"@odata.id":"` + c + `/ThermalSubsystem/Fans/1"}]}`,
		c + "/ThermalSubsystem/Fans/1":         `{"Id":"1","Name":"Fan 1","SpeedPercent":{"Reading":4408,"SpeedRPM":4408},"Status":{"Health":"OK","State":"Enabled"}}`,
	})})
	list, err := open(t, bmc).Sensors(within(t, time.Minute))
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	if hsc := sensorNamed(t, list, "HSC"); !is(hsc.Reading, 30) || hsc.Source != c+"/Sensors/hsc" {
		t.Errorf("%+v", hsc)
	}
	if fan := sensorNamed(t, list, "Fan 1"); !is(fan.Reading, 4408) || fan.Unit != "RPM" {
		t.Errorf("%+v", fan)
	}
}

// TestDeadLinks: a chassis that links to a Thermal which is not there, and to a Power
// that does not answer: the one is not offered, the other is missing.
func TestDeadLinks(t *testing.T) {
	const c = "/redfish/v1/Chassis/a"
	bmc := serve(t, redfishtest.Options{Tree: sensorTree(map[string]string{
		c:            `{"Id":"a","Thermal":{"@odata.id":"` + c + `/Thermal"},"Power":{"@odata.id":"` + c + `/Power"}}`,
		c + "/Power": `{"Voltages":[{"Name":"12V","ReadingVolts":12.1}],}`,
	})})
	_, err := open(t, bmc).Sensors(within(t, time.Minute))
	partial, ok := errors.AsType[*redfish.PartialError](err)
	if !ok || len(partial.Missing) != 1 || !strings.HasPrefix(partial.Missing[0], c+"/Power: ") {
		t.Errorf("%v, want Power alone missing", err)
	}
}

func TestNoSensorsAtAll(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: sensorTree(map[string]string{"/redfish/v1/Chassis/a": `{"Id":"a"}`})})
	if list, err := open(t, bmc).Sensors(within(t, time.Minute)); !errors.Is(err, redfish.ErrUnsupported) {
		t.Errorf("%+v, %v; want ErrUnsupported", list, err)
	}
}
