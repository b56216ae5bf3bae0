package burnin

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"
)

// GDSCheck is what NVIDIA's gdscheck -p says of GPUDirect Storage. It states what
// is set up, not that data takes the direct path: only gdsio with the fallback
// forbidden, and its counters, prove that.
var GDSCheck = Probe[GDSReport]{
	Spec: ProbeSpec{
		Name: "gdscheck",
		Command: always(`(for g in gdscheck /usr/local/cuda/gds/tools/gdscheck /usr/local/cuda/gds/tools/gdscheck.py /usr/local/cuda-*/gds/tools/gdscheck; do
  command -v "$g" >/dev/null 2>&1 && { "$g" -p; exit $?; }
done; echo "` + notThere("gdscheck") + `" >&2; exit 127)`),
		Phases:   []Phase{PhaseBefore},
		Family:   "nvidia-smi",
		Deadline: 2 * time.Minute,
	},
	Parse: parseGDSCheck,
}

// GDSReport are the lines of gdscheck -p, whose sections depend on its version.
type GDSReport struct {
	Version    string            // of GDS: "1.13.0.11"
	Drivers    map[string]string // "NVMe" → "Supported", "nvfs, compat" …; "NVMe P2PDMA" → "Unsupported"
	Properties map[string]string // "properties.use_compat_mode" → "true"
	GPUs       []GDSGPU
	IOMMU      string   // "disabled"; "" when the platform was not shown
	Warnings   []string // WARN lines
	Verified   Opt[bool]
}

// GDSGPU is a line about one GPU, by CUDA's number, which is not nvidia-smi's.
type GDSGPU struct {
	Index    int
	Name     string
	Supports bool
	IOMMU    string
}

var (
	gdsVersion = regexp.MustCompile(`(?i)GDS release version\s*:\s*(\S+)`)
	// "GPU index 0 NVIDIA RTX A6000 bar:1 bar size (MiB):256 supports GDS, IOMMU State: Pass-through or Enabled"
	gdsGPU = regexp.MustCompile(`^GPU index (\d+) (.*?) bar:.*?(does not support|not support\w*|supports) GDS(?:, IOMMU State: (.*))?$`)
	gdsRow = regexp.MustCompile(`^([A-Za-z][\w .-]*?)\s*:\s*(\S.*)$`)
)

// gdsSections are headings between lines of "=".
var gdsSections = []string{"ENVIRONMENT", "DRIVER CONFIGURATION", "CUFILE CONFIGURATION", "GPU INFO", "PLATFORM INFO"}

func parseGDSCheck(e *Evidence) (GDSReport, error) {
	body, _ := e.Body()
	r := GDSReport{Drivers: map[string]string{}, Properties: map[string]string{}}
	section := ""
	for line := range strings.Lines(string(body)) {
		line = strings.TrimSpace(line)
		if m := gdsVersion.FindStringSubmatch(line); m != nil {
			r.Version = m[1]
		}
		if head := gdsHeading(line); head != "" {
			section = head
			continue
		}
		r.line(section, line)
	}
	if r.Version == "" && len(r.Drivers) == 0 && !r.Verified.Set {
		return GDSReport{}, gdsFailure(string(body) + "\n" + string(e.Err))
	}
	return r, nil
}

func gdsHeading(line string) string {
	for _, s := range gdsSections {
		if strings.TrimSuffix(line, ":") == s {
			return s
		}
	}
	return ""
}

func (r *GDSReport) line(section, line string) {
	low := strings.ToLower(line)
	switch {
	case strings.Contains(low, "platform verification"):
		r.Verified = Opt[bool]{V: strings.Contains(low, "succeeded"), Set: true, Text: line}
	case strings.HasPrefix(low, "warn"):
		r.Warnings = append(r.Warnings, line)
	case strings.HasPrefix(line, "GPU index "):
		if m := gdsGPU.FindStringSubmatch(line); m != nil {
			r.GPUs = append(r.GPUs, GDSGPU{Index: atoi(m[1]), Name: m[2], Supports: m[3] == "supports", IOMMU: m[4]})
		}
	case strings.HasPrefix(line, "IOMMU:"):
		r.IOMMU = strings.TrimSpace(strings.TrimPrefix(line, "IOMMU:"))
	default:
		if m := gdsRow.FindStringSubmatch(line); m != nil {
			switch section {
			case "DRIVER CONFIGURATION":
				r.Drivers[m[1]] = m[2]
			case "CUFILE CONFIGURATION":
				r.Properties[m[1]] = m[2]
			}
		}
	}
}

func gdsFailure(text string) error {
	low := strings.ToLower(text)
	switch {
	case strings.Contains(low, "not in this image"), strings.Contains(low, "not on the node"):
		return errors.New(notThere("gdscheck") + "; install it, or take the check out of the spec")
	case strings.Contains(low, "error"), strings.Contains(low, "failed"):
		line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		return errors.New("gdscheck failed: " + strings.TrimSpace(line))
	default:
		return errors.New("gdscheck: this is no output of gdscheck -p")
	}
}

// Path is how data gets from a drive to a GPU as one row of the drivers says:
// "nvfs" by NVIDIA's driver, "p2pdma" by the kernel, "compat" through main memory,
// "none". ok is false when the row is not shown.
func (r *GDSReport) Path(filesystem string) (path string, ok bool) {
	plain, shown := r.Drivers[filesystem]
	direct, shownDirect := r.Drivers[filesystem+" P2PDMA"]
	if !shown && !shownDirect {
		return "", false
	}
	tokens := strings.FieldsFunc(strings.ToLower(plain), func(c rune) bool { return c == ',' || c == ' ' || c == '|' })
	has := func(word string) bool { return slices.Contains(tokens, word) }
	switch {
	case has("nvfs"), has("supported"):
		return "nvfs", true
	case has("p2pdma"), strings.EqualFold(direct, "Supported"):
		return "p2pdma", true
	case has("compat"):
		return "compat", true
	default:
		return "none", true
	}
}
