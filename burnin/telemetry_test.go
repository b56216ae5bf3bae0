package burnin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// sampledAs gives a record samples of a probe, one a second.
func sampledAs(rec *Record, probe string, pages ...string) time.Time {
	began, exit := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC), 0
	e := rec.find(PhaseLoad, probe, "")
	if e == nil {
		e = &Evidence{Probe: probe, Phase: PhaseLoad, Source: FromSSH, Ended: EndedExit, Exit: &exit, Started: began}
		rec.Evidence = append(rec.Evidence, e)
	}
	e.Samples = nil
	for i, page := range pages {
		e.Samples = append(e.Samples, Sample{At: began.Add(time.Duration(i) * time.Second), Out: []byte(page + "\n#rackproof-end 0\n")})
	}
	return began
}

func drivePage(temperature string) string {
	return pciSysfsHead + "\n" +
		"dev\t0000:19:00.0\tparent=0000:18:00.0\tclass=0x010802\tvendor=0x144d\tdevice=0xa80a\tcurrent_link_speed=16.0 GT/s PCIe\tcurrent_link_width=4\n" +
		"nvme\t0000:19:00.0\tnvme0\tlive\tS1\tM\n" + temperature +
		"dev\t0000:18:00.0\tparent=-\tclass=0x060400\tvendor=0x8086\tdevice=0x352a\tcurrent_link_speed=16.0 GT/s PCIe\tcurrent_link_width=4\n" +
		"rootaer\t0000:18:00.0\t7\t0\t0\n" + pciSysfsEnd + "2\n"
}

func TestDriveUnderLoad(t *testing.T) {
	limit := &profiles.Limit{Relation: profiles.Max, Value: profiles.Quantity{Value: 70, Unit: profiles.Celsius}, Provenance: profiles.FromAgreed, Source: "the test"}
	drive := nvmePart{Part: Part{Class: ClassNVMe, Name: "NVMe bay 0", Address: "0000:19:00.0"}, Device: "nvme0", Shown: true}
	line := func(milli string) string { return drivePage("temp\t0000:19:00.0\tnvme0\t" + milli + "\n") }
	for _, c := range []struct {
		name  string
		pages []string
		want  string // verdict and what was measured
	}{
		{"cool", []string{line("33850"), line("41850"), line("44850")}, "pass 44.85"},
		{"hot for one sample", []string{line("33850"), line("70850"), line("44850")}, "fail 70.85"},
		{"a kernel that does not show it", []string{drivePage(""), drivePage("")}, ""},
		{"no number", []string{line("unknown"), line("-9999999")}, ""},
		{"a drive that stopped to answer", []string{line("33850"), drivePage("")}, "pass 33.85"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := &Record{Meta: Meta{Coverage: CoverHost}}
			sampledAs(rec, "pci-sysfs", c.pages...)
			got := ""
			for _, f := range driveUnderLoad(NewReadings(rec), drive, limit) {
				got = fmt.Sprintf("%s %v", gpuAnswer(f), f.Measured)
				if f.Samples == nil || f.ID != "nvme.health/temperature_under_load/NVMe bay 0" {
					t.Errorf("%+v", f)
				}
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestHotMinutes(t *testing.T) {
	limit := countLimit(profiles.Max, 0)
	drive := nvmePart{Part: Part{Class: ClassNVMe, Name: "NVMe bay 0"}, Shown: true}
	logs := func(first, last string) []Reading[SMARTLog] {
		var out []Reading[SMARTLog]
		for _, minutes := range []string{first, last} {
			l, err := parseNVMeSmart(&Evidence{Out: []byte(`{"critical_warning":0,"avail_spare":100,"spare_thresh":10,"media_errors":0` + minutes + `}`)})
			out = append(out, Reading[SMARTLog]{Value: l, Err: err})
		}
		return out
	}
	for _, c := range []struct{ first, last, want string }{
		{`,"warning_temp_time":12,"critical_comp_time":1`, `,"warning_temp_time":12,"critical_comp_time":1`, "pass"},
		{`,"warning_temp_time":12,"critical_comp_time":1`, `,"warning_temp_time":14,"critical_comp_time":1`, "fail"},
		{`,"warning_temp_time":12,"critical_comp_time":1`, `,"warning_temp_time":12,"critical_comp_time":2`, "fail"},
		{``, ``, ""},
		{``, `,"warning_temp_time":14`, ""},
	} {
		got := ""
		for _, f := range hotMinutes(drive, logs(c.first, c.last), limit) {
			got = gpuAnswer(f)
		}
		if got != c.want {
			t.Errorf("from %q to %q: %q, want %q", c.first, c.last, got, c.want)
		}
	}
}

// Samples tell when errors came: of a link by its root port, of memory by its own counter.
func TestErrorsUnderLoadHaveATime(t *testing.T) {
	rec := &Record{Meta: Meta{Coverage: CoverHost}}
	quiet := drivePage("")
	loud := strings.Replace(quiet, "rootaer\t0000:18:00.0\t7\t0\t0", "rootaer\t0000:18:00.0\t7\t2\t0", 1)
	began := sampledAs(rec, "pci-sysfs", quiet, quiet, loud, loud)
	module := func(ce int) string {
		return fmt.Sprintf("%s\nmc\tmc0\t0\t0\t0\t0\tx\ndimm\tmc0/dimm0\t%d\t0\tchannel 0\tP1-DIMMA1\n%s1", edacHead, ce, edacEnd)
	}
	sampledAs(rec, "edac", module(0), module(3), module(9))
	r := NewReadings(rec)
	if at := linkErrorsBegan(r, "0000:19:00.0", "nonfatal"); !at.Equal(began.Add(2 * time.Second)) {
		t.Errorf("not fatal errors began at %s", at)
	}
	if at := linkErrorsBegan(r, "0000:19:00.0", "correctable"); !at.IsZero() {
		t.Errorf("corrected errors that do not grow began at %s", at)
	}
	at := memoryErrorsBegan(r, "mc0/dimm0", EDACPlace.corrected)
	if !at.Equal(began.Add(time.Second)) {
		t.Errorf("memory errors began at %s", at)
	}
	when := func() time.Time { return at }
	f := About("memory.errors", "corrected", dimmPart("P1-DIMMA1", "")).Number(9, profiles.Count, countLimit(profiles.Max, 0)).began(when)
	if f.Why != "corrected 9, profile wants at most 0, first at 10:00:01 under load" {
		t.Errorf("%q", f.Why)
	}
	if f := f.Judged(Pass, "").began(when); f.Why != "" {
		t.Errorf("a good answer has a time: %q", f.Why)
	}
}
