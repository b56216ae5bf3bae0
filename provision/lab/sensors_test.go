package lab

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func testSpec(t *testing.T) Spec {
	t.Helper()
	return NewSpec(1, t.TempDir())
}

func TestSensorNumbersAndFilesAreTheirOwn(t *testing.T) {
	spec := testSpec(t)
	spec.GPUs = 8
	numbers, files := map[byte]string{watchdogSensor: "watchdog"}, map[string]bool{}
	for _, s := range sensorsOf(spec) {
		if other, taken := numbers[s.number]; taken {
			t.Errorf("%s and %s have number %d", s.name, other, s.number)
		}
		if files[s.file()] {
			t.Errorf("two sensors in %s", s.file())
		}
		numbers[s.number], files[s.file()] = s.name, true
		if len(s.name) > 16 {
			t.Errorf("%s does not fit into an SDR", s.name)
		}
		if health := s.health(s.healthy); health != "OK" && !s.absent {
			t.Errorf("%s is %s on a healthy machine", s.name, health)
		}
	}
	if len(numbers) < 17 {
		t.Errorf("%d sensors", len(numbers)-1)
	}
}

func TestSensorsSetAndHeal(t *testing.T) {
	s, err := newSensors(testSpec(t))
	if err != nil {
		t.Fatal(err)
	}
	var heard []string
	s.follow(func(one sensor, from, to byte) {
		for _, e := range one.events(from, to) {
			heard = append(heard, e.Message)
		}
	})
	if err := s.Set("fan2", 700); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(s.dir + "/FAN2"); err != nil || string(b) != "7\n" {
		t.Errorf("file %q, %v", b, err)
	}
	if err := s.Heal("FAN2"); err != nil {
		t.Fatal(err)
	}
	if err := s.Heal("FAN2"); err != nil { // is healthy already
		t.Fatal(err)
	}
	want := []string{
		"FAN2: Lower non-critical going low, reading 700 RPM, threshold 1500 RPM",
		"FAN2: Lower critical going low, reading 700 RPM, threshold 1000 RPM",
		"FAN2: Lower non-critical going low, reading 9100 RPM, threshold 1500 RPM",
		"FAN2: Lower critical going low, reading 9100 RPM, threshold 1000 RPM",
	}
	if !slices.Equal(heard, want) {
		t.Errorf("events\n%s", strings.Join(heard, "\n"))
	}
	for _, bad := range []struct {
		name    string
		reading float64
	}{{"FAN9", 1}, {"CPU0 Temp", 256}, {"CPU0 Temp", -1}} {
		if err := s.Set(bad.name, bad.reading); err == nil {
			t.Errorf("%s was set to %g", bad.name, bad.reading)
		}
	}
}

func TestSensorEvents(t *testing.T) {
	type event struct {
		offset   byte
		deassert bool
		severity string
	}
	cases := map[string]struct {
		sensor   string
		from, to byte
		want     []event
		health   string
	}{
		"over critical":        {"CPU0 Temp", 45, 102, []event{{7, false, "Warning"}, {9, false, "Critical"}}, "Critical"},
		"exactly non-critical": {"CPU0 Temp", 45, 95, []event{{7, false, "Warning"}}, "Warning"},
		"back to non-critical": {"CPU0 Temp", 106, 95, []event{{9, true, "OK"}, {11, true, "OK"}}, "Warning"},
		"nothing crossed":      {"CPU0 Temp", 45, 94, nil, "OK"},
		"stands still":         {"FAN2", 91, 0, []event{{0, false, "Warning"}, {2, false, "Critical"}, {4, false, "Critical"}}, "Critical"},
		"at lower critical":    {"FAN2", 0, 10, []event{{4, true, "OK"}}, "Critical"},
		"input lost":           {"PSU2 Status", psuPresent, psuPresent | psuInputLost, []event{{3, false, "Critical"}}, "Critical"},
		"input back":           {"PSU2 Status", psuPresent | psuInputLost, psuPresent, []event{{3, true, "OK"}}, "OK"},
		"pulled out":           {"PSU2 Status", psuPresent, 0, nil, "OK"},
	}
	all := sensorsOf(testSpec(t))
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := all[slices.IndexFunc(all, func(s sensor) bool { return s.name == c.sensor })]
			var got []event
			for _, e := range s.events(c.from, c.to) {
				if e.Sensor != s.number || e.SensorType != s.sensorType() {
					t.Errorf("event %+v", e)
				}
				got = append(got, event{e.Data[0] & 0xf, e.Deassert, e.Severity})
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("events %+v, want %+v", got, c.want)
			}
			if health := s.health(c.to); health != c.health {
				t.Errorf("health %s, want %s", health, c.health)
			}
		})
	}
}

// The slot that memory faults hit is the one behind the default channel and rank.
func TestECCSlot(t *testing.T) {
	spec := testSpec(t)
	for place, want := range map[[2]int]string{{0, 0}: "DIMM_A1", {1, 0}: "DIMM_B1", {0, 2}: faultyDIMM, {1, 2}: "DIMM_D1"} {
		if got := eccSlot(spec, place[0], place[1]); got != want {
			t.Errorf("channel %d rank %d is %s, want %s", place[0], place[1], got, want)
		}
	}
}
