package burnin_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/nodetest"
	"github.com/rackproof/rackproof/profiles"
)

// A burn-in of a simulated machine makes the layout behind all that it measures, where a
// person agrees, and a fault of the last GPU is that GPU's.
func TestMIGBurn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		fault  nodetest.MIGFault
		agreed bool
		result burnin.Result
		worst  string // "quantity: verdict" of gpu.mig that is not pass
	}{
		{"healthy", "", true, burnin.Passed, ""},
		{"refused", nodetest.MIGRefused, true, burnin.Failed, "cuda: unknown, instances: fail"},
		{"missing", nodetest.MIGMissing, true, burnin.Failed, "cuda: unknown, instances: fail"},
		{"blocked", nodetest.MIGBlocked, true, burnin.Incomplete, "cuda: unknown, instances: unknown"},
		{"stays", nodetest.MIGStays, true, burnin.Failed, "left: fail"},
		{"nobody agrees", "", false, burnin.Incomplete, "trial: unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m, err := nodetest.New("hgx-h100-8", "bench", 11)
			if err != nil {
				t.Fatal(err)
			}
			m.MIGFault = c.fault
			to := judgedAs(t, m)
			to.profile.GPU.MIGLayout = &profiles.Limit{Relation: profiles.Equal, Text: []string{"1x 3g.40gb, 4x 1g.10gb"}, Provenance: profiles.FromAgreed, Source: "the order"}
			to.profile.GPU.MIGLeave = profiles.MIGRemoved
			rec := burnRecord(t, m, to.profile, burnin.LoadsFor(burnin.Loads(), to.spec, burnin.Consent{MIG: c.agreed}))
			at := slices.IndexFunc(rec.Evidence, func(e *burnin.Evidence) bool { return e.Ref() == "after/mig-trial" })
			if (at >= 0) != c.agreed {
				t.Fatalf("a trial was made: %v", at >= 0)
			}
			j := burnin.Judge(rec, to.profile, to.spec)
			var worst []string
			for _, f := range j.Findings {
				if f.Check == "gpu.mig" && f.Verdict > burnin.Pass {
					worst = append(worst, f.Quantity+": "+f.Verdict.String())
				}
			}
			for _, n := range j.NotRun {
				if n.Check == "gpu.mig" {
					worst = append(worst, n.Quantity+": unknown")
				}
			}
			slices.Sort(worst)
			if got := strings.Join(slices.Compact(worst), ", "); got != c.worst || j.Result != c.result {
				t.Errorf("%s, %s; want %s, %s: %v", j.Result, got, c.result, c.worst, j.NotRun)
			}
		})
	}
}
