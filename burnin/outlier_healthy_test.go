package burnin_test

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
)

// Of a healthy machine every quantity under load is compared, and nothing stands out; one
// GPU that draws much less than the others does, and fails nothing by that.
func TestOutlierOfARun(t *testing.T) {
	t.Parallel()
	rec, to := healthyHGX(t)
	quantities := map[string]bool{}
	for _, f := range to.of(rec).Findings {
		if f.Check == "outlier" {
			quantities[f.Quantity] = true
			if f.Verdict != burnin.Pass {
				t.Errorf("a healthy machine: %s is %s: %s", f.ID, f.Verdict, f.Why)
			}
		}
	}
	for _, want := range []string{"gpu.thermal.margin", "gpu.thermal.memory_temperature", "gpu.power.draw", "gpu.clocks.sm", "gpu.copy.host_to_device", "gpu.copy.peer", "gpu.compute.rate", "nvme.health.temperature_under_load", "memory.errors.counted"} {
		if !quantities[want] {
			t.Errorf("%s is not compared: %v", want, quantities)
		}
	}
	load := evidenceOf(t, rec, "load/nvidia-smi")
	for i, s := range load.Samples {
		lines := strings.Split(string(s.Out), "\n")
		for k, line := range lines {
			if cells := strings.Split(line, ", "); len(cells) > 14 && cells[1] == "3" {
				for c := range cells {
					if strings.HasSuffix(cells[c], " W") && c == 13 {
						cells[c] = "402.00 W"
					}
				}
				lines[k] = strings.Join(cells, ", ")
			}
		}
		load.Samples[i].Out = []byte(strings.Join(lines, "\n"))
	}
	j := to.of(rec)
	var odd []burnin.Finding
	for _, f := range j.Findings {
		if f.Check == "outlier" && f.Verdict == burnin.Warn {
			odd = append(odd, f)
		}
	}
	if len(odd) != 1 || odd[0].Quantity != "gpu.power.draw" || odd[0].Measured != 402.0 || odd[0].Serial == "" || j.Result != burnin.Passed {
		t.Errorf("%s: %+v", j.Result, odd)
	}
}
