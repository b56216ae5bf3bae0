package burnin_test

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/nodetest"
	"github.com/rackproof/rackproof/profiles"
)

// A DGX H100 has two more adapters of its rails' model, for storage, whose ports are slower.
func TestRailsBesideStorage(t *testing.T) {
	t.Parallel()
	m, err := nodetest.New("dgx-h100", "bench", 11)
	if err != nil {
		t.Fatal(err)
	}
	for i := 8; i < len(m.NICs); i++ {
		m.NICs[i].Gbps = 200
	}
	text := "schema: rackproof/profile/1\nname: ours\nextends: [dgx-h100, nic/rails-8-ndr]\n"
	p, err := profiles.ParseProfile("ours.yaml", []byte(text), shippedLibrary())
	if err != nil {
		t.Fatal(err)
	}
	spec, err := shippedLibrary().Spec("standard")
	if err != nil {
		t.Fatal(err)
	}
	rec := burnRecord(t, m, p, burnin.Loads())
	if j := burnin.Judge(rec, p, spec); j.Result != burnin.Passed {
		t.Error(describe(j))
	}
	var counts []string
	for _, f := range burnin.Judge(rec, p, spec).Findings {
		if f.Check == "nic.link" && f.Quantity == "count" {
			counts = append(counts, f.Verdict.String())
			if n, _ := f.Measured.(float64); n < 9 {
				t.Errorf("%v adapters of the rails' model: the machine has none for storage", f.Measured)
			}
		}
	}
	if got := strings.Join(counts, " "); got != "pass" {
		t.Errorf("count is %q", got)
	}
}
