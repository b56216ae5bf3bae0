package profiles

import (
	"strings"
	"testing"
)

func TestCompareVersions(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"1.4", "1.4", 0},
		{"1.4", "1.3", 1},
		{"2.9", "2.10", -1},
		{"01.00.26", "11.01.01", -1},
		{"1.4a", "1.4", 1},
		{"1.4b", "1.4a", 1},
		{"1.0", "1.0.0", 0},
		{"1.0", "1.0.1", -1},
		{"F5.11.CB", "F5.11.CA", 1},
		{"42S-2.83", "42R-2.90", 1},
		{"00.02.0150.0000_n00", "00.02.0134.0000_n00", 1},
		{"1.5", "1.4b", 1},
		{"0x29", "0x2A", -1},
		{"0x2b000603", "0x2B0005C0", 1},
		{"0x0FF", "0x100", -1},
		{"0x2A", "0x2a", 0},
		{"F5.11.1B", "F5.11.1A", 1},
		{"F5.11.20", "F5.11.19", 1},
		{"F5.12.19", "F5.11.1A", 1},
		{"V1.2", "v1.2", 0},
		{"", "1", -1},
		{"99999999999999999999999999.1", "99999999999999999999999999.0", 1},
	} {
		if got, ok := CompareVersions(c.a, c.b); got != c.want || !ok {
			t.Errorf("%q against %q: %d, %v, want %d", c.a, c.b, got, ok, c.want)
		}
		if got, ok := CompareVersions(c.b, c.a); got != -c.want || !ok {
			t.Errorf("%q against %q: %d, %v, want %d", c.b, c.a, got, ok, -c.want)
		}
	}
	for _, c := range [][2]string{
		{"0x10", "10"}, {"0x10", "16"}, {"F5.11.19", "F5.11.1A"}, {"F5.11.9F", "F5.11.A0"}, {"F5.11.1A", "F5.11.CB"}, {"1.5", "1.b"}, {"0x29", "2A"}, {"0x29", "28"}, {"0x100", "v7"},
	} {
		for _, pair := range [][2]string{c, {c[1], c[0]}} {
			if order, ok := CompareVersions(pair[0], pair[1]); ok {
				t.Errorf("%q against %q: %d, %v, want no order", pair[0], pair[1], order, ok)
			}
		}
	}
}

func FuzzCompareVersions(f *testing.F) {
	f.Add("1.4a", "BIOS Date: 08/04/2023 Ver 1.4", "0")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if order, ok := CompareVersions(a, a); order != 0 || !ok {
			t.Errorf("%q is not itself", a)
		}
		ab, ok := CompareVersions(a, b)
		if ba, back := CompareVersions(b, a); ab != -ba || ok != back {
			t.Errorf("%q and %q: no order", a, b)
		}
		bc, _ := CompareVersions(b, c)
		if ac, _ := CompareVersions(a, c); ab <= 0 && bc <= 0 && ac > 0 {
			t.Errorf("%q, %q, %q: no order", a, b, c)
		}
	})
}

// TestFirmwareKey: versions stay as they are written, and the order's lie over them.
func TestFirmwareKey(t *testing.T) {
	text := `schema: rackproof/profile/1
name: x
firmware:
  BMC:
    entries: [BMC]
    version: {min: 1.10, provenance: vendor, source: release notes}
  BIOS:
    entries: [BIOS*]
    pattern: 'Ver (\S+)'
    order: 2
    resets: host
    version: {one_of: ["1.4", "1.5b"], provenance: agreed, source: order}
`
	p, err := ParseProfile("x.yaml", []byte(text), Open())
	if err != nil {
		t.Fatal(err)
	}
	if p, err = ParseResolved(p.Bytes()); err != nil {
		t.Fatal(err)
	}
	bmc, bios := p.Firmware["BMC"], p.Firmware["BIOS"]
	if bmc.Version.Text[0] != "1.10" {
		t.Errorf("%+v", bmc.Version)
	}
	for _, c := range []struct {
		of           Firmware
		version      string
		holds, known bool
	}{
		{bmc, "1.10.1", true, true},
		{bmc, "1.9", false, true},
		{bmc, "1.1A", false, false},
		{Firmware{}, "1", false, false},
		{bios, "1.5b", true, true},
		{bios, "1.5", false, true},
		{bios, "1.4", true, true},
		{bios, "1.B", false, true},
	} {
		if holds, known := c.of.Holds(c.version); holds != c.holds || known != c.known {
			t.Errorf("%s of %v: holds %v, known %v", c.version, c.of.Entries, holds, known)
		}
	}
	if v, ok := bios.VersionIn("BIOS Date: 08/04/2023 Ver 1.4"); v != "1.4" || !ok {
		t.Errorf("version %q, %v", v, ok)
	}
	if v, ok := bios.VersionIn("Not Present"); ok {
		t.Errorf("version %q in nothing", v)
	}
	if got := strings.Join(p.FirmwareOrder(), " "); got != "BMC BIOS" {
		t.Errorf("order %s", got)
	}
	with, err := p.WithFirmware(map[string]string{"BMC": "2.0"}, Position{})
	if err != nil {
		t.Fatal(err)
	}
	if l := with.Firmware["BMC"].Version; l.Text[0] != "2.0" || l.Provenance != FromAgreed || p.Firmware["BMC"].Version.Text[0] != "1.10" || with.SHA256() == p.SHA256() {
		t.Errorf("laid over: %+v; before %+v", l, p.Firmware["BMC"].Version)
	}
	paths := map[string]bool{}
	for path := range with.Limits() {
		paths[path] = true
	}
	if !paths["firmware.BMC.version"] || !paths["firmware.BIOS.version"] {
		t.Errorf("limits %v", paths)
	}
	if _, err := p.WithFirmware(map[string]string{"BMX": "2.0"}, Position{}); err == nil || !strings.Contains(err.Error(), "it knows BIOS, BMC") {
		t.Errorf("unknown component: %v", err)
	}
	for wrong, says := range map[string]string{
		"min: 1.10": "max: 1.10", "pattern: 'Ver (\\S+)'": "pattern: 'Ver \\S+'", "entries: [BMC]": "entries: ['[']", "resets: host": "resets: moon",
	} {
		if _, err := ParseProfile("x.yaml", []byte(strings.Replace(text, wrong, says, 1)), Open()); err == nil {
			t.Errorf("%s is taken", says)
		}
	}
}
