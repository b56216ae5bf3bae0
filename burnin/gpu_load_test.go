package burnin

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// strainPage is a full query of one H100, with what is stated about load.
const strainPage = `==============NVSMI LOG==============

Driver Version                            : 590.48.01
CUDA Version                              : 13.1

Attached GPUs                             : 1
GPU 00000000:1B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Serial Number                         : 1650100000011
    GPU UUID                              : GPU-00000001-aaaa-bbbb-cccc-000000000000
    Clocks Event Reasons Counters
        HW Thermal Slowdown               : 0 us
        HW Power Braking                  : 0 us
    Temperature
        GPU Current Temp                  : 33 C
        GPU T.Limit Temp                  : 54 C
        GPU Slowdown T.Limit Temp         : -2 C
        Memory Current Temp               : 40 C
        Memory Max Operating T.Limit Temp : 0 C
    GPU Power Readings
        Current Power Limit               : 700.00 W
        Default Power Limit               : 700.00 W
    Applications Clocks
        Graphics                          : 1980 MHz
        Memory                            : 2619 MHz
    Default Applications Clocks
        Graphics                          : 1980 MHz
        Memory                            : 2619 MHz
    Max Clocks
        SM                                : 1980 MHz
        Memory                            : 2619 MHz
`

// strain is one sample under load; a case changes single fields of it.
type strain struct {
	util, celsius, margin, memory, draw, limit, sm, reasons string
}

func (s strain) csv() []byte {
	return fmt.Appendf(nil, "index, pci.bus_id, serial, utilization.gpu [%%], temperature.gpu, temperature.gpu.tlimit, temperature.memory, power.draw [W], power.limit [W], clocks.current.sm [MHz], clocks_event_reasons.active\n"+
		"0, 00000000:1B:00.0, 1650100000011, %s, %s, %s, %s, %s, %s, %s, %s\n\n#rackproof-end 0\n",
		s.util, s.celsius, s.margin, s.memory, s.draw, s.limit, s.sm, s.reasons)
}

var hardWork = strain{"100 %", "63", "24", "71", "690.10 W", "700.00 W", "1980 MHz", "0x0000000000000000"}

// strained is a run with four samples under load, of which change may spoil the third.
func strained(change func(*strain), page func(string) string) *Record {
	began, exit := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC), 0
	rec := &Record{Meta: Meta{Coverage: CoverHost}}
	load := &Evidence{Probe: "nvidia-smi", Phase: PhaseLoad, Source: FromSSH, Ended: EndedExit, Exit: &exit, Started: began}
	for i := range 4 {
		s := hardWork
		if i == 2 && change != nil {
			change(&s)
		}
		load.Samples = append(load.Samples, Sample{At: began.Add(time.Duration(i) * time.Second), Out: s.csv()})
	}
	if page == nil {
		page = func(s string) string { return s }
	}
	full := func(phase Phase, at time.Duration, text string) *Evidence {
		return &Evidence{
			Probe: "nvidia-smi", Phase: phase, Source: FromSSH, Ended: EndedExit, Exit: &exit, Started: began.Add(at),
			Out: []byte(text + "\n#rackproof-end 0\n"),
		}
	}
	rec.Evidence = []*Evidence{full(PhaseBefore, -time.Minute, strainPage), load, full(PhaseAfter, time.Minute, page(strainPage))}
	return rec
}

func inPage(old, now string) func(string) string {
	return func(s string) string {
		if !strings.Contains(s, old) {
			panic("the page does not hold " + old)
		}
		return strings.ReplaceAll(s, old, now)
	}
}

func TestGPUUnderLoad(t *testing.T) {
	const part = "GPU 0000:1b:00.0"
	none := map[string]string{}
	for _, c := range []struct {
		name   string
		change func(*strain)
		page   func(string) string
		want   map[string]string // what is neither pass nor not applicable, without the part
	}{
		{"healthy", nil, nil, none},
		{"at its power limit, which is normal", func(s *strain) { s.reasons, s.sm = "0x0000000000000004", "1700 MHz" }, nil, none},
		{"an idle moment, slow and with its reason", func(s *strain) { s.util, s.reasons, s.sm = "0 %", "0x0000000000000008", "345 MHz" }, nil, none},
		{"no margin left", func(s *strain) { s.margin = "0" }, nil, map[string]string{"gpu.thermal/margin": "fail"}},
		{"beyond its limit", func(s *strain) { s.margin = "-3" }, nil, map[string]string{"gpu.thermal/margin": "fail"}},
		{"hot memory", func(s *strain) { s.memory = "96" }, nil, map[string]string{"gpu.thermal/memory_temperature": "fail"}},
		{"HW thermal slowdown", func(s *strain) { s.reasons = "0x0000000000000048" }, nil, map[string]string{"gpu.thermal/hw_thermal_slowdown": "fail"}},
		{"SW thermal slowdown", func(s *strain) { s.reasons = "0x0000000000000020" }, nil, map[string]string{"gpu.thermal/sw_thermal_slowdown": "warn"}},
		{"power brake", func(s *strain) { s.reasons = "0x0000000000000088" }, nil, map[string]string{"gpu.power/hw_power_brake_slowdown": "fail"}},
		{"HW slowdown that nothing explains", func(s *strain) { s.reasons = "0x0000000000000008" }, nil, map[string]string{"gpu.clocks/hw_slowdown": "fail"}},
		{"application clocks hold it down", func(s *strain) { s.reasons = "0x0000000000000002" }, nil, map[string]string{"gpu.clocks/applications_clocks_setting": "warn"}},
		{"power limit lowered", nil, inPage("Current Power Limit               : 700", "Current Power Limit               : 400"), map[string]string{"gpu.power/limit": "fail"}},
		{"power limit lowered under load", func(s *strain) { s.limit = "500.00 W" }, nil, map[string]string{"gpu.power/limit": "fail"}},
		{"power limit of another model", nil, inPage("700.00 W", "800.00 W"), map[string]string{"gpu.power/default_limit": "fail", "gpu.power/limit": "fail"}},
		{"default power limit not shown after", nil, inPage("Default Power Limit               : 700.00 W", "Default Power Limit               : N/A"), none},
		{"application clock set lower", nil, inPage("Applications Clocks\n        Graphics                          : 1980 MHz\n        Memory                            : 2619 MHz\n    Default", "Applications Clocks\n        Graphics                          : 1410 MHz\n        Memory                            : 2619 MHz\n    Default"), map[string]string{"gpu.clocks/application_graphics": "fail"}},
		{"a driver without application clocks", nil, inPage("Applications Clocks\n        Graphics                          : 1980 MHz\n        Memory                            : 2619 MHz\n", "Applications Clocks\n        Graphics                          : Requested functionality has been deprecated\n        Memory                            : Requested functionality has been deprecated\n"), none},
		{"highest clock of another model", nil, inPage("SM                                : 1980", "SM                                : 1755"), map[string]string{"gpu.clocks/sm_max": "fail"}},
		{"heat between two samples", nil, inPage("HW Thermal Slowdown               : 0 us", "HW Thermal Slowdown               : 5200 us"), map[string]string{"gpu.thermal/hw_thermal_time": "fail"}},
		{"a brake between two samples", nil, inPage("HW Power Braking                  : 0 us", "HW Power Braking                  : 12000000 us"), map[string]string{"gpu.power/hw_power_brake_time": "fail"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := gpuAnswers(strained(c.change, c.page), gpuProfile(t, "one-h100"), gpuClocks, gpuThermal, gpuPower)
			want := map[string]string{}
			for id, answer := range c.want {
				want[id+"/"+part] = answer
			}
			if got := notGoodAnswers(found); !maps.Equal(got, want) {
				t.Errorf("got %v\nwant %v", got, want)
			}
			for _, id := range []string{"gpu.thermal/margin/", "gpu.thermal/hw_thermal_slowdown/", "gpu.power/limit/", "gpu.power/hw_power_brake_slowdown/", "gpu.clocks/sm_max/", "gpu.clocks/hw_slowdown/"} {
				if a := gpuAnswer(found[id+part]); want[id+part] == "" && a != "pass" {
					t.Errorf("%s is %s, want pass", id, a)
				}
			}
		})
	}
}

// What the samples do not show leaves the question open.
func TestGPUUnderLoadOpen(t *testing.T) {
	const part = "/GPU 0000:1b:00.0"
	all := func(change func(*strain)) *Record {
		rec := strained(nil, nil)
		s := hardWork
		change(&s)
		for i := range rec.Evidence[1].Samples {
			rec.Evidence[1].Samples[i].Out = s.csv()
		}
		return rec
	}
	reasons := []string{
		"gpu.thermal/hw_thermal_slowdown", "gpu.thermal/sw_thermal_slowdown", "gpu.power/hw_power_brake_slowdown",
		"gpu.clocks/hw_slowdown", "gpu.clocks/applications_clocks_setting",
	}
	withoutMargin := all(func(s *strain) { s.margin = "[N/A]" })
	for _, e := range withoutMargin.Evidence {
		e.Out = []byte(strings.ReplaceAll(string(e.Out), "T.Limit Temp                  : 54 C", "T.Limit Temp                  : N/A"))
	}
	noLoad := strained(nil, nil)
	noLoad.Evidence = append(noLoad.Evidence[:1:1], noLoad.Evidence[2])
	for _, c := range []struct {
		name string
		rec  *Record
		want []string
	}{
		{"never busy", all(func(s *strain) { s.util = "3 %" }), append([]string{"gpu.thermal/temperature", "gpu.thermal/memory_temperature"}, reasons...)},
		{"no load at all", noLoad, append([]string{"gpu.thermal/temperature", "gpu.thermal/memory_temperature"}, reasons...)},
		{"reasons not shown", all(func(s *strain) { s.reasons = "[N/A]" }), reasons},
		{"reasons cut", all(func(s *strain) { s.reasons = "0x00000000000000" }), reasons},
		{"reasons all ones", all(func(s *strain) { s.reasons = "0xFFFFFFFFFFFFFFFF" }), reasons},
		{"no margin, and no temperature that slows it down", withoutMargin, []string{"gpu.thermal/temperature"}},
		{"memory's temperature not shown", all(func(s *strain) { s.memory = "N/A" }), []string{"gpu.thermal/memory_temperature"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := gpuAnswers(c.rec, gpuProfile(t, "one-h100"), gpuClocks, gpuThermal, gpuPower)
			want := map[string]string{}
			for _, id := range c.want {
				want[id+part] = "not_run"
			}
			if got := notGoodAnswers(found); !maps.Equal(got, want) {
				t.Errorf("got %v\nwant %v", got, want)
			}
		})
	}
}

// A clock that was locked lower gives no reason: only its distance from the highest shows it.
func TestLockedClock(t *testing.T) {
	rec := strained(nil, nil)
	s := hardWork
	s.sm = "1200 MHz"
	for i := range rec.Evidence[1].Samples {
		rec.Evidence[1].Samples[i].Out = s.csv()
	}
	f := gpuAnswers(rec, gpuProfile(t, "one-h100"), gpuClocks)["gpu.clocks/free/GPU 0000:1b:00.0"]
	if f.Verdict != Warn || f.Measured != 60.6 || f.Class != ClassSetting || !strings.Contains(f.Why, "1200 MHz at best") {
		t.Errorf("%+v", f)
	}
}

// GPUs before Hopper print temperatures and no margins.
func TestGPUWithoutMargins(t *testing.T) {
	page := inPage("        GPU T.Limit Temp                  : 54 C\n        GPU Slowdown T.Limit Temp         : -2 C\n", "        GPU Slowdown Temp                 : 89 C\n")
	for celsius, want := range map[string]string{"63": "pass", "88": "pass", "89": "fail", "N/A": "pass"} {
		rec := strained(nil, page)
		for i := range rec.Evidence[1].Samples {
			s := hardWork
			s.margin = "[N/A]"
			if i == 1 {
				s.celsius = celsius
			}
			rec.Evidence[1].Samples[i].Out = s.csv()
		}
		f := gpuAnswers(rec, gpuProfile(t, "one-h100"), gpuThermal)["gpu.thermal/temperature/GPU 0000:1b:00.0"]
		if gpuAnswer(f) != want || f.Limit != 89.0 || f.Samples == nil {
			t.Errorf("at %s °C: %s, %+v", celsius, gpuAnswer(f), f)
		}
	}
}

// A driver that prints the margin in a full query only: where it ends is the limit.
func TestGPUWithMarginsInFullQueries(t *testing.T) {
	for celsius, want := range map[string]string{"63": "pass", "86": "pass", "87": "fail"} {
		rec := strained(nil, nil)
		for i := range rec.Evidence[1].Samples {
			s := hardWork
			s.margin, s.celsius = "[N/A]", celsius
			rec.Evidence[1].Samples[i].Out = s.csv()
		}
		f := gpuAnswers(rec, gpuProfile(t, "one-h100"), gpuThermal)["gpu.thermal/temperature/GPU 0000:1b:00.0"]
		if gpuAnswer(f) != want || f.Limit != 87.0 {
			t.Errorf("at %s °C: %s, %+v", celsius, gpuAnswer(f), f)
		}
	}
}

// The samples' command asks drivers that do not know the new names by the old ones, and
// its exit status is that of the query that answered.
func TestSampleCommandFallsBack(t *testing.T) {
	dir := t.TempDir()
	const tool = `#!/bin/sh
case "$*" in *clocks_event_reasons*) [ -z "$OLD" ] || { echo 'Field "clocks_event_reasons.active" is not a valid field to query.'; exit 2; } ;; esac
echo "index, pci.bus_id, asked"
echo "0, 00000000:1B:00.0, ${1##*,}"
exit ${RC:-0}
`
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte(tool), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ env, asked, end string }{
		{"OLD=", "clocks_event_reasons.active", "#rackproof-end 0"},
		{"OLD=yes", "clocks_throttle_reasons.active", "#rackproof-end 0"},
		{"RC=15", "clocks_event_reasons.active", "#rackproof-end 15"},
	} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", Wrap(nvidiaSampleCommand()))
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), c.env)
		out, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if s := strings.TrimSpace(string(out)); !strings.Contains(s, "1B:00.0, "+c.asked+"\n") || !strings.HasSuffix(s, c.end) || strings.Contains(s, "not a valid") {
			t.Errorf("%s: %s", c.env, s)
		}
	}
}

// Captures of real GPUs: what each shows of itself under load.
func TestStrainOfCaptures(t *testing.T) {
	type row struct {
		file                                     string
		margin, slow, memory, memoryLimit, limit float64
		sm, most, app                            float64
		reasons                                  uint64
		open                                     uint64
	}
	for _, c := range []row{
		{captureH100 + "load-q.txt", 26, 0, 55, 0, 700, 1980, 1980, 0, 0, 0},
		{captureH100 + "load-query-gpu.csv", 26, 0, 54, 0, 700, 1980, 1980, 0, 0, 0},
		{"xml/k8s-test-infra-hw-h100.xml", 58, 0, 37, 0, 700, 345, 1980, 1980, 1, 0},
		{"xml/k8s-test-infra-hw-a100.xml", 0, 89, 34, 95, 400, 210, 1410, 1095, 1, 0},
		{"xml/telegraf-a100-sxm4-v12.xml", 0, 89, 44, 95, 500, 1275, 1410, 1275, 0, 0},
		{"xml/telegraf-tesla-t4.xml", 0, 93, 0, 0, 70, 585, 1590, 585, 0, 0},
		{"azhpc-diag-nvidia-smi-q.out", 0, 89, 40, 95, 400, 210, 1410, 1095, 1, 0},
	} {
		t.Run(c.file, func(t *testing.T) {
			log, err := parseNvidiaSMI(&Evidence{Out: gpuCapture(t, c.file)})
			if err != nil {
				t.Fatal(err)
			}
			g := log.GPUs[0]
			got := row{
				c.file, g.Margin.V, g.SlowdownAt.V, g.MemoryTemperature.V, g.MemoryLimit.V, g.PowerLimit.V,
				g.SMClock.V, g.SMMax.V, g.AppGraphics.V, g.Reasons.V, g.ReasonsOpen,
			}
			if got != c || !g.Reasons.Set || !g.DefaultPower.Set || g.DefaultPower.V != g.PowerLimit.V || len(g.Faults) > 0 {
				t.Errorf("got  %+v\nwant %+v (%+v)", got, c, g.Faults)
			}
		})
	}
}

// One H100 and one L40S, idle and under load, pass; so does what a whole node shows idle,
// but for what only a load shows.
func TestGPULoadCaptures(t *testing.T) {
	checks := []Check{gpuClocks, gpuThermal, gpuPower}
	for name, c := range map[string]struct {
		profile string
		files   map[string]string
	}{
		"H100": {"one-h100", map[string]string{"nvidia-smi": captureH100 + "idle-q.txt", "load/nvidia-smi": captureH100 + "load-q.txt"}},
		"L40S": {"one-l40s", map[string]string{"nvidia-smi": captureL40S + "idle-q.txt", "load/nvidia-smi": captureL40S + "load-q.txt"}},
	} {
		files := map[string][]byte{}
		for ref, file := range c.files {
			files[ref] = gpuCapture(t, file)
		}
		found := gpuAnswers(looseGPU(files), gpuProfile(t, c.profile), checks...)
		t.Log(name, notGoodAnswers(found))
		for id, f := range found {
			if a := gpuAnswer(f); a == "fail" || a == "warn" {
				t.Errorf("%s: %s is %s: %s", name, id, a, f.Why)
			}
		}
	}
	idle := gpuAnswers(looseGPU(map[string][]byte{"nvidia-smi": gpuCapture(t, "xml/k8s-test-infra-hw-h100.xml")}), gpuProfile(t, "hgx-h100-8"), checks...)
	for id, want := range map[string]string{
		"gpu.power/limit/GPU SXM3": "pass", "gpu.clocks/sm_max/GPU SXM3": "pass", "gpu.clocks/application_graphics/GPU SXM3": "pass",
		"gpu.thermal/temperature/GPU SXM3": "not_run", "gpu.clocks/hw_slowdown/GPU SXM3": "not_run",
	} {
		if got := gpuAnswer(idle[id]); got != want {
			t.Errorf("idle node: %s is %s, want %s", id, got, want)
		}
	}
}

// An older profile has no table of reasons: that is no pass.
func TestNoTableOfReasons(t *testing.T) {
	p := gpuProfile(t, "one-h100")
	p.ClockReasons = nil
	found := gpuAnswers(strained(nil, nil), p, gpuClocks, gpuThermal, gpuPower)
	for _, check := range []string{"gpu.clocks", "gpu.thermal", "gpu.power"} {
		if f := found[check+"/reasons/GPU 0000:1b:00.0"]; f.NotRun == "" {
			t.Errorf("%s without a table: %+v", check, f)
		}
	}
	if p := gpuProfile(t, "one-h100"); p.ClockReasons["hw_slowdown"].Verdict != "fail" {
		t.Error("the shipped table is gone")
	}
}

// A sample that is cut anywhere shows the reason that the whole one shows, or none at all.
func TestCutSample(t *testing.T) {
	s := hardWork
	s.reasons = "0x0000000000000048"
	whole, _, _ := cutEndMark(s.csv())
	for i := range whole {
		log, err := parseNvidiaSMI(&Evidence{Out: whole[:i], sample: true})
		if err != nil {
			continue
		}
		for _, g := range log.GPUs {
			if g.Reasons.Set && g.Reasons.V != 0x48 {
				t.Errorf("cut behind %q it reads %#x", whole[:i], g.Reasons.V)
			}
		}
	}
}
