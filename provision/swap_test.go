package provision

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

// link is a finding about the link of a part.
func link(part, serial string, v burnin.Verdict) burnin.Finding {
	return linkOf(burnin.ClassNVMe, part, serial, v)
}

func linkOf(class burnin.Class, part, serial string, v burnin.Verdict) burnin.Finding {
	f := burnin.About("pcie.link", "width", burnin.Part{Class: class, Name: part, Serial: serial})
	f.Verdict, f.Scope = v, profiles.Required
	return f
}

func TestSwapSentence(t *testing.T) {
	const fail, pass, unknown = burnin.Fail, burnin.Pass, burnin.Unknown
	before := []burnin.Finding{link("NVMe bay 1", "SN1", fail), link("NVMe bay 2", "SN2", pass), link("NVMe bay 3", "SN3", pass)}
	swap := Repaired{Swapped: []string{"bay 1", "bay 2"}}
	for _, test := range []struct {
		name   string
		after  []burnin.Finding
		repair Repaired
		want   string
	}{
		{"follows", []burnin.Finding{link("NVMe bay 1", "SN2", pass), link("NVMe bay 2", "SN1", fail)}, swap, "fault follows part S/N SN1: it was in NVMe bay 1, and is in NVMe bay 2"},
		{"stays", []burnin.Finding{link("NVMe bay 1", "SN2", fail), link("NVMe bay 2", "SN1", pass)}, swap, "fault stays with slot NVMe bay 1: it was there with S/N SN1, and is with S/N SN2"},
		{"gone", []burnin.Finding{link("NVMe bay 1", "SN2", pass), link("NVMe bay 2", "SN1", pass)}, swap, "gone after reseat: watch NVMe bay 2, S/N SN1"},
		{"both", []burnin.Finding{link("NVMe bay 1", "SN2", fail), link("NVMe bay 2", "SN1", fail)}, swap, "cannot tell: S/N SN1 fails in NVMe bay 2, and S/N SN2 in NVMe bay 1"},
		{"not swapped", []burnin.Finding{link("NVMe bay 1", "SN1", fail), link("NVMe bay 2", "SN2", pass)}, swap, "cannot tell: the parts did not change places, S/N SN1 is in NVMe bay 1 as before"},
		{"not seen", nil, swap, "cannot tell: S/N SN1 is not seen any more, so it is not known whether it is at bay 2"},
		{"not proven at its new place", []burnin.Finding{link("NVMe bay 1", "SN2", pass), link("NVMe bay 2", "SN1", unknown)}, swap, "cannot tell: pcie.link of NVMe bay 1 and NVMe bay 2 is not proven in this attempt"},
		{"in another place than said", []burnin.Finding{link("NVMe bay 1", "SN3", pass), link("NVMe bay 3", "SN1", fail)}, swap, "cannot tell: S/N SN1 is in NVMe bay 3, and not at bay 2"},
		{"another part came", []burnin.Finding{link("NVMe bay 1", "SN9", pass), link("NVMe bay 2", "SN1", fail)}, swap, "cannot tell: S/N SN9 came from elsewhere into NVMe bay 1, where S/N SN2 was to go"},
		{"a third one changed", []burnin.Finding{link("NVMe bay 1", "SN2", pass), link("NVMe bay 2", "SN1", fail), link("NVMe bay 3", "SN7", pass)}, swap, "cannot tell: more than these two parts changed: NVMe bay 3 has S/N SN7, and had S/N SN3"},
		{"no serial now", []burnin.Finding{link("NVMe bay 1", "", pass), link("NVMe bay 2", "SN1", fail)}, swap, "cannot tell: no serial number of NVMe bay 1 is known now, so it is not known which part is in it"},
		{"other places", []burnin.Finding{link("NVMe bay 1", "SN1", pass)}, Repaired{Swapped: []string{"bay 3", "bay 4"}}, "cannot tell: nothing had failed at bay 3 or bay 4 before the swap"},
		{"reseated", []burnin.Finding{link("NVMe bay 1", "SN1", pass)}, Repaired{Note: "Reseated it"}, "gone after reseat: watch NVMe bay 1, S/N SN1"},
		{"cords only", []burnin.Finding{link("NVMe bay 1", "SN1", pass)}, Repaired{Note: "cords out 60 s"}, ""},
		{"followed unasked", []burnin.Finding{link("NVMe bay 5", "SN1", fail)}, Repaired{}, "fault follows part S/N SN1: it was in NVMe bay 1, and is in NVMe bay 5"},
		{"replaced, and fails", []burnin.Finding{link("NVMe bay 1", "SN9", fail)}, Repaired{Note: "replaced"}, "fault stays with slot NVMe bay 1: it was there with S/N SN1, and is with S/N SN9"},
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

// TestSwapOfClasses: what is said of a fault that is gone fits the class of part: nobody
// is told that an SXM module was reseated.
func TestSwapOfClasses(t *testing.T) {
	for class, want := range map[burnin.Class]string{
		burnin.ClassSXM: "gone after the exchange: watch B, S/N SN1", burnin.ClassPCIeGPU: "gone after reseat: watch B, S/N SN1", burnin.ClassDIMM: "gone after reseat: watch B, S/N SN1",
		burnin.ClassNVMe: "gone after reseat: watch B, S/N SN1", burnin.ClassNIC: "gone after reseat: watch B, S/N SN1",
		burnin.ClassPSU: "gone after plugging it anew: watch B, S/N SN1", burnin.ClassCable: "gone after plugging it anew: watch B, S/N SN1",
	} {
		t.Run(string(class), func(t *testing.T) {
			of := func(a, b string, v burnin.Verdict) *burnin.Judgement {
				return &burnin.Judgement{Findings: []burnin.Finding{linkOf(class, "A", a, v), linkOf(class, "B", b, burnin.Pass)}}
			}
			if got := swapSentence(of("SN1", "SN2", burnin.Fail), of("SN2", "SN1", burnin.Pass), Repaired{Swapped: []string{"A", "B"}}); got != want {
				t.Errorf("%q, want %q", got, want)
			}
			got := swapSentence(of("", "SN2", burnin.Fail), of("SN2", "", burnin.Pass), Repaired{Swapped: []string{"A", "B"}})
			if want := "cannot tell: no serial number of A is known, so the part cannot be told from its slot"; got != want {
				t.Errorf("%q, want %q", got, want)
			}
			if got := swapSentence(of("SN1", "SN2", burnin.Fail), of("SN1", "SN2", burnin.Pass), Repaired{Note: "reseated"}); class == burnin.ClassSXM && got != "" {
				t.Errorf("%q of an SXM module", got)
			}
		})
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
