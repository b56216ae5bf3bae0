package burnin

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// Stream is the output of STREAM, John McCalpin's measure of memory bandwidth. It
// counts the bytes that the program asks for, in units of 10^6, and not what a
// processor fetches besides before it writes. The stressor stream of stress-ng is not
// read: its own manual says that its figures are not those of STREAM.
var Stream = Probe[StreamLog]{
	Spec:  ProbeSpec{Name: "stream"},
	Parse: parseStream,
}

// StreamLog is what STREAM measured, the best of its rounds. Where it ran several
// times each figure is the best one of all.
type StreamLog struct {
	Copy, Scale, Add, Triad Opt[float64] // MB/s
	Threads                 Opt[float64]
	Array                   Opt[float64] // bytes of each of its three arrays
	Validated               bool         // the results were compared with those that are right
	Failed                  string       // what it says of a wrong result, "" = none
}

var (
	// "Triad:          105256.0     0.027448     0.027362     0.027785"
	streamRow     = regexp.MustCompile(`^(Copy|Scale|Add|Triad):\s+([0-9.]+)\s+[0-9.]+\s+[0-9.]+\s+[0-9.]+$`)
	streamThreads = regexp.MustCompile(`^Number of Threads counted = (\d+)$`)
	streamArray   = regexp.MustCompile(`^Array size = (\d+) \(elements\)`)
	streamWord    = regexp.MustCompile(`^This system uses (\d+) bytes per array element`)
	streamBad     = regexp.MustCompile(`^(?:Failed Validation on array|WEIRD: )`)
)

func parseStream(e *Evidence) (StreamLog, error) {
	body, _ := e.Body()
	var l StreamLog
	word, good, known := 0.0, 0, false
	for line := range strings.Lines(string(body)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "STREAM version"):
			known = true
			good--
		case strings.HasPrefix(line, "Solution Validates:"):
			good++
		case streamBad.MatchString(line) && l.Failed == "":
			l.Failed = line
		}
		if m := streamRow.FindStringSubmatch(line); m != nil {
			l.best(m[1], looseNumber(m[2]))
		}
		if m := streamThreads.FindStringSubmatch(line); m != nil {
			l.Threads = optCount(m[1])
		}
		if m := streamWord.FindStringSubmatch(line); m != nil {
			word = optCount(m[1]).V
		}
		if m := streamArray.FindStringSubmatch(line); m != nil {
			l.Array = scaled(optCount(m[1]), word)
		}
	}
	if !known {
		return StreamLog{}, errors.New("stream: this is no output of STREAM" + firstLine(e.Err))
	}
	l.Validated = good == 0 && l.Failed == ""
	return l, nil
}

func (l *StreamLog) best(kernel string, v Opt[float64]) {
	at := map[string]*Opt[float64]{"Copy": &l.Copy, "Scale": &l.Scale, "Add": &l.Add, "Triad": &l.Triad}[kernel]
	if v.Set && (!at.Set || v.V > at.V) {
		*at = v
	}
}

// streamAll runs STREAM as it was built: the size of its arrays and its rounds are in
// the program. A thread sits on each core, spread over the sockets.
func streamAll(_ *profiles.Profile, d time.Duration) string {
	return fmt.Sprintf("exec env OMP_PROC_BIND=spread OMP_PLACES=cores timeout %d stream", seconds(d))
}
