package burnin

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// GDSIO is the output of NVIDIA's gdsio, which the load gdsio runs once for every GPU.
// The word GPUD in it says what was asked for: cuFile goes through main memory without
// another word where it may (gds-nvidia-fs issues 4 and 31).
var GDSIO = Probe[GDSIOLog]{
	Spec:  ProbeSpec{Name: "gdsio"},
	Parse: parseGDSIO,
}

// GDSIOLog is what gdsio said.
type GDSIOLog struct {
	Runs    []GDSIORun
	Failed  []string // lines that tell of an error
	Refused bool     // the fallback through main memory was forbidden, as the command tells
	Done    bool     // our load came to its end
}

// GDSIORun is the line of one run.
type GDSIORun struct {
	GPU       Opt[int] // nvidia-smi's number, as our load tells it
	Kind      string   // "READ", "WRITE", "RANDREAD" …
	Transfer  string   // "GPUD", "CPUONLY", "CPU_GPU"
	Threads   int
	Rate      Opt[float64] // GiB/s
	Ops       Opt[float64]
	Latency   Opt[float64] // µs, mean
	TotalTime Opt[float64] // s
}

var (
	gdsioLine  = regexp.MustCompile(`^IoType: (\S+) XferType: (\S+) Threads: (\d+) .*Throughput: (\S+) GiB/sec, Avg_Latency: (\S+) usecs ops: (\d+) total_time (\S+) secs$`)
	gdsioGPU   = regexp.MustCompile(`^#gdsio gpu (\d+)$`)
	gdsioError = regexp.MustCompile(`(?i)\berror\b|not supported on current file|failed`)
)

const gdsioEnd = "#gdsio end"

// gdsNoCompat forbids cuFile to fall back (NVIDIA's cuFile API reference).
const gdsNoCompat = "CUFILE_ALLOW_COMPAT_MODE=false"

func parseGDSIO(e *Evidence) (GDSIOLog, error) {
	body, _ := e.Body()
	l := GDSIOLog{Refused: strings.Contains(e.Command, gdsNoCompat)}
	var gpu Opt[int]
	for _, line := range append(lines(body), lines(e.Err)...) {
		if m := gdsioGPU.FindStringSubmatch(line); m != nil {
			gpu = Opt[int]{V: atoi(m[1]), Set: true, Text: m[1]}
			continue
		}
		m := gdsioLine.FindStringSubmatch(line)
		switch {
		case m != nil:
			l.Runs = append(l.Runs, GDSIORun{
				GPU: gpu, Kind: m[1], Transfer: m[2], Threads: atoi(m[3]),
				Rate: looseNumber(m[4]), Latency: looseNumber(m[5]), Ops: optCount(m[6]), TotalTime: looseNumber(m[7]),
			})
		case line == gdsioEnd:
			l.Done = true
		case gdsioError.MatchString(line):
			l.Failed = append(l.Failed, line)
		}
	}
	if len(l.Runs) == 0 && len(l.Failed) == 0 {
		return GDSIOLog{}, errors.New("gdsio: the output holds no line of a run" + firstLine(e.Err))
	}
	return l, nil
}

// Reads reports whether the line is of reading into a GPU.
func (g GDSIORun) Reads() bool { return strings.HasSuffix(g.Kind, "READ") && g.Transfer == "GPUD" }

// gdsRead reads the profile's file into one GPU after another. It cannot write: -I 0
// reads, and a file that is not there is not made.
func gdsRead(p *profiles.Profile, d time.Duration) string {
	if p == nil || p.GDS.File == "" {
		return `echo "the profile names no file for gdsio (gds.file)"`
	}
	return fmt.Sprintf(`file=%s
if [ ! -r "$file" ]; then echo "gdsio: $file cannot be read on the node" >&2; exit 1; fi
tool=
for t in gdsio /usr/local/cuda/gds/tools/gdsio /usr/local/cuda-*/gds/tools/gdsio; do
	if command -v "$t" >/dev/null 2>&1; then tool=$t; break; fi
done
if [ -z "$tool" ]; then echo "gdsio is not on the node: package gds-tools brings it" >&2; exit 127; fi
size=$(stat -L -c %%s "$file"); gpus=$(nvidia-smi --query-gpu=index --format=csv,noheader); n=0
for g in $gpus; do n=$((n + 1)); done
if [ "$n" = 0 ]; then echo "gdsio: nvidia-smi lists no GPU" >&2; exit 1; fi
seconds=%d
each=$((seconds / n)); [ "$each" -gt 4 ] || each=5
export %s CUDA_DEVICE_ORDER=PCI_BUS_ID
for g in $gpus; do
	echo "#gdsio gpu $g"
	"$tool" -f "$file" -d "$g" -w 4 -s "$size" -i 1M -I 0 -x 0 -T "$each" || exit 1
done
echo "%s"`, shellQuote(p.GDS.File), seconds(d), gdsNoCompat, gdsioEnd)
}
