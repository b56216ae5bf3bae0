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
		{"1.5", "1.b", 1},
		{"V1.2", "v1.2", 0},
		{"", "1", -1},
		{"99999999999999999999999999.1", "99999999999999999999999999.0", 1},
	} {
		if got := CompareVersions(c.a, c.b); got != c.want {
			t.Errorf("%q against %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := CompareVersions(c.b, c.a); got != -c.want {
			t.Errorf("%q against %q: %d, want %d", c.b, c.a, got, -c.want)
		}
	}
}

func FuzzCompareVersions(f *testing.F) {
	f.Add("1.4a", "BIOS Date: 08/04/2023 Ver 1.4", "0")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if CompareVersions(a, a) != 0 || CompareVersions(a, b) != -CompareVersions(b, a) {
			t.Errorf("%q and %q: no order", a, b)
		}
		if CompareVersions(a, b) <= 0 && CompareVersions(b, c) <= 0 && CompareVersions(a, c) > 0 {
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
	if bmc.Version.Text[0] != "1.10" || !bmc.Holds("1.10.1") || bmc.Holds("1.9") || !bios.Holds("1.5b") || bios.Holds("1.5") {
		t.Errorf("%+v, %+v", bmc.Version, bios.Version)
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
