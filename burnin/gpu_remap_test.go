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
