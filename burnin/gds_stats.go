package burnin

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// GDSStats are counters of what took the direct path: those of the driver nvidia-fs,
// and where given those of cuFile (gds_stats). They are read before and after a load;
// the growth between is the proof of a direct path, and nothing else is.
var GDSStats = Probe[GDSCounters]{
	Spec: ProbeSpec{
		Name: "gds-stats",
		Command: func(p *profiles.Profile) string {
			if p == nil || p.GDS.File == "" {
				return ""
			}
			return `if [ -r /proc/driver/nvidia-fs/stats ]; then cat /proc/driver/nvidia-fs/stats; else echo "gds-stats: the driver nvidia-fs is not loaded" >&2; exit 1; fi`
		},
		Phases:   []Phase{PhaseBefore, PhaseAfter},
		Deadline: 15 * time.Second,
	},
	Parse: parseGDSStats,
}

// GDSCounters are what was counted since the driver was loaded, or of one process.
type GDSCounters struct {
	Enabled Opt[bool]    // nvidia-fs counts: "IO stats: Enabled"
	Reads   Opt[float64] // reads that came back by nvidia-fs
	MiB     Opt[float64] // that they brought
	Errors  Opt[float64] // reads that failed
	Direct  Opt[float64] // reads of cuFile by the direct path
	POSIX   Opt[float64] // reads of cuFile through main memory
}

var (
	gdsCounts = regexp.MustCompile(`(?i)\bIO stats:\s*(Enabled|Disabled)`)
	gdsReads  = regexp.MustCompile(`(?m)^Reads\s*:(.*)$`)
	gdsField  = regexp.MustCompile(`\b([A-Za-z_]+)=(\d+)`)
	// "GPU 0 Read: bw=0.69 util(%)=199 n=7316 posix=0 …", "nvfs=28784 posix=0"
	cufileReads = regexp.MustCompile(`(?m)^.*\bposix=\d+.*$`)
)

func parseGDSStats(e *Evidence) (GDSCounters, error) {
	body, _ := e.Body()
	text := string(body)
	var c GDSCounters
	if m := gdsCounts.FindStringSubmatch(text); m != nil {
		c.Enabled = Opt[bool]{V: strings.EqualFold(m[1], "enabled"), Set: true, Text: m[1]}
	}
	for _, m := range gdsReads.FindAllStringSubmatch(text, -1) {
		for _, f := range gdsField.FindAllStringSubmatch(m[1], -1) {
			switch strings.ToLower(f[1]) {
			case "ok":
				c.Reads = optCount(f[2])
			case "readmib", "readmb":
				c.MiB = optCount(f[2])
			case "err":
				c.Errors = optCount(f[2])
			}
		}
	}
	for _, line := range cufileReads.FindAllString(text, -1) {
		line, _, _ = strings.Cut(line, "Write:")
		for _, f := range gdsField.FindAllStringSubmatch(line, -1) {
			switch f[1] {
			case "nvfs", "n":
				c.Direct = optSum(c.Direct, optCount(f[2]))
			case "posix":
				c.POSIX = optSum(c.POSIX, optCount(f[2]))
			}
		}
	}
	if !c.Enabled.Set && !c.POSIX.Set {
		return GDSCounters{}, errors.New("gds-stats: the output shows no counters of nvidia-fs or cuFile" + firstLine(e.Err))
	}
	return c, nil
}
