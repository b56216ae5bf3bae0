package burnin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

// firmwareProfile is a shipped profile with the given versions laid over.
func firmwareProfile(t *testing.T, versions map[string]string) *profiles.Profile {
	t.Helper()
	p := gpuProfile(t, "hgx-h100-8")
	if len(versions) > 0 {
		var err error
		if p, err = p.WithFirmware(versions, profiles.Position{File: "batch.yaml", Line: 3}); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// firmwareRecord is a record with the firmware inventory of a BMC.
func firmwareRecord(probe string, body []byte) *Readings {
	e := &Evidence{Probe: probe, Phase: PhaseBMC, Out: body, Source: FromBMC, Ended: EndedExit}
	return NewReadings(&Record{Meta: Meta{Coverage: CoverFull}, Evidence: []*Evidence{e}})
}

func entries(versions map[string]string) []byte {
	bodies := map[string]any{}
	for id, version := range versions {
		bodies["/redfish/v1/UpdateService/FirmwareInventory/"+id] = map[string]any{
			"@odata.type": "#SoftwareInventory.v1_3_0.SoftwareInventory", "Id": id, "Name": id, "Version": version,
		}
	}
	b, _ := json.Marshal(bodies)
	return b
}

// TestCapturedFirmware finds BMC, BIOS and CPLD on each captured machine, whatever its
// maker calls them, and their versions in what it writes.
func TestCapturedFirmware(t *testing.T) {
	for vendor, want := range map[string]string{
		"dell":          "BMC 6.00.30.00, BIOS 1.8.2, CPLD 1.0.5",
		"hpe":           "BMC 2.72, BIOS 2.60, CPLD 0x30",
		"lenovo":        "BMC 42S-2.83, BIOS 22J-1.51",
		"nvidia_viking": "BMC 23.11.21, BIOS 01.01.03, CPLD 0.2.1.8",
		"supermicro":    "BMC 11.01.01, BIOS 1.4, CPLD F5.11.CB",
	} {
		body := capturedBodies(t, vendor, func(uri string) bool { return strings.HasPrefix(uri, "/redfish/v1/UpdateService/FirmwareInventory/") })
		var got []string
		for _, f := range judgeFirmware(firmwareRecord("bmc-inventory", body), firmwareProfile(t, nil), nil) {
			got = append(got, fmt.Sprint(strings.TrimPrefix(f.Part, "firmware "), " ", f.Measured))
			if f.Scope != profiles.Recorded || f.Verdict != NotApplicable {
				t.Errorf("%s: %+v; without a stated version it is recorded", vendor, f)
			}
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s: %s, want %s", vendor, s, want)
		}
	}
}

func TestFirmwareAgainstTheOrder(t *testing.T) {
	for _, c := range []struct {
		name    string
		has     map[string]string
		want    map[string]string
		verdict map[string]Verdict // by part
		notRun  string
	}{
		{
			name: "as ordered", has: map[string]string{"BMC": "11.01.01", "BIOS": "BIOS Date: 08/04/2023 Ver 1.4"}, want: map[string]string{"BMC": "11.01.01", "BIOS": "1.4"},
			verdict: map[string]Verdict{"firmware BMC": Pass, "firmware BIOS": Pass},
		},
		{
			name: "newer", has: map[string]string{"BMC": "11.10.02"}, want: map[string]string{"BMC": "11.9.30"},
			verdict: map[string]Verdict{"firmware BMC": Pass},
		},
		{
			name: "older", has: map[string]string{"BMC": "01.00.26", "BIOS": "BIOS Date: 05/04/2023 Ver 1.3"}, want: map[string]string{"BMC": "11.01.01", "BIOS": "1.4"},
			verdict: map[string]Verdict{"firmware BMC": Fail, "firmware BIOS": Fail},
		},
		{name: "not listed", has: map[string]string{"BIOS": "1"}, want: map[string]string{"BMC": "1"}, notRun: "lists no firmware entry"},
		{name: "no version in it", has: map[string]string{"BMC": " "}, want: map[string]string{"BMC": "1"}, notRun: "no version is recognised"},
		{name: "which is newer, nothing says", has: map[string]string{"CPLD_Motherboard": "F5.11.19"}, want: map[string]string{"CPLD": "F5.11.1A"}, notRun: "is the newer"},
		{
			name: "hexadecimal, older", has: map[string]string{"CPLD_Motherboard": "0x29"}, want: map[string]string{"CPLD": "0x2A"},
			verdict: map[string]Verdict{"firmware CPLD": Fail},
		},
		{
			name: "no version in the second", has: map[string]string{"BMC": "2.0", "BMC-Primary": ""}, want: map[string]string{"BMC": "1.0"},
			verdict: map[string]Verdict{"firmware BMC BMC": Pass}, notRun: "no version is recognised",
		},
		{
			name: "parts of one kind differ", has: map[string]string{"BMC": "2.0", "BMC-Primary": "1.9"}, want: map[string]string{"BMC": "1.0"},
			verdict: map[string]Verdict{"firmware BMC BMC": Pass, "firmware BMC BMC-Primary": Pass, "firmware BMC": Warn},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := judgeFirmware(firmwareRecord("bmc-inventory", entries(c.has)), firmwareProfile(t, c.want), nil)
			judged := map[string]Verdict{}
			for _, f := range got {
				switch {
				case f.NotRun != "":
					if c.notRun == "" || !strings.Contains(f.NotRun, c.notRun) {
						t.Errorf("not run: %s, want %q", f.NotRun, c.notRun)
					}
					c.notRun = ""
				case f.Scope != profiles.Recorded:
					judged[f.Part] = f.Verdict
					if f.Provenance == nil && f.Quantity == "version" || f.Measured == nil {
						t.Errorf("%+v: where does the limit come from?", f)
					}
				}
			}
			if fmt.Sprint(judged) != fmt.Sprint(c.verdict) && len(judged)+len(c.verdict) > 0 || c.notRun != "" && len(c.verdict) == 0 {
				t.Errorf("judged %v, want %v, not run %q", judged, c.verdict, c.notRun)
			}
		})
	}
}

// TestFirmwareNotRead: an entry that the BMC lists and did not give may be the old one.
func TestFirmwareNotRead(t *testing.T) {
	const at = "/redfish/v1/UpdateService/FirmwareInventory"
	entry := func(id, name string) string {
		return fmt.Sprintf(`"%s/%s":{"@odata.type":"#SoftwareInventory.v1_3_0.SoftwareInventory","Id":%q,"Name":%q,"Version":"2.0"}`, at, id, id, name)
	}
	list := func(more string, ids ...string) string {
		members := make([]string, len(ids))
		for i, id := range ids {
			members[i] = fmt.Sprintf(`{"@odata.id":"%s/%s"}`, at, id)
		}
		return fmt.Sprintf(`"%s":{"@odata.type":"#SoftwareInventoryCollection.SoftwareInventoryCollection","Members":[%s]%s}`, at, strings.Join(members, ","), more)
	}
	for name, c := range map[string]struct {
		body string
		gaps int
	}{
		"all read":                        {list("", "BMC", "BMC-Primary") + "," + entry("BMC", "BMC") + "," + entry("BMC-Primary", "BMC"), 0},
		"one not":                         {list("", "BMC", "BMC-Primary") + "," + entry("BMC", "BMC"), 1},
		"one in a form that nobody reads": {list("", "BMC", "BMC-Primary") + "," + entry("BMC", "BMC") + `,"` + at + `/BMC-Primary":{"unparsed":"<html>"}`, 1},
		"one that is no object":           {entry("BMC", "BMC") + `,"` + at + `/BMC-Primary":"gone"`, 1},
		"another component's not":         {list("", "BMC", "Previous-1-x__BIOS.Setup.1-1") + "," + entry("BMC", "BMC"), 0},
		"known by its name, another not":  {list("", "1", "2") + "," + entry("1", "iLO 6"), 1},
		"a page not":                      {list(`,"Members@odata.nextLink":"`+at+`?$skip=1"`, "BMC") + "," + entry("BMC", "BMC"), 1},
		"absent":                          {list("", "BMC", "BMC-Primary") + "," + entry("BMC", "BMC") + `,"` + at + `/BMC-Primary":{"@odata.type":"#SoftwareInventory.v1_3_0.SoftwareInventory","Status":{"State":"Absent"}}`, 0},
	} {
		passed, gaps := 0, 0
		for _, f := range judgeFirmware(firmwareRecord("bmc-inventory", []byte("{"+c.body+"}")), firmwareProfile(t, map[string]string{"BMC": "1.0"}), nil) {
			switch {
			case f.NotRun != "":
				gaps++
			case f.Verdict == Pass:
				passed++
			}
		}
		if gaps != c.gaps || passed == 0 {
			t.Errorf("%s: %d gaps, want %d; %d passed", name, gaps, c.gaps, passed)
		}
	}
}

// TestFirmwareAfterAnUpdate: what was read after it counts, also when it says nothing.
func TestFirmwareAfterAnUpdate(t *testing.T) {
	p := firmwareProfile(t, map[string]string{"BMC": "2"})
	r := firmwareRecord("bmc-inventory", entries(map[string]string{"BMC": "1"}))
	after := &Evidence{Probe: "firmware", Phase: PhaseBMC, Out: entries(map[string]string{"BMC": "2"}), Source: FromBMC, Ended: EndedExit}
	r.rec.Evidence = append(r.rec.Evidence, after)
	if got := judgeFirmware(NewReadings(r.rec), p, nil); got[0].Verdict != Pass || got[0].Measured != "2" {
		t.Errorf("%+v, want version 2", got[0])
	}
	after.Out = nil
	if got := judgeFirmware(NewReadings(r.rec), p, nil); got[0].NotRun == "" {
		t.Errorf("%+v: nothing was read after the update", got[0])
	}
	if got := judgeFirmware(NewReadings(&Record{Meta: Meta{Coverage: CoverFull}}), p, nil); got[0].NotRun == "" {
		t.Errorf("%+v: no evidence at all", got[0])
	}
}
