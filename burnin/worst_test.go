package burnin_test

import (
	"testing"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

// What a person reads first is the damage, not what was mended on the way.
func TestWorst(t *testing.T) {
	finding := func(check, quantity, part, address string) burnin.Finding {
		return burnin.Finding{Check: check, Quantity: quantity, Part: part, Address: address, Scope: profiles.Required, Verdict: burnin.Fail}
	}
	corrected := finding("memory.errors", "corrected", "DIMM mc0", "")
	uncorrected := finding("memory.errors", "uncorrected", "DIMM mc0", "")
	gone := finding("gpu.count", "present", "GPU GPU1", "0000:06:00.0")
	slow := finding("pcie.link", "width", "GPU GPU0", "0000:05:00.0")
	wrong := finding("identity", "serial", "machine", "")
	for _, c := range []struct {
		name string
		in   []burnin.Finding
		want string
	}{
		{"a GPU that is gone before a corrected error", []burnin.Finding{corrected, gone}, "gpu.count"},
		{"an uncorrected error before a slow link", []burnin.Finding{slow, uncorrected}, "memory.errors"},
		{"the wrong machine before all", []burnin.Finding{uncorrected, slow, wrong}, "identity"},
	} {
		j := burnin.Judgement{Findings: c.in}
		if got := j.Worst(); len(got) != len(c.in) || got[0].Check != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
