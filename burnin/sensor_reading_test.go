package burnin

import (
	"encoding/json"
	"strings"
	"testing"
)

func sensorIn(t *testing.T, set SensorSet, name string) BMCSensor {
	t.Helper()
	for _, s := range set.Sensors {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no sensor %q among %d", name, len(set.Sensors))
	return BMCSensor{}
}

func kindsOf(set SensorSet) map[string]int {
	kinds := map[string]int{}
	for _, s := range set.Sensors {
		kinds[s.quantity()]++
	}
	return kinds
}

// TestSensorsOfTrees reads the chassis of every captured machine, in which BMCs show
// each sensor in up to four ways: each counts once.
func TestSensorsOfTrees(t *testing.T) {
	for _, c := range []struct {
		vendor                        string
		temperature, fan, supply, all int
		sensor                        string
		reading, critical             float64
	}{
		{"dell", 6, 6, 2, 85, "System Board Inlet Temp", 25, 42},
		{"hpe", 53, 6, 2, 65, "03-CPU 2", 40, 75},
		{"lenovo", 21, 10, 21, 0, "Ambient Temp", 19, 46},
		{"nvidia_viking", 0, 36, 0, 0, "TEMP_AMBIENT", 22, 40},
		{"supermicro", 38, 6, 8, 85, "GPU Temp", 37, 87},
	} {
		t.Run(c.vendor, func(t *testing.T) {
			out := capturedBodies(t, c.vendor, func(uri string) bool { return strings.Contains(uri, "/Chassis/") })
			set, err := parseBMCSensors(&Evidence{Out: out, Source: FromBMC, Ended: EndedExit})
			if err != nil || set.Missing != nil {
				t.Fatal(err, set.Missing)
			}
			kinds := kindsOf(set)
			for quantity, want := range map[string]int{"temperature": c.temperature, "fan": c.fan, "supply": c.supply} {
				if want > 0 && kinds[quantity] != want {
					t.Errorf("%d sensors of %s, want %d", kinds[quantity], quantity, want)
				}
			}
			if c.all > 0 && len(set.Sensors) != c.all {
				t.Errorf("%d sensors, want %d: %v", len(set.Sensors), c.all, kinds)
			}
			if s := sensorIn(t, set, c.sensor); s.Reading.V != c.reading || s.Limits.UpperCritical.V != c.critical || s.Health != "OK" {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestSensorForms reads the same machine in every form.
func TestSensorForms(t *testing.T) {
	const (
		own = `{"ipmi:/sdr":{"sensors":[
			{"name":"CPU1 Temp","kind":"temperature","reading":61,"unit":"Cel","thresholds":{"upper_critical":99,"upper_caution":null},"health":"OK","state":"Enabled","source":"sdr 0x01"},
			{"name":"FAN1","kind":"fan","reading":5320,"unit":"RPM","thresholds":{"lower_critical":420},"health":"OK","state":"Enabled","source":"sdr 0x02"},
			{"name":"FAN2","kind":"fan","reading":null,"unit":"RPM","state":"UnavailableOffline","source":"sdr 0x03"},
			{"name":"PS1 Status","kind":"discrete","reading":null,"states":["Presence detected","Power Supply input lost (AC/DC)"],"state":"Enabled","source":"sdr 0x04"},"odd"]},
			"ipmi:sdr":{"records":["00"]},"rackproof:reading":{"skew_seconds":-3.5}}`
		sdr      = "CPU1 Temp        | 61 degrees C      | ok\nFAN1             | 5320 RPM          | ok\nFAN2             | no reading        | ns\nPS1 Status       | 0x01              | ok\n"
		sdrElist = "CPU1 Temp        | 01h | ok  |  3.1 | 61 degrees C\nFAN1             | 02h | ok  | 29.1 | 5320 RPM\nFAN2             | 03h | ns  | 29.2 | No Reading\nPS1 Status       | 04h | ok  | 10.1 | Presence detected, Power Supply input lost (AC/DC)\n"
		table    = "CPU1 Temp        | 61.000     | degrees C  | ok    | 5.000     | 5.000     | 10.000    | 94.000    | 99.000    | 99.000    \n" +
			"FAN1             | 5320.000   | RPM        | ok    | 300.000   | 420.000   | 700.000   | 25300.000 | 25400.000 | 25500.000 \n" +
			"FAN2             | na         |            | na    | na        | na        | na        | na        | na        | na        \n" +
			"PS1 Status       | 0x1        | discrete   | 0x0100| na        | na        | na        | na        | na        | na        \n"
	)
	for _, c := range []struct {
		name, text string
		limits     bool
		states     []string
	}{
		{"our own rows", own, true, []string{"Presence detected", "Power Supply input lost (AC/DC)"}},
		{"ipmitool sdr", sdr, false, nil},
		{"ipmitool sdr elist", sdrElist, false, []string{"Presence detected", "Power Supply input lost (AC/DC)"}},
		{"ipmitool sensor", table, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			set, err := parseBMCSensors(loose(c.text))
			if err != nil || set.Missing != nil || len(set.Sensors) != 4 {
				t.Fatalf("%d sensors, %v, missing %v", len(set.Sensors), err, set.Missing)
			}
			cpu := sensorIn(t, set, "CPU1 Temp")
			if cpu.Reading.V != 61 || cpu.Kind != sensorTemperature || cpu.Health != "OK" || cpu.Limits.UpperCritical.Set != c.limits || c.limits && cpu.Limits.UpperCritical.V != 99 {
				t.Errorf("%+v", cpu)
			}
			if fan := sensorIn(t, set, "FAN1"); fan.Reading.V != 5320 || fan.Unit != "RPM" || fan.Kind != sensorFan {
				t.Errorf("%+v", fan)
			}
			if fan := sensorIn(t, set, "FAN2"); fan.Reading.Set || !fan.asleep() {
				t.Errorf("%+v", fan)
			}
			psu := sensorIn(t, set, "PS1 Status")
			if psu.quantity() != "supply" || strings.Join(psu.States, "|") != strings.Join(c.states, "|") {
				t.Errorf("%s %+v", psu.quantity(), psu)
			}
		})
	}
}

// TestCapturedSDR reads what ipmitool printed on a real machine.
func TestCapturedSDR(t *testing.T) {
	set, err := parseBMCSensors(&Evidence{Out: corpus(t, "ipmi/redhat-hw-parse_ipmi_sdr"), Source: FromLoose, Ended: EndedUnknown})
	if err != nil || set.Missing != nil || len(set.Sensors) != 52 {
		t.Fatalf("%d sensors, %v, missing %v; want 52", len(set.Sensors), err, set.Missing)
	}
	if fan := sensorIn(t, set, "Fan 6"); fan.Reading.V != 13.72 || fan.Unit != "%" || fan.Kind != sensorFan {
		t.Errorf("%+v", fan)
	}
	if off := sensorIn(t, set, "Temp 18"); off.Reading.Set || !off.asleep() {
		t.Errorf("%+v", off)
	}
	if watts := sensorIn(t, set, "Power Supply 2"); watts.Reading.V != 65 || watts.Kind != sensorPower {
		t.Errorf("%+v", watts)
	}
}

// TestSensorsNotWhole: what was cut, or is no reading, is never taken for a whole one.
func TestSensorsNotWhole(t *testing.T) {
	for _, text := range []string{
		"CPU1 Temp | 61 degrees C | ok\nFAN1 | 53", "Unable to open SDR for reading\nCPU1 Temp | 61 degrees C | ok\n",
		`{"/a":{"@odata.type":"#Thermal.v1_0_0.Thermal","Fans":[{"Name":"F","Reading":1}]},"/b":"gone"}`,
		`{"/a":{"@odata.type":"#Thermal.v1_0_0.Thermal","Fans":[{"Name":"F","Reading":1}]},"/b":{"unparsed":"{,"}}`,
		`{"/a":{"@odata.type":"#Thermal.v1_0_0.Thermal","Fans":[{"Name":"F","Reading":1}]},"rackproof:reading":{"skew_seconds":null,"missing":["/x: 503"]}}`,
	} {
		if set, err := parseBMCSensors(loose(text)); err == nil && set.Missing == nil {
			t.Errorf("whole: %.60s", text)
		}
	}
	for _, text := range []string{"", "\n", "{}", "[]", "null", `{"/a":{}}`, "{", "Error: Unable to establish IPMI v2 / RMCP+ session\n", `{"rackproof:reading":{}}`} {
		if set, err := parseBMCSensors(loose(text)); err == nil {
			t.Errorf("%q gives %d sensors", text, len(set.Sensors))
		}
	}
	cut := whole("CPU1 Temp | 61 degrees C | ok\nFAN1 | 5320 RPM | ok")
	cut.Out = cut.Out[:len(cut.Out)-20]
	if set, err := parseBMCSensors(cut); err == nil && set.Missing == nil {
		t.Error("a table without its end mark is whole")
	}
}

// TestSensorsAreTolerant: one bad field costs that field alone.
func TestSensorsAreTolerant(t *testing.T) {
	set, err := parseBMCSensors(loose(`{"/redfish/v1/Chassis/1/Thermal":{"@odata.type":"#Thermal.v1_5_1.Thermal","Temperatures":[
		{"Name":"A","ReadingCelsius":"25.687000","UpperThresholdCritical":"N/A","Status":[]},{"Name":"B","ReadingCelsius":0,"Status":{"State":"Absent"}},7,{"Name":"C","ReadingCelsius":[]}],
		"Fans":[{"FanName":"F","Reading":"4400","ReadingUnits":"RPM"},{"Name":"G","ReadingRPM":300}],"Redundancy":{}},
		"/redfish/v1/Chassis/1/Sensors?$expand=.":{"@odata.type":"#SensorCollection.SensorCollection","Members":[
			{"@odata.id":"/redfish/v1/Chassis/1/Sensors/x","@odata.type":"#Sensor.v1_0_0.Sensor","Id":"x","Name":"X","ReadingType":"Power","Reading":700,"Thresholds":{"UpperCritical":[]}},{"@odata.id":"/y"}]}}`))
	if err != nil || set.Missing != nil {
		t.Fatal(err, set.Missing)
	}
	if a := sensorIn(t, set, "A"); a.Reading.V != 25.687 || a.Limits.UpperCritical.Set {
		t.Errorf("%+v", a)
	}
	if b := sensorIn(t, set, "B"); b.Reading.Set {
		t.Errorf("%+v", b)
	}
	if c := sensorIn(t, set, "C"); c.Reading.Set {
		t.Errorf("%+v", c)
	}
	if f := sensorIn(t, set, "F"); f.Reading.V != 4400 {
		t.Errorf("%+v", f)
	}
	if x := sensorIn(t, set, "X"); x.Kind != sensorPower || x.Unit != "W" || x.Reading.V != 700 {
		t.Errorf("%+v", x)
	}
}

func FuzzBMCSensors(f *testing.F) {
	f.Add([]byte(`{"ipmi:/sdr":{"sensors":[{"name":"a","kind":"fan","reading":0}]}}`))
	f.Add([]byte(`{"/a":{"@odata.type":"#Power.v1_0_0.Power","PowerSupplies":[{"Name":"x"},{"Name":"x","Status":{"Health":"Critical"}}],"Voltages":[{}]}}`))
	f.Add([]byte("FAN1 | 02h | ok  | 29.1 | 5320 RPM\n"))
	f.Add([]byte("FAN1 | 5320.000 | RPM | cr | 300.0 | 420.0 | 700.0 | na | na | na\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		set, err := parseBMCSensors(&Evidence{Out: out, Source: FromLoose, Ended: EndedUnknown})
		if err == nil && len(set.Sensors) == 0 {
			t.Error("no sensor, and no reason")
		}
		for _, s := range set.Sensors {
			if s.Name == "" || s.Kind == sensorState && s.Reading.Set && !json.Valid(out) {
				t.Errorf("%+v", s)
			}
		}
	})
}
