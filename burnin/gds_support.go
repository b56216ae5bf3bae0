package burnin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// gdsSupport asks whether GPUDirect Storage is set up with a direct path. That data
// takes it is a matter of gds.throughput: "Platform verification succeeded" is
// printed on machines where everything goes through main memory.
var gdsSupport = Check{
	Name:   "gds.support",
	Title:  "GPUDirect Storage is set up with a direct path",
	Probes: []string{"gdscheck"},
	Judge:  judgeGDSSupport,
}

func judgeGDSSupport(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	want := &p.GDS
	gds := ReadAny(r, GDSCheck, PhaseBefore, PhaseAfter)
	aboutPart := func(quantity, part string) Finding {
		return About("gds.support", quantity, Part{Class: ClassDriver, Name: part}, gds.Ref)
	}
	about := func(quantity string) Finding { return aboutPart(quantity, "GPUDirect Storage") }
	if !want.Mode.Set() && !want.Filesystems.Set() && !want.CompatAllowed.Set() && !want.IOMMU.Set() {
		return []Finding{about("mode").NotHere("the profile has no GPUDirect Storage")}
	}
	if !gds.OK() {
		return []Finding{
			about("mode").absent(gds.Err, want.Mode), about("filesystem").absent(gds.Err, want.Filesystems),
			about("compat_mode").absent(gds.Err, want.CompatAllowed), about("iommu").absent(gds.Err, want.IOMMU),
		}
	}
	g := &gds.Value
	out := []Finding{gdsMode(about("mode"), g, want.Mode)}
	out = append(out, gdsFilesystems(aboutPart, g, want.Filesystems)...)
	out = append(out, gdsCompat(about("compat_mode"), g, want.CompatAllowed), gdsIOMMU(about("iommu"), g, want.IOMMU))
	return append(out, gdsRefusals(aboutPart, g)...)
}

// errCompatOnly is why a row that names nothing but the compatible path proves nothing.
// Newer versions of gdscheck print so of sound machines whose cufile.json allows it,
// where older ones say "Unsupported" of those that have no other.
var errCompatOnly = errors.New("gdscheck shows the compatible path only, through main memory: load nvidia-fs, or set allow_compat_mode to false in cufile.json, and test again")

// gdsMode judges the path between NVMe drives and GPUs.
func gdsMode(f Finding, g *GDSReport, want *profiles.Limit) Finding {
	path, ok := g.Path("NVMe")
	if !ok {
		return f.absent(errors.New("gdscheck shows no row for NVMe"), want)
	}
	if path == "compat" && want.Set() {
		return f.Missing(errCompatOnly)
	}
	f = f.Word(path, want)
	if f.Verdict == Fail {
		return f.Because("no direct path between drives and GPUs: NVMe %q, NVMe P2PDMA %q", g.Drivers["NVMe"], g.Drivers["NVMe P2PDMA"])
	}
	return f
}

// gdsFilesystems judges each row that the profile names.
func gdsFilesystems(about func(quantity, part string) Finding, g *GDSReport, want *profiles.Limit) []Finding {
	if !want.Set() {
		return nil
	}
	var out []Finding
	for _, name := range want.Text {
		f := about("filesystem", "GPUDirect Storage of "+name).against(want)
		path, ok := g.Path(name)
		f.Measured, f.Limit = path, "nvfs | p2pdma"
		switch {
		case !ok:
			f = f.Missing(fmt.Errorf("gdscheck shows no row for %s", name))
		case path == "nvfs" || path == "p2pdma":
			f = f.decide(true)
		case path == "compat":
			f = f.Missing(errCompatOnly)
		default:
			f = f.decide(false).Because("%s is %q", name, g.Drivers[name])
		}
		out = append(out, f)
	}
	return out
}

// gdsCompat judges whether cuFile may fall back to main memory without a word.
func gdsCompat(f Finding, g *GDSReport, want *profiles.Limit) Finding {
	for _, name := range []string{"properties.use_compat_mode", "properties.allow_compat_mode"} {
		if value, ok := g.Properties[name]; ok {
			f = f.Word(value, want)
			if f.Verdict == Fail {
				return f.Because("%s is %s: data may go through main memory without any error", name, value)
			}
			return f
		}
	}
	return f.absent(errors.New("gdscheck shows no setting of the compatibility mode"), want)
}

// gdsIOMMU judges the platform's word, and where it is missing what stands with the GPUs.
func gdsIOMMU(f Finding, g *GDSReport, want *profiles.Limit) Finding {
	word := g.IOMMU
	for _, gpu := range g.GPUs {
		if word == "" || gpu.IOMMU != "" && !strings.EqualFold(gpu.IOMMU, "disabled") && strings.EqualFold(word, "disabled") {
			word = gpu.IOMMU
		}
	}
	if word == "" {
		return f.absent(errors.New("gdscheck does not show the IOMMU"), want)
	}
	f = f.Word(word, want)
	if f.Verdict == Fail {
		return f.Because("the IOMMU is %s%s", word, gdsWarning(g))
	}
	return f
}

func gdsWarning(g *GDSReport) string {
	for _, w := range g.Warnings {
		if strings.Contains(strings.ToLower(w), "iommu") {
			return " (" + w + ")"
		}
	}
	return ""
}

// gdsRefusals are the words of gdscheck that say no. Its words that say yes prove
// nothing and make no finding.
func gdsRefusals(about func(quantity, part string) Finding, g *GDSReport) []Finding {
	var out []Finding
	if g.Verified.Set && !g.Verified.V {
		f := about("verification", "GPUDirect Storage")
		f.Measured = g.Verified.Text
		out = append(out, f.Judged(Fail, "gdscheck: "+g.Verified.Text))
	}
	for _, gpu := range g.GPUs {
		if !gpu.Supports {
			f := about("gpu", fmt.Sprintf("CUDA GPU %d", gpu.Index))
			f.Measured = fmt.Sprintf("CUDA GPU %d", gpu.Index)
			out = append(out, f.Judged(Fail, fmt.Sprintf("CUDA GPU %d (%s) does not support GPUDirect Storage", gpu.Index, gpu.Name)))
		}
	}
	return out
}
