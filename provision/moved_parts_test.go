package provision

import (
	"slices"
	"testing"

	"github.com/rackproof/rackproof/burnin"
)

// TestReplacements: a part is new in the machine where earlier attempts told the serial
// numbers of its kind, and not this one; parts that changed places are not.
func TestReplacements(t *testing.T) {
	earlier := map[string][]string{"NVMe": {"SN1", "SN2"}, "GPU": {"G1"}}
	now := &burnin.Judgement{Findings: []burnin.Finding{
		link("NVMe bay 1", "SN2", burnin.Pass), link("NVMe bay 2", "SN9", burnin.Pass), link("NVMe bay 2", "SN9", burnin.Fail),
		link("GPU SXM1", "G1", burnin.Pass), link("GPU SXM2", "", burnin.Pass), link("DIMM A1", "D1", burnin.Pass),
	}}
	if got := replacements(earlier, now); !slices.Equal(got, []string{"SN9"}) {
		t.Errorf("%q, want the one that came into bay 2", got)
	}
	if got := replacements(nil, now); got != nil {
		t.Errorf("%q, and nothing is known of before", got)
	}
}
