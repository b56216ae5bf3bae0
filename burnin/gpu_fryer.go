package burnin

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// GPUFryer is the output of gpu-fryer, which the load gpu-fryer runs: every GPU multiplies
// matrices, and the program watches how many and why a GPU was slowed. It compares no
// result. The text of versions 1.0 to 1.2 is read (huggingface/gpu-fryer, src/main.rs and
// src/logging.rs).
var GPUFryer = Probe[FryerLog]{
	Spec:  ProbeSpec{Name: "gpu-fryer", Tool: "gpu-fryer", AnyExit: true},
	Parse: parseGPUFryer,
}

// FryerLog is what gpu-fryer said.
type FryerLog struct {
	Precision string // "FP32", "BF16", "FP32 BF16" …
	GPUs      []FryerGPU
	Healthy   Opt[bool] // its last word; not set = it did not come to its end
	Reasons   []string  // why it calls a GPU not healthy
	Failures  []string  // lines by which it, or one GPU, broke off
}

// FryerGPU is what gpu-fryer said of one GPU, by CUDA's number.
type FryerGPU struct {
	UUID    string
	Rates   []float64    // Gflop/s of each report in which it had begun
	Reports int          // in which it computed
	Mean    Opt[float64] // Gflop/s, of the last table
	Slowed  map[string]int
	Listed  bool // in the last table
}

var (
	fryerFound   = regexp.MustCompile(`^Detected GPU #(\d+): .*\(((?:GPU-)?[0-9a-f]{8}-[0-9a-f-]{27})\)$`)
	fryerUsing   = regexp.MustCompile(`^Using precision\(s\):(.*)$`)
	fryerReport  = regexp.MustCompile(`^(\d+ \(\d+ Gflops/s\).*?) \| Temperatures: (.*?) \| Throttling: (.*)$`)
	fryerRate    = regexp.MustCompile(`^(\d+) \((\d+) Gflops/s\)$`)
	fryerTable   = regexp.MustCompile(`^GPU #(\d+):\s+([0-9.]+) Gflops/s \(min: [0-9.]+, max: [0-9.]+, dev: [0-9.]+\)$`)
	fryerSlowed  = regexp.MustCompile(`^Throttling HW: (true|false), Thermal SW: (true|false), Thermal HW: (true|false)$`)
	fryerReason  = regexp.MustCompile(`^- (GPU \d+ - .*)$`)
	fryerFailed  = regexp.MustCompile(`Unable to (?:burn GPU|initialize NVML|poll)|panicked at|^Error: `)
	fryerHealthy = map[string]bool{"All GPUs seem healthy": true, "Some GPUs are not healthy. Reasons:": false}
)

// fryerReasons are its words for why a GPU runs slower, by the names of a profile's table.
// It says "None" too where several reasons hold at once, so None proves nothing.
var fryerReasons = map[string]string{
	"HW slowdown": "hw_slowdown", "Thermal SW": "sw_thermal_slowdown", "Thermal HW": "hw_thermal_slowdown",
}

// gpuFryerBad are what gpu-fryer prints of a GPU that did nothing, and of what it could
// not go on with; a GPU that breaks off leaves the exit status at 0.
var gpuFryerBad = []string{"reported 0 FLOPS", "Unable to burn GPU", "panicked at"}

func parseGPUFryer(e *Evidence) (FryerLog, error) {
	body, _ := e.Body()
	var l FryerLog
	known, last := false, ""
	for _, line := range append(lines(body), lines(e.Err)...) {
		known = l.line(line, &last) || known
	}
	if !known {
		return FryerLog{}, errors.New("gpu-fryer: this is no output of gpu-fryer" + firstLine(e.Err))
	}
	return l, nil
}

// line reads one line and reports whether only this program prints it. last is the GPU of
// the last table that the lines below it are about.
func (l *FryerLog) line(line string, last *string) bool {
	if m := fryerReport.FindStringSubmatch(line); m != nil {
		l.report(strings.Split(m[1], " - "), strings.Split(m[2], " - "), strings.Split(m[3], " - "))
		return true
	}
	if m := fryerFound.FindStringSubmatch(line); m != nil {
		if g := l.gpu(m[1]); g != nil {
			g.UUID = "GPU-" + strings.TrimPrefix(m[2], "GPU-")
		}
		return true
	}
	if m := fryerUsing.FindStringSubmatch(line); m != nil {
		l.Precision = strings.Join(strings.Fields(m[1]), " ")
		return true
	}
	if m := fryerTable.FindStringSubmatch(line); m != nil {
		if g := l.gpu(m[1]); g != nil {
			g.Mean, g.Listed, *last = looseNumber(m[2]), true, m[1]
		}
		return true
	}
	if m := fryerSlowed.FindStringSubmatch(line); m != nil && *last != "" {
		g := l.gpu(*last)
		for i, name := range []string{"hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown"} {
			if m[i+1] == "true" {
				g.slow(name, 0)
			}
		}
		return true
	}
	if healthy, ok := fryerHealthy[line]; ok {
		l.Healthy = Opt[bool]{V: healthy, Set: true, Text: line}
		return true
	}
	if m := fryerReason.FindStringSubmatch(line); m != nil {
		l.Reasons = append(l.Reasons, m[1])
		return true
	}
	if fryerFailed.MatchString(line) {
		l.Failures = append(l.Failures, line)
	}
	return false // others print such words too
}

func (l *FryerLog) gpu(number string) *FryerGPU {
	n := atoi(number)
	if n >= mostGPUs {
		return nil
	}
	for len(l.GPUs) <= n {
		l.GPUs = append(l.GPUs, FryerGPU{})
	}
	return &l.GPUs[n]
}

func (g *FryerGPU) slow(reason string, times int) {
	if g.Slowed == nil {
		g.Slowed = map[string]int{}
	}
	g.Slowed[reason] += times
}

// report takes one report of progress. It stands in the order of the GPUs that are
// tested; one that does not tell of every GPU alike was written over and is passed over.
func (l *FryerLog) report(rates, temps, reasons []string) {
	read := make([]Opt[float64], len(rates))
	for i, word := range rates {
		if m := fryerRate.FindStringSubmatch(strings.TrimSpace(word)); m != nil {
			read[i] = looseNumber(m[2])
		}
	}
	unread := slices.ContainsFunc(read, func(v Opt[float64]) bool { return !v.Set })
	if unread || len(rates) != len(temps) || len(rates) != len(reasons) || len(rates) > mostGPUs {
		return
	}
	for i, rate := range read {
		g := l.gpu(strconv.Itoa(i))
		if rate.V > 0 {
			g.Reports++
			g.Rates = append(g.Rates, rate.V)
		}
		if reason := fryerReasons[strings.TrimSpace(reasons[i])]; reason != "" {
			g.slow(reason, 1)
		}
	}
}

// fryerShortest is the shortest time that gpu-fryer takes.
const fryerShortest = 10 * time.Second

// gpuFryer multiplies in FP32 on every GPU: of the precisions the one that every GPU has.
// Its own limits are opened wide, since the profile's count. Until version 1.1 it looks for
// NVIDIA's library in the place of Debian only.
func gpuFryer(_ *profiles.Profile, d time.Duration) string {
	return byPCI + fmt.Sprintf(`lib=$(ldconfig -p 2>/dev/null | awk '/libnvidia-ml\.so\.1 / { print $NF; exit }')
exec gpu-fryer ${lib:+--nvml-lib-path "$lib"} --use-fp32 --tflops-tolerance 100 --tolerate-software-throttling %d`, seconds(max(d, fryerShortest)))
}
