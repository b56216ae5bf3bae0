package burnin

import (
	"errors"
	"regexp"
	"strings"
)

// StressNG is the output of stress-ng, which the load stress-ng runs: it computes and
// compares.
var StressNG = Probe[StressNGLog]{
	Spec:  ProbeSpec{Name: "stress-ng", Tool: "stress-ng", AnyExit: true},
	Parse: parseStressNG,
}

// StressNGLog is what stress-ng said.
type StressNGLog struct {
	Done     bool     // it came to its end, and says that all went well
	Failures []string // results that were wrong
}

// "stress-ng: fail:  [124] cpu: method 'fft' detected wrong result", "stress-ng: info:  [123] successful run completed in 3.02s"
var stressLine = regexp.MustCompile(`stress-ng: (\w+): +\[\d+\] (.*)$`)

func parseStressNG(e *Evidence) (StressNGLog, error) {
	body, _ := e.Body()
	var l StressNGLog
	known := false
	for line := range strings.Lines(string(body) + "\n" + string(e.Err)) {
		m := stressLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		known = true
		switch {
		case m[1] == "fail":
			l.Failures = append(l.Failures, m[2])
		case strings.HasPrefix(m[2], "successful run completed"):
			l.Done = true
		}
	}
	if !known {
		return l, errors.New("stress-ng: this is no output of stress-ng")
	}
	return l, nil
}
