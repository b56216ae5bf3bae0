package burnin

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// GPUBurn is the output of gpu_burn, which the load gpu-burn runs: every GPU multiplies
// matrices and compares the results.
var GPUBurn = Probe[BurnLog]{
	Spec:  ProbeSpec{Name: "gpu-burn", Tool: "gpu_burn"},
	Parse: parseGPUBurn,
}

// BurnLog is what gpu_burn said.
type BurnLog struct {
	GPUs     []BurnGPU    // by the program's number
	Tested   Opt[float64] // "Tested 8 GPUs:", the head of the last table; not set = it did not come to its end
	Failures []string     // lines by which a GPU could not begin, or broke off

	visible []string // unique ids of the GPUs that it was let see, by its numbers; none = all
}

// BurnGPU is what gpu_burn said of one GPU.
type BurnGPU struct {
	UUID    string // of the list that comes first
	Word    string // of the last table: "OK", "FAULTY"; "" = not in it
	Errors  float64
	Died    bool      // its process gave up
	Rates   []float64 // Gflop/s of each report
	Done    float64   // products of matrices
	Reports int       // how often Done grew
}

// Rate is what the GPU computed in a second, in Gflop/s: the mean of its reports
// without the first, in which it began.
func (g *BurnGPU) Rate() Opt[float64] {
	rates := g.Rates
	if len(rates) > 1 {
		rates = rates[1:]
	}
	s := statsOf(rates)
	if s == nil {
		return Opt[float64]{}
	}
	return Opt[float64]{V: s.Mean, Set: true}
}

var (
	burnListed = regexp.MustCompile(`^GPU (\d+): .*\(UUID: (GPU-\S+)\)$`)
	// "50.0%  proc'd: 2261 (7150 Gflop/s) - 0 (0 Gflop/s)   errors: 0 - 5  (WARNING!)  temps: 38 C - -- "
	// Newer versions add "power: 690 W - 702 W ".
	burnReport = regexp.MustCompile(`^\d+\.\d%\s+proc'd: (.*?)\s+errors: (.*?)\s+temps: (.*?)(?:\s+power: .*)?$`)
	burnDone   = regexp.MustCompile(`(-?\d+) \((\d+) Gflop/s\)`)
	burnErrors = regexp.MustCompile(`(-?\d+)\s*(\(DIED!\))?`)
	burnTested = regexp.MustCompile(`^Tested (\d+) GPUs:$`)
	burnWord   = regexp.MustCompile(`^GPU (\d+): (OK|FAULTY)$`)
	burnFailed = regexp.MustCompile(`Couldn't init|Failure during compute|No clients are alive|No CUDA devices`)
)

// parseGPUBurn reads lines that end in a carriage return too: each report of progress
// overwrites the one before it.
func parseGPUBurn(e *Evidence) (BurnLog, error) {
	body, _ := e.Body()
	l := BurnLog{visible: visibleGPUs(e.Command)}
	for i, uuid := range l.visible[:min(len(l.visible), mostGPUs)] {
		l.gpu(strconv.Itoa(i)).UUID = uuid
	}
	known := false
	for line := range strings.FieldsFuncSeq(string(body)+"\n"+string(e.Err), func(r rune) bool { return r == '\n' || r == '\r' }) {
		known = l.line(strings.TrimSpace(line)) || known
	}
	if !known {
		return l, errors.New("gpu-burn: this is no output of gpu_burn")
	}
	return l, nil
}

// line reads one line and reports whether only this program prints it.
func (l *BurnLog) line(line string) bool {
	if m := burnReport.FindStringSubmatch(line); m != nil {
		l.report(m[1], m[2], m[3])
		return true
	}
	if m := burnListed.FindStringSubmatch(line); m != nil {
		if len(l.visible) > 0 {
			return false // the list is that of nvidia-smi -L, of all GPUs
		}
		if g := l.gpu(m[1]); g != nil {
			g.UUID = m[2]
		}
		return false // nvidia-smi prints the same
	}
	if m := burnTested.FindStringSubmatch(line); m != nil {
		l.Tested = optCount(m[1])
		return true
	}
	if m := burnWord.FindStringSubmatch(line); m != nil {
		if g := l.gpu(m[1]); g != nil && g.Word != "FAULTY" {
			g.Word = m[2]
		}
		return true
	}
	if burnFailed.MatchString(line) {
		l.Failures = append(l.Failures, line)
		return true
	}
	return false
}

// mostGPUs bounds the numbers that are believed to be those of a GPU.
const mostGPUs = 64

func (l *BurnLog) gpu(number string) *BurnGPU {
	n := atoi(number)
	if n >= mostGPUs {
		return nil
	}
	for len(l.GPUs) <= n {
		l.GPUs = append(l.GPUs, BurnGPU{})
	}
	return &l.GPUs[n]
}

// report takes one report of progress. Two that were written into each other do not
// have as many counts of errors as GPUs, and are passed over.
func (l *BurnLog) report(done, wrong, temps string) {
	counts, errs := burnDone.FindAllStringSubmatch(done, -1), burnErrors.FindAllStringSubmatch(wrong, -1)
	if len(counts) != len(errs) || strings.Count(temps, " - ") != len(counts)-1 {
		return
	}
	for i, m := range counts {
		g := l.gpu(strconv.Itoa(i))
		if g == nil {
			return
		}
		n := float64(atoi(m[1]))
		if n < 0 || errs[i][2] != "" {
			g.Died = true
			continue
		}
		g.Errors = max(g.Errors, float64(atoi(errs[i][1])))
		if n > g.Done {
			g.Done = n
			g.Reports++
			g.Rates = append(g.Rates, float64(atoi(m[2])))
		}
	}
}

// gpuBurn runs in the folder of the program, where its kernel is looked for. The program
// reports anew for every line that it reads of nvidia-smi, some 25 times a second: what
// differs from the report before it by its temperatures alone is left out, or a day would
// be a gigabyte.
func gpuBurn(_ *profiles.Profile, d time.Duration) string {
	return fmt.Sprintf(`b=$(command -v gpu_burn); b=$(readlink -f "$b"); cd "${b%%/*}" || exit 1
`+byPCI+`
{
./gpu_burn %d
echo "#rackproof-exit $?"
} | tr '\r' '\n' | awk '
/^#rackproof-exit / { rc = $2; next }
/^[0-9.]+%%  proc/ { now = $0; sub(/^[0-9.]+%%/, "", now); sub(/temps:.*/, "", now); if (now == last) next; last = now }
{ print; fflush() }
END { exit rc }'`, seconds(d))
}
