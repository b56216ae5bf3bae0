package provision

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

// link is a finding about the link of a part.
func link(part, serial string, v burnin.Verdict) burnin.Finding {
	f := burnin.About("pcie.link", "width", burnin.Part{Class: burnin.ClassNVMe, Name: part, Serial: serial})
	f.Verdict, f.Scope = v, profiles.Required
	return f
}

func TestSwapSentence(t *testing.T) {
	before := []burnin.Finding{link("NVMe bay 1", "SN1", burnin.Fail), link("NVMe bay 2", "SN2", burnin.Pass)}
	swap := Repaired{Swapped: []string{"bay 1", "bay 2"}}
	for _, test := range []struct {
		name   string
		after  []burnin.Finding
		repair Repaired
		want   string
	}{
		{"follows", []burnin.Finding{link("NVMe bay 1", "SN2", burnin.Pass), link("NVMe bay 2", "SN1", burnin.Fail)}, swap, "fault follows part S/N SN1: it was in NVMe bay 1, and is in NVMe bay 2"},
		{"stays", []burnin.Finding{link("NVMe bay 1", "SN2", burnin.Fail), link("NVMe bay 2", "SN1", burnin.Pass)}, swap, "fault stays with slot NVMe bay 1: it was there with S/N SN1, and is with S/N SN2"},
		{"gone", []burnin.Finding{link("NVMe bay 1", "SN2", burnin.Pass), link("NVMe bay 2", "SN1", burnin.Pass)}, swap, "gone after reseat: watch NVMe bay 1, S/N SN1"},
		{"both", []burnin.Finding{link("NVMe bay 1", "SN2", burnin.Fail), link("NVMe bay 2", "SN1", burnin.Fail)}, swap, ""},
		{"not swapped", []burnin.Finding{link("NVMe bay 1", "SN1", burnin.Fail)}, swap, "the parts did not change places: S/N SN1 is in NVMe bay 1 as before"},
		{"not measured", nil, swap, ""},
		{"other places", []burnin.Finding{link("NVMe bay 1", "SN2", burnin.Pass)}, Repaired{Swapped: []string{"bay 3", "bay 4"}}, ""},
		{"reseated", []burnin.Finding{link("NVMe bay 1", "SN1", burnin.Pass)}, Repaired{Note: "Reseated it"}, "gone after reseat: watch NVMe bay 1, S/N SN1"},
		{"cords only", []burnin.Finding{link("NVMe bay 1", "SN1", burnin.Pass)}, Repaired{Note: "cords out 60 s"}, ""},
		{"followed unasked", []burnin.Finding{link("NVMe bay 5", "SN1", burnin.Fail)}, Repaired{}, "fault follows part S/N SN1: it was in NVMe bay 1, and is in NVMe bay 5"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := swapSentence(&burnin.Judgement{Findings: before}, &burnin.Judgement{Findings: test.after}, test.repair)
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	if hasLabel("DIMM P1-DIMMA11", "DIMMA1") {
		t.Error("one label was taken for another")
	}
}

func TestParseSwap(t *testing.T) {
	if got, err := ParseSwap(" A1 <-> B1 "); err != nil || strings.Join(got, "|") != "A1|B1" {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "A1", "A1<->", "<->B1", "A1<->a1", "A1->B1"} {
		if _, err := ParseSwap(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
