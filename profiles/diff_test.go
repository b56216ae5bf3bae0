package profiles

import (
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	lib := Open()
	load := func(name string) *Profile {
		p, err := lib.Profile(name)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if same := load("hgx-h100-8").Diff(load("hgx-h100-8")); len(same) != 0 {
		t.Errorf("a profile differs from itself: %+v", same)
	}
	got := map[string]string{}
	for _, d := range load("hgx-h100-8").Diff(load("l40s-8")) {
		got[d.Path] = strings.TrimSpace(d.Was.String()+" "+d.WasNote) + " > " + strings.TrimSpace(d.Is.String()+" "+d.IsNote)
	}
	for path, want := range map[string]string{
		"gpu.memory":        "81559 MiB > 46068 MiB",
		"nvlink.links":      "18 > ",
		"pcie.gpu.speed":    "32 GT/s > 16 GT/s",
		"checks.gpu.nvlink": " > the L40S has no NVLink",
		"gpu.mig":           "Disabled > ",
	} {
		if got[path] != want {
			t.Errorf("%s: %q, want %q", path, got[path], want)
		}
	}
	if _, ok := got["pcie.gpu.width"]; ok {
		t.Error("a width that is the same differs")
	}
	for _, d := range load("hgx-h100-8").Diff(load("dgx-h100")) {
		if d.Path == "nvme.count" && (d.Was != nil || d.Is.String() != "10") {
			t.Errorf("%+v", d)
		}
	}
}

func TestDraft(t *testing.T) {
	rate := &Limit{Relation: Min, Value: Quantity{Value: 3100, Unit: MBPerSecond}, Provenance: FromMeasured, Source: "four nodes"}
	text, err := Draft("ours", "Ours", "l40s-8", map[string]*Limit{"nvme.read_rate": rate})
	if err != nil {
		t.Fatal(err)
	}
	p, err := ParseProfile("ours.yaml", text, Open())
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if l := p.Limit("nvme.read_rate"); l.String() != "3100 MB/s" || l.Source != "four nodes" || p.Limit("gpu.memory").String() != "46068 MiB" || p.Limit("nothing") != nil {
		t.Errorf("drafted %s", text)
	}
	for _, path := range []string{"nvme.nothing", "nvme", "nvme.read_rate.more", "checks"} {
		if _, err := Draft("ours", "", "l40s-8", map[string]*Limit{path: rate}); err == nil {
			t.Errorf("%s is taken", path)
		}
	}
}
