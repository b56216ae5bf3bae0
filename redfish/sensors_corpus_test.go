package redfish_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// corpusBody reads a captured body, or skips where the captures are not at hand.
func corpusBody(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "shared", "corpus", "redfish", name))
	if os.IsNotExist(err) {
		t.Skipf("captured bodies are not at hand: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestSensorsOfCapturedBodies serves bodies of other BMCs as the Thermal and Power of a
// chassis.
func TestSensorsOfCapturedBodies(t *testing.T) {
	const (
		x10    = "spyroot-supermicro_x10_fixtures/_redfish_v1_Chassis_1_"
		lenovo = "bmclib/providers/lenovo/v1/"
	)
	for _, c := range []struct {
		name, thermal, power string
		sensors, readable    int
		check                func(*testing.T, []redfish.Sensor)
	}{
		{
			// Its host was off: every row is absent, reads 0, and has limits of 0.
			name: "X10", thermal: x10 + "Thermal.json", power: x10 + "Power.json", sensors: 22, readable: 1,
			check: func(t *testing.T, list []redfish.Sensor) {
				t.Helper()
				for _, s := range list {
					if s.State == "Absent" && (s.Reading != nil || s.Thresholds.UpperCritical != nil || s.Thresholds.LowerCritical != nil) {
						t.Errorf("%+v", s)
					}
				}
			},
		},
		{
			name: "XCC", thermal: lenovo + "thermal.json", power: lenovo + "power.json", sensors: 5, readable: 3,
			check: func(t *testing.T, list []redfish.Sensor) {
				t.Helper()
				if s := sensorNamed(t, list, "Ambient Temp"); !is(s.Reading, 23) || !is(s.Thresholds.UpperCritical, 47) || !is(s.Thresholds.UpperFatal, 50) {
					t.Errorf("%+v", s)
				}
				if s := sensorNamed(t, list, "PSU 2"); s.Kind != redfish.Discrete || s.Health != "OK" {
					t.Errorf("%+v", s)
				}
				if s := sensorNamed(t, list, "Server Power Control"); !is(s.Reading, 287) {
					t.Errorf("%+v", s)
				}
			},
		},
		{
			name: "iLO 5", thermal: "gofish-oem/hpe-thermal-hpeThermalBody.json", sensors: 2, readable: 2,
			check: func(t *testing.T, list []redfish.Sensor) {
				t.Helper()
				if s := sensorNamed(t, list, "Fan 1"); !is(s.Reading, 28) || s.Unit != "%" {
					t.Errorf("%+v", s)
				}
				if s := sensorNamed(t, list, "01-Inlet Ambient"); !is(s.Reading, 25) || !is(s.Thresholds.UpperFatal, 47) || s.Context != "Intake" {
					t.Errorf("%+v", s)
				}
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			const ch = "/redfish/v1/Chassis/a"
			bodies := map[string]string{ch: `{"Id":"a","Thermal":{"@odata.id":"` + ch + `/Thermal"}}`, ch + "/Thermal": corpusBody(t, c.thermal)}
			if c.power != "" {
				bodies[ch] = `{"Id":"a","Thermal":{"@odata.id":"` + ch + `/Thermal"},"Power":{"@odata.id":"` + ch + `/Power"}}`
				bodies[ch+"/Power"] = corpusBody(t, c.power)
			}
			bmc := serve(t, redfishtest.Options{Tree: sensorTree(bodies)})
			list, err := open(t, bmc).Sensors(within(t, time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			readable := 0
			for _, s := range list {
				if s.Reading != nil {
					readable++
				}
			}
			if len(list) != c.sensors || readable != c.readable {
				t.Errorf("%d sensors, %d with a reading; want %d and %d", len(list), readable, c.sensors, c.readable)
			}
			c.check(t, list)
		})
	}
}

// TestCapturedLog serves the SEL of another iDRAC, in which two entries bear one Id, and
// of an XCC that lists links.
func TestCapturedLog(t *testing.T) {
	const lenovo = "bmclib/providers/lenovo/v1/"
	for _, c := range []struct {
		name    string
		tree    redfishtest.Tree
		entries int
		id      string
		event   string
	}{
		{"iDRAC", logTree(map[string]string{"": corpusBody(t, "bmclib/providers/redfish/v1/dell/entries.json")}), 2, "1", "OEM software event."},
		{
			"XCC", func() redfishtest.Tree {
				tree := logTree(map[string]string{"": corpusBody(t, lenovo+"ls.sel.entries.json")})
				tree["/redfish/v1/Managers/1/LogServices/Sel/Entries/1"] = []byte(corpusBody(t, lenovo+"ls.sel.entry.1.json"))
				return tree
			}(), 1, "1", "System boot completed.",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, err := open(t, serve(t, redfishtest.Options{Tree: c.tree})).Log(within(t, time.Minute), time.Time{})
			if err != nil || len(list) != c.entries {
				t.Fatalf("%d entries, %v; want %d", len(list), err, c.entries)
			}
			if e := entryNamed(t, list, "SEL", c.id); e.Event != c.event || e.Time.IsZero() {
				t.Errorf("%+v", e)
			}
		})
	}
}
