package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

// drawing is a machine of a batch whose GPUs draw so much in the median.
func drawing(name string, watts float64) *Machine {
	f := burnin.About("outlier", "gpu.power.draw", burnin.Part{Class: burnin.ClassSXM, Name: "GPUs"})
	f.Measured, f.Limit, f.Unit, f.Verdict, f.Scope = watts, 69.0, "W", burnin.Pass, profiles.Required
	return &Machine{Judgement: burnin.Judgement{
		Result: burnin.Passed, Profile: burnin.Named{Name: "hgx-h100-8"}, Machine: burnin.MachineLine{Name: name},
		Compare: &burnin.Compare{Parts: 4, Spreads: 4}, Findings: []burnin.Finding{f},
	}}
}

// A machine that stands out in its batch is named on the page and in the JSON, and its
// result stays what it is.
func TestBatchNamesMachinesThatStandOut(t *testing.T) {
	var ms []*Machine
	var js []burnin.Judgement
	for i, watts := range []float64{690, 692, 480, 688, 691} {
		m := drawing(fmt.Sprintf("r1u%02d", i+1), watts)
		ms, js = append(ms, m), append(js, m.Judgement)
	}
	var page bytes.Buffer
	if err := BatchHTML(&page, NewBatch("b", "", ms)); err != nil {
		t.Fatal(err)
	}
	const line = "r1u03: gpu.power.draw of its GPUs: 480 W, the median of 5 machines is 690 W"
	if !strings.Contains(page.String(), line) || strings.Contains(page.String(), "r1u02: gpu") || !strings.Contains(page.String(), "5 PASSED") {
		t.Errorf("the page does not say %q", line)
	}
	if odd := NewBatchJSON("b", js).Outliers; len(odd) != 1 || odd[0].Machine != "r1u03" || odd[0].Measured != 480 {
		t.Errorf("%+v", odd)
	}
	if odd := NewBatchJSON("b", js[:2]).Outliers; odd == nil || len(odd) != 0 {
		t.Errorf("of two machines: %+v", odd)
	}
	page.Reset()
	if err := BatchHTML(&page, NewBatch("b", "", ms[:2])); err != nil || strings.Contains(page.String(), "stand out") {
		t.Errorf("a batch of two machines: %v", err)
	}
}

// The text of a machine tells the story of one part once, with what it is not.
func TestTextTellsOneStory(t *testing.T) {
	gpu := burnin.Part{Class: burnin.ClassSXM, Name: "GPU SXM3", Address: "0000:a8:00.0", Serial: "1650"}
	finding := func(check, quantity string, p burnin.Part, v burnin.Verdict, why string) burnin.Finding {
		f := burnin.About(check, quantity, p, "after/x").Judged(v, why)
		f.Scope = profiles.Required
		return f
	}
	j := burnin.Judgement{Line: "FAILED", Findings: []burnin.Finding{
		finding("gpu.xid", "xid", gpu, burnin.Fail, "fell off the bus (XID 79)"),
		finding("bmc.sel", "pcie", burnin.Part{Class: burnin.ClassMachine, Name: "PCIe device 0000:a8:00.0", Address: "0000:a8:00.0"}, burnin.Fail, "A link is lost"),
		finding("gpu.thermal", "hw_thermal_slowdown", gpu, burnin.Pass, ""),
		finding("gpu.power", "hw_power_brake_slowdown", gpu, burnin.Pass, ""),
	}}
	var b strings.Builder
	if err := Text(&b, &j); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"seen  fell off the bus (XID 79)", "PCIe device 0000:a8:00.0 A link is lost (bmc.sel", "not   heat (gpu.thermal), power (gpu.power): excluded",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "also") {
		t.Errorf("two stories of one part:\n%s", b.String())
	}
}
