package provision

import (
	"slices"
	"testing"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

func TestRepairedSince(t *testing.T) {
	finding := func(class burnin.Class, part string, v burnin.Verdict) burnin.Finding {
		return burnin.Finding{Check: "gpu.xid", Scope: profiles.Required, Class: class, Part: part, Verdict: v}
	}
	before := &burnin.Judgement{Findings: []burnin.Finding{
		finding(burnin.ClassPSU, "PSU Bay 2", burnin.Fail),
		finding(burnin.ClassDIMM, "DIMM A1", burnin.Pass),
		finding(burnin.ClassNVMe, "NVMe bay 4", burnin.Warn),
	}}
	for _, c := range []struct {
		name    string
		repairs []Repaired
		want    []burnin.Class
	}{
		{"what failed", nil, []burnin.Class{burnin.ClassPSU}},
		{"the part that failed", []Repaired{{Part: "Bay 2"}}, []burnin.Class{burnin.ClassPSU}},
		{"another part too", []Repaired{{Part: "DIMM A1"}}, []burnin.Class{burnin.ClassPSU, burnin.ClassDIMM}},
		{"parts that were exchanged", []Repaired{{Swapped: []string{"A1", "bay 4"}}}, []burnin.Class{burnin.ClassPSU, burnin.ClassDIMM, burnin.ClassNVMe}},
		{"a part that nobody knows", []Repaired{{Part: "the lid"}}, []burnin.Class{burnin.ClassPSU, ""}},
		{"a repair, and a word behind it", []Repaired{{Part: "A1"}, {Note: "plugged it"}}, []burnin.Class{burnin.ClassPSU, burnin.ClassDIMM}},
	} {
		if got := repairedSince(before, c.repairs); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := repairedSince(&burnin.Judgement{}, nil); got != nil {
		t.Errorf("nothing failed: %q", got)
	}
}
