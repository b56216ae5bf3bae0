package burnin_test

import (
	"slices"
	"testing"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/nodetest"
)

// A GPU that slows down for heat, and one whose power limit somebody lowered, fail their
// machine under load, and no other part is blamed.
func TestDefectsUnderLoad(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		plant func(*nodetest.Machine)
		want  []string
		odd   bool // stands out among its siblings too
	}{
		{"hot", func(m *nodetest.Machine) { m.GPUs[2].Hot = true }, []string{"gpu.thermal/margin", "gpu.thermal/memory_temperature", "gpu.thermal/hw_thermal_slowdown"}, true},
		{"power limit", func(m *nodetest.Machine) { m.GPUs[5].PowerLimit = 400 }, []string{"gpu.power/limit"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec, to := healthyRecord(t, "hgx-h100-8", burnin.Loads(), c.plant)
			j := to.of(rec)
			var failed, parts, odd []string
			for _, f := range j.Findings {
				switch {
				case f.Verdict == burnin.Fail:
					failed, parts = append(failed, f.Check+"/"+f.Quantity), append(parts, f.Part)
				case f.Check == "outlier" && f.Verdict == burnin.Warn:
					odd = append(odd, f.Part)
				}
			}
			slices.Sort(parts)
			if j.Result != burnin.Failed || !slices.Equal(failed, c.want) || len(slices.Compact(parts)) != 1 {
				t.Errorf("%s: failed %v of %v\n%s", j.Result, failed, parts, describe(j))
			}
			if slices.Contains(odd, parts[0]) != c.odd || len(slices.Compact(odd)) > 1 {
				t.Errorf("stand out: %v, failed is %s", odd, parts[0])
			}
		})
	}
}
