package burnin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

// measuredParts are findings of one quantity of as many parts.
func measuredParts(check, quantity string, class Class, values ...float64) []Finding {
	var out []Finding
	for i, v := range values {
		f := About(check, quantity, Part{Class: class, Name: fmt.Sprintf("part %d", i+1), Serial: fmt.Sprintf("S%d", i+1)}, "load/nvidia-smi")
		f.Measured = v
		out = append(out, f)
	}
	return out
}

func TestSiblings(t *testing.T) {
	o := gpuProfile(t, "hgx-h100-8").Outlier
	for _, c := range []struct {
		name      string
		unit      profiles.Unit
		least     *profiles.Limit
		high, low bool
		values    []float64
		odd       string // parts that stand out
	}{
		{"alike", profiles.Watt, o.Power, true, true, []float64{690, 688, 691, 685, 689, 690, 692, 687}, ""},
		{"all the same", profiles.Watt, o.Power, true, true, []float64{690, 690, 690, 690}, ""},
		{"one draws less", profiles.Watt, o.Power, true, true, []float64{690, 688, 691, 512, 689, 690, 692, 687}, "part 4"},
		{"one draws more", profiles.Watt, o.Power, true, true, []float64{500, 505, 700, 502}, "part 3"},
		{"less, and no more than is told", profiles.Watt, o.Power, true, true, []float64{690, 690, 690, 640}, ""},
		{"wide apart, all of them", profiles.Watt, o.Power, true, true, []float64{300, 400, 500, 600, 700, 800}, ""},
		{"one is hot", profiles.Celsius, o.Temperature, true, false, []float64{61, 62, 60, 63, 61, 62, 80, 62}, "part 7"},
		{"one is cool, which is no sign", profiles.Celsius, o.Temperature, true, false, []float64{61, 62, 60, 63, 61, 62, 40, 62}, ""},
		{"little margin", profiles.Celsius, o.Temperature, false, true, []float64{25, 26, 24, 3}, "part 4"},
		{"two of eight", profiles.MHz, o.Clock, false, true, []float64{1700, 1710, 1690, 1400, 1705, 1300, 1700, 1695}, "part 4, part 6"},
		{"one module counts", profiles.Count, o.Errors, true, false, []float64{0, 0, 0, 0, 0, 120}, "part 6"},
		{"a few errors", profiles.Count, o.Errors, true, false, []float64{0, 0, 3, 0}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := compareSiblings(measuredParts("gpu.power", "draw", ClassSXM, c.values...), "", c.unit, c.least, &o, c.high, c.low)
			var odd []string
			for _, f := range found[1:] {
				odd = append(odd, f.Part)
				if f.Verdict != Warn || f.Check != "outlier" || f.Measured == nil || f.Limit != found[0].Measured || f.Serial == "" || f.ID != "outlier/gpu.power.draw/"+f.Part {
					t.Errorf("%+v", f)
				}
			}
			if got := strings.Join(odd, ", "); got != c.odd {
				t.Errorf("%q stand out, want %q", got, c.odd)
			}
			if f := found[0]; f.Verdict != Pass || f.Part != "GPUs" || f.Samples.N != len(c.values) || f.Provenance == nil {
				t.Errorf("the group: %+v", f)
			}
		})
	}
}

// Drives are compared with those of their model, and a machine with few parts has nothing
// to compare.
func TestOutlierOfMachine(t *testing.T) {
	found := gpuAnswers(strained(nil, nil), gpuProfile(t, "one-h100"), outlier)
	if f := found["outlier/all/machine"]; len(found) != 1 || f.Verdict != NotApplicable {
		t.Errorf("one GPU: %+v", found)
	}
	p := gpuProfile(t, "one-h100")
	p.Outlier = profiles.Outlier{}
	if f := gpuAnswers(strained(nil, nil), p, outlier)["outlier/all/machine"]; f.Verdict != NotApplicable {
		t.Errorf("without limits: %+v", f)
	}
	modules := looseHost(map[string][]byte{"after/edac": []byte("mc0: csrow0: CPU_SrcID#0_Channel#0_DIMM#0: 0 Corrected Errors\nmc0: csrow0: CPU_SrcID#0_Channel#1_DIMM#0: 0 Corrected Errors\n" +
		"mc1: csrow0: CPU_SrcID#1_Channel#0_DIMM#0: 0 Corrected Errors\nmc1: csrow1: CPU_SrcID#1_Channel#1_DIMM#0: 31 Corrected Errors\n")})
	found = gpuAnswers(modules, gpuProfile(t, "one-h100"), outlier)
	if f := found["outlier/memory.errors.counted/DIMM CPU_SrcID#1_Channel#1_DIMM#0"]; f.Verdict != Warn || f.Measured != 31.0 {
		t.Errorf("one module counts: %+v", found)
	}
}

func TestOddMachines(t *testing.T) {
	batch := func(values ...float64) []Judgement {
		var js []Judgement
		for i, v := range values {
			f := About("outlier", "gpu.power.draw", Part{Class: ClassSXM, Name: "GPUs"})
			f.Measured, f.Limit, f.Unit, f.Verdict = v, 69.0, "W", Pass
			js = append(js, Judgement{
				Profile: Named{Name: "hgx-h100-8"}, Machine: MachineLine{Name: fmt.Sprintf("m%d", i+1)},
				Compare: &Compare{Parts: 4, Spreads: 3.5}, Findings: []Finding{f},
			})
		}
		return js
	}
	for _, c := range []struct {
		name   string
		values []float64
		odd    string
	}{
		{"alike", []float64{690, 691, 689, 692, 688}, ""},
		{"one draws less", []float64{690, 691, 689, 480, 688}, "m4"},
		{"too few", []float64{690, 691, 480}, ""},
		{"far, and no further than parts may be", []float64{690, 690, 690, 640}, ""},
	} {
		odd := OddMachines(batch(c.values...))
		var names []string
		for _, o := range odd {
			names = append(names, o.Machine)
			if o.Median != 689 && o.Median != 690 || o.Machines != len(c.values) || !strings.Contains(o.Why, "480 W") {
				t.Errorf("%s: %+v", c.name, o)
			}
		}
		if got := strings.Join(names, ", "); got != c.odd {
			t.Errorf("%s: %q stand out, want %q", c.name, got, c.odd)
		}
	}
	mixed := append(batch(690, 691, 689), batch(300)...)
	mixed[3].Profile.Name = "l40s-8"
	if odd := OddMachines(mixed); len(odd) != 0 {
		t.Errorf("another model is compared: %+v", odd)
	}
}
