package burnin

import (
	"slices"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

// storyFindings are an XID, a link, errors above it and an entry of the BMC's log about
// one GPU, and faults of other parts between them.
func storyFindings() []Finding {
	gpu := Part{Class: ClassSXM, Name: "GPU SXM3", Address: "0000:a8:00.0", Serial: "1650"}
	port := About("pcie.errors", "fatal", Part{Class: ClassMachine, Name: "PCIe port 0000:a6:01.0 (above GPU SXM3)", Address: "0000:a6:01.0"})
	port.Peer = gpu.Name
	pair := About("gpu.topology", "path", Part{Class: ClassNVLink, Name: "GPU SXM7", Address: "0000:dd:00.0"})
	pair.Peer = gpu.Name
	fs := []Finding{
		About("gpu.xid", "xid", gpu),
		About("memory.errors", "corrected", Part{Class: ClassDIMM, Name: "DIMM P1-DIMMA1"}),
		About("pcie.link", "width", Part{Class: ClassSXM, Name: "GPU 0000:a8:00.0", Address: gpu.Address}),
		About("bmc.sel", "pcie_fatal", Part{Class: ClassMachine, Name: "PCIe device 0000:a8:00.0", Address: gpu.Address}),
		pair,
		port,
		About("bmc.sel", "gpu_fault", Part{Class: ClassSXM, Name: "GPU SXM3"}),
		About("gpu.ecc", "dram_uncorrected_volatile", Part{Class: ClassSXM, Name: "GPU of the board", Serial: "1650"}),
	}
	for i := range fs {
		fs[i].Verdict, fs[i].Scope = Fail, profiles.Required
	}
	return fs
}

func TestStories(t *testing.T) {
	var got []string
	for _, story := range Stories(storyFindings()) {
		var checks []string
		for _, f := range story {
			checks = append(checks, f.Check+"/"+f.Quantity)
		}
		got = append(got, strings.Join(checks, " "))
	}
	want := []string{
		"gpu.xid/xid pcie.link/width bmc.sel/pcie_fatal pcie.errors/fatal bmc.sel/gpu_fault gpu.ecc/dram_uncorrected_volatile",
		"memory.errors/corrected",
		"gpu.topology/path",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	// Two that a third joins later are one.
	late := []Finding{
		About("bmc.sel", "x", Part{Name: "a", Serial: "1"}), About("gpu.xid", "x", Part{Name: "b", Address: "0000:01:00.0"}),
		About("gpu.ecc", "x", Part{Name: "c", Address: "0000:01:00.0", Serial: "1"}),
	}
	if stories := Stories(late); len(stories) != 1 || len(stories[0]) != 3 {
		t.Errorf("%d stories of one part", len(stories))
	}
	if stories := Stories(nil); len(stories) != 0 {
		t.Errorf("stories of nothing: %v", stories)
	}
}

func TestExcluded(t *testing.T) {
	good := func(check, quantity, part string) Finding {
		f := About(check, quantity, Part{Class: ClassSXM, Name: part})
		f.Verdict = Pass
		return f
	}
	heat, power := good("gpu.thermal", "hw_thermal_slowdown", "GPU SXM3"), good("gpu.power", "hw_power_brake_slowdown", "GPU SXM3")
	library := good("gpu.driver", "library_version", "NVIDIA driver")
	hot := heat
	hot.Verdict = Fail
	warm := good("gpu.thermal", "sw_thermal_slowdown", "GPU SXM3")
	warm.Verdict = Warn
	for _, c := range []struct {
		name     string
		findings []Finding
		want     string
	}{
		{"all", []Finding{heat, power, library}, "heat (gpu.thermal), power (gpu.power), driver mismatch (gpu.driver)"},
		{"not measured", nil, ""},
		{"only of another GPU", []Finding{good("gpu.thermal", "hw_thermal_slowdown", "GPU SXM4")}, ""},
		{"hot", []Finding{hot, power}, "power (gpu.power)"},
		{"warm", []Finding{heat, warm, power}, "power (gpu.power)"},
	} {
		story := Stories(storyFindings())[0]
		j := Judgement{Findings: append(slices.Clone(story), c.findings...)}
		if got := strings.Join(j.Excluded(story), ", "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	j := Judgement{Findings: []Finding{heat, power}}
	if got := j.Excluded(Stories(storyFindings())[1]); got != nil {
		t.Errorf("of a DIMM: %q", got)
	}
	accused := []Finding{hot}
	if got := (&Judgement{Findings: []Finding{hot, power}}).Excluded(accused); !slices.Equal(got, []string{"power (gpu.power)"}) {
		t.Errorf("of a GPU that is hot: %q", got)
	}
}
