package burnin

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// StressNG is the output of stress-ng, which the load stress-ng runs: it computes and
// compares.
var StressNG = Probe[StressNGLog]{
	Spec:  ProbeSpec{Name: "stress-ng", Tool: "stress-ng", AnyExit: true},
	Parse: parseStressNG,
}

// StressNGMemory is the output of stress-ng, which the load stress-ng-memory runs: it
// writes memory, reads it back and compares.
var StressNGMemory = Probe[StressNGLog]{
	Spec:  ProbeSpec{Name: "stress-ng-memory", Tool: "stress-ng", AnyExit: true},
	Parse: parseStressNG,
}

// StressNGLog is what stress-ng said. It calls a run successful that took no memory and
// did nothing, and one whose workers were skipped: its counts are what proves work.
type StressNGLog struct {
	Done     bool     // it came to its end, and says that all went well
	Failures []string // lines of results that were wrong
	Workers  map[string]int
	Ops      map[string]Opt[float64] // bogo operations of each kind of worker
	Skipped  Opt[float64]            // workers, as are the next two; not told before version 0.16
	Passed   Opt[float64]
	Failed   Opt[float64]
	Memory   Opt[float64] // MiB that our load had it take
}

var (
	// "stress-ng: fail:  [124] cpu: method 'fft' detected wrong result", "stress-ng: info:  [123] successful run completed in 3.02s"
	stressLine    = regexp.MustCompile(`stress-ng: (\w+): +\[\d+\] (.*)$`)
	stressHogs    = regexp.MustCompile(`(\d+) ([a-z][a-z0-9-]*)`)
	stressMetric  = regexp.MustCompile(`^([a-z][a-z0-9-]*) +(\d+) +\d+\.\d+ `)
	stressCount   = regexp.MustCompile(`^(skipped|passed|failed): (\d+)`)
	stressTaken   = regexp.MustCompile(`^#rackproof-memory (\d+) MiB$`)
	stressMistake = regexp.MustCompile(`detected .*\b(?:error|bit|mismatch|wrong)`)
)

func parseStressNG(e *Evidence) (StressNGLog, error) {
	body, _ := e.Body()
	l := StressNGLog{Workers: map[string]int{}, Ops: map[string]Opt[float64]{}}
	known := false
	for _, line := range append(lines(body), lines(e.Err)...) {
		if m := stressTaken.FindStringSubmatch(line); m != nil {
			l.Memory = optCount(m[1])
		}
		if m := stressLine.FindStringSubmatch(line); m != nil {
			known = true
			l.line(m[1], m[2])
		}
	}
	if !known {
		return StressNGLog{}, errors.New("stress-ng: this is no output of stress-ng")
	}
	return l, nil
}

func (l *StressNGLog) line(kind, text string) {
	if kind == "fail" {
		l.Failures = append(l.Failures, text)
		return
	}
	if hogs, ok := strings.CutPrefix(text, "dispatching hogs: "); ok {
		for _, m := range stressHogs.FindAllStringSubmatch(hogs, -1) {
			l.Workers[m[2]] = atoi(m[1])
		}
		return
	}
	if m := stressCount.FindStringSubmatch(text); m != nil {
		count := map[string]*Opt[float64]{"skipped": &l.Skipped, "passed": &l.Passed, "failed": &l.Failed}[m[1]]
		*count = optCount(m[2])
		return
	}
	if m := stressMetric.FindStringSubmatch(text); m != nil {
		l.Ops[m[1]] = optCount(m[2])
		return
	}
	l.Done = l.Done || strings.HasPrefix(text, "successful run completed")
}

// Worked is an error unless every worker of a kind worked to its end. The words at the
// end alone are not believed.
func (l *StressNGLog) Worked(kind string) error {
	n, ops := float64(l.Workers[kind]), l.Ops[kind]
	switch {
	case !l.Done:
		return errors.New("stress-ng did not come to a good end")
	case l.Skipped.V > 0:
		return fmt.Errorf("stress-ng skipped %.0f of its workers, and calls the run successful", l.Skipped.V)
	case l.Failed.V > 0:
		return fmt.Errorf("stress-ng says that %.0f of its workers failed, and not why", l.Failed.V)
	case n == 0:
		return fmt.Errorf("stress-ng does not say that it started workers of %s", kind)
	case l.Passed.Set && l.Passed.V < n:
		return fmt.Errorf("of %.0f workers of stress-ng %.0f passed", n, l.Passed.V)
	case !ops.Set:
		return fmt.Errorf("stress-ng does not show what its workers of %s did", kind)
	case ops.V == 0:
		return fmt.Errorf("the workers of %s did nothing, and stress-ng calls the run successful", kind)
	}
	return nil
}

// mistakes are the lines in which data was wrong; other failures are of the program.
func (l *StressNGLog) mistakes() []string {
	var out []string
	for _, line := range l.Failures {
		if stressMistake.MatchString(line) {
			out = append(out, line)
		}
	}
	return out
}

// stressNGMemory takes as much memory as stressMemory would, in one worker for every
// processor, among which stress-ng divides it. A worker that the kernel ends for want of
// memory is not started again.
func stressNGMemory(p *profiles.Profile, d time.Duration) string {
	return memoryTaken(p, d) + `
echo "#rackproof-memory $mb MiB"
exec stress-ng --vm "$(getconf _NPROCESSORS_ONLN)" --vm-bytes "${mb}M" --vm-method all --vm-keep --oomable --verify --metrics-brief --timeout ` + fmt.Sprintf("%ds", seconds(d))
}
