package burnin

import (
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

// A part that was not sold as new may have rows put aside, and gets none while it is tested.
func TestRowsRemappedInTest(t *testing.T) {
	const id = "gpu.remap/rows_in_test/GPU SXM3"
	inService := &profiles.Spec{Name: "site", Condition: "in-service", Default: profiles.Required}
	judge := func(edits ...gpuEdit) map[string]Finding {
		rec := gpuFolder(t, "gpu-two-h100")
		for _, e := range edits {
			e.apply(t, rec)
		}
		out := map[string]Finding{}
		for _, f := range gpuRemap.Judge(NewReadings(rec), gpuProfile(t, "two-h100"), inService) {
			out[f.ID] = f
		}
		return out
	}
	old := gpuEdit{"before/nvidia-smi", "<remapped_row_corr>0", "<remapped_row_corr>3", 0}
	same := gpuEdit{"after/nvidia-smi", "<remapped_row_corr>0", "<remapped_row_corr>3", 0}
	more := gpuEdit{"after/nvidia-smi", "<remapped_row_corr>0", "<remapped_row_corr>4", 0}
	if f := judge(old, same)[id]; f.Verdict != Pass {
		t.Errorf("three before and after: %+v", f)
	}
	if f := judge(old, more)[id]; f.Verdict != Fail || f.Measured != 1.0 {
		t.Errorf("one more: %+v", f)
	}
}

// Whatever was ordered, a part that replaces another is new: rows that were put aside in
// its life are not as ordered, of that part alone.
func TestRowsOfAReplacement(t *testing.T) {
	refurbished := &profiles.Spec{Name: "site", Condition: profiles.Refurbished, Default: profiles.Required}
	judge := func(replacements ...string) map[string]Finding {
		rec := gpuFolder(t, "gpu-two-h100")
		for _, phase := range []string{"before", "after"} {
			gpuEdit{phase + "/nvidia-smi", "<remapped_row_corr>0", "<remapped_row_corr>700", 0}.apply(t, rec)
		}
		rec.Machine.Replacements = replacements
		out := map[string]Finding{}
		for _, f := range gpuRemap.Judge(NewReadings(rec), gpuProfile(t, "two-h100"), refurbished) {
			out[f.ID] = f
		}
		return out
	}
	const id = "gpu.remap/correctable_rows/GPU SXM3"
	old := judge()[id]
	if old.Verdict == Fail || old.Serial == "" || old.Measured != 700.0 {
		t.Fatalf("of a refurbished part: %+v", old)
	}
	now := judge(old.Serial)
	if f := now[id]; f.Verdict != Fail || f.Class != ClassOrder || f.Why != "not as ordered: 700 rows were remapped after corrected errors" {
		t.Errorf("of a replacement: %+v", f)
	}
	for other, f := range now {
		if f.Verdict == Fail && other != id && f.Serial != old.Serial {
			t.Errorf("%s fails, and was not replaced", other)
		}
	}
	if f := judge("S/N of another part")[id]; f.Verdict == Fail {
		t.Errorf("beside another replacement: %+v", f)
	}
}
