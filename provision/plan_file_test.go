package provision

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func planned(tb testing.TB) (*PlanFile, *Batch) {
	tb.Helper()
	b := &Batch{Name: "job", Machines: []Machine{{Name: "m1"}, {Name: "m2"}}, Resolved: map[string][]byte{"a": []byte("profile")}}
	f, err := NewPlanFile(b, Qualify(), "/batch.yaml", "v1", []MachinePlan{
		{Machine: "m1", UUID: "u1", Changes: []Change{{Step: "bios", What: "IOMMU", Now: "Enabled", Want: "Disabled"}}},
		{Machine: "m2", Changes: []Change{}, Problem: "silent"},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return f, b
}

func TestPlanFileHolds(t *testing.T) {
	f, b := planned(t)
	if err := f.Fits(b, Qualify()); err != nil {
		t.Error(err)
	}
	names, left := f.Names()
	if !slices.Equal(names, []string{"m1"}) || !slices.Equal(left, []string{"m2"}) {
		t.Errorf("planned %v, left %v", names, left)
	}
	if off := f.Differs(f.Machines[:1]); len(off) != 0 {
		t.Errorf("the plan differs from itself: %v", off)
	}
	moved := *b
	moved.Source = "elsewhere.yaml"
	if err := f.Fits(&moved, Qualify()); err != nil {
		t.Errorf("the same batch in another file: %v", err)
	}
	b.Resolved["a"] = []byte("another profile")
	if err := f.Fits(b, Qualify()); err == nil || !strings.Contains(err.Error(), "was changed since") {
		t.Errorf("another profile: %v", err)
	}
}

func TestPlanFileRefuses(t *testing.T) {
	f, _ := planned(t)
	for _, test := range []struct {
		now  MachinePlan
		want string
	}{
		{MachinePlan{Machine: "m1", UUID: "u2", Changes: f.Machines[0].Changes}, "m1: is another machine"},
		{MachinePlan{Machine: "m1", UUID: "u1"}, "m1: planned and not needed so now: bios: IOMMU Enabled → Disabled"},
		{MachinePlan{Machine: "m1", UUID: "u1", Changes: append([]Change{{Step: "bios", What: "SMT", Now: "On", Want: "Off"}}, f.Machines[0].Changes...)}, "m1: needed now and not planned: bios: SMT On → Off"},
		{MachinePlan{Machine: "m1", Problem: "silent"}, "m1: cannot be planned now: silent"},
		{MachinePlan{Machine: "m9"}, "m9 is not in the plan"},
	} {
		if off := f.Differs([]MachinePlan{test.now}); len(off) != 1 || !strings.Contains(off[0], test.want) {
			t.Errorf("%v, want %q", off, test.want)
		}
	}
}

func TestPlanFileIsReadStrictly(t *testing.T) {
	f, _ := planned(t)
	good, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParsePlanFile(good); err != nil {
		t.Error(err)
	}
	for name, text := range map[string]string{
		"nothing":        "",
		"unknown key":    strings.Replace(string(good), `"made"`, `"maid"`, 1),
		"another schema": strings.Replace(string(good), PlanSchema, "rackproof/plan/9", 1),
		"two plans":      string(good) + string(good),
		"machine twice":  strings.Replace(string(good), `"machine":"m2"`, `"machine":"m1"`, 1),
		"no machine":     `{"schema":"rackproof/plan/1","batch":{"name":"a","file":"f","sha256":"x"},"machines":[]}`,
		"no hash":        strings.Replace(string(good), f.Batch.SHA256, "", 1),
	} {
		if _, err := ParsePlanFile([]byte(text)); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func FuzzParsePlanFile(f *testing.F) {
	good, _ := planned(f)
	text, err := json.Marshal(good)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"schema":"rackproof/plan/1"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParsePlanFile(b)
		if err == nil && (p.Schema != PlanSchema || len(p.Machines) == 0) {
			t.Errorf("taken: %+v", p)
		}
	})
}
