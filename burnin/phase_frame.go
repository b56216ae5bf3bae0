package burnin

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// PhaseStart is the first line of what a phase prints on the node.
type PhaseStart struct {
	BootID string
	Clock  time.Time     // of the node
	Uptime time.Duration // by which everything after it is timed
}

// String is the line, with its newline.
func (s PhaseStart) String() string {
	return fmt.Sprintf("%s%s %s %s\n", phaseMark, s.BootID, s.Clock.UTC().Format(time.RFC3339), uptime(s.Uptime))
}

// PhaseFrame is what became of one job.
type PhaseFrame struct {
	Name        string
	Ended       Ended // exit, signal, timeout, or lost where it printed too much
	Exit        int
	Began, Done time.Duration // uptime
	Out, Err    []byte
}

// PhaseBegin is the line which says that a job was begun.
func PhaseBegin(name string, at time.Duration) string {
	return "begin " + name + " " + uptime(at) + "\n"
}

// PhaseDone is the last line of a phase.
const PhaseDone = "done\n"

// String is the frame as the node prints it.
func (f PhaseFrame) String() string {
	status := strconv.Itoa(f.Exit)
	switch f.Ended {
	case EndedTimeout:
		status = phaseTimeout
	case EndedLost:
		status = phaseCut
	default:
	}
	return fmt.Sprintf("end %s %s %s %s %d %d\n%s%s\n", f.Name, status, uptime(f.Began), uptime(f.Done), len(f.Out), len(f.Err), f.Out, f.Err)
}

const (
	phaseMark    = "#rackproof-phase "
	phaseTimeout = "timeout"
	phaseCut     = "cut"
	// phaseLine bounds a line between frames.
	phaseLine = 1024
)

func uptime(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) }

// phaseReader reads what a phase prints as it comes, in pieces of any size. It is
// strict: whatever is not a frame ends it, and what is missing then was lost.
type phaseReader struct {
	start func(PhaseStart)
	begin func(name string)
	end   func(PhaseFrame) error

	line    []byte
	started bool
	head    *frameHead // of the frame whose output is being read
	body    []byte
	whole   bool  // the last line was read
	err     error // for good
}

// frameHead is the line before the output of a job.
type frameHead struct {
	PhaseFrame
	status   string
	out, err int // sizes
}

// Write never fails: who sends is not to be held up by what we think of it.
func (r *phaseReader) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && r.err == nil && !r.whole {
		if r.head != nil {
			p = r.takeBody(p)
			continue
		}
		var line []byte
		if line, p = r.takeLine(p); line != nil {
			r.err = r.read(string(line))
		}
	}
	return n, nil
}

// takeLine returns the next line when it is there in full. What a login shell prints
// before the first line of ours is passed over, however long.
func (r *phaseReader) takeLine(p []byte) (line, rest []byte) {
	head, rest, found := bytes.Cut(p, []byte("\n"))
	r.line = append(r.line, head[:min(len(head), max(0, phaseLine+1-len(r.line)))]...)
	if len(r.line) > phaseLine && r.started {
		r.err = fmt.Errorf("a line of more than %d bytes: %.40q", phaseLine, r.line)
	}
	if !found {
		return nil, nil
	}
	line, r.line = r.line, nil
	if line == nil {
		line = []byte{}
	}
	return line, rest
}

// takeBody reads the output of a frame and the newline behind it.
func (r *phaseReader) takeBody(p []byte) (rest []byte) {
	h := r.head
	size := h.out + h.err
	n := min(len(p), size+1-len(r.body))
	r.body = append(r.body, p[:n]...)
	if len(r.body) <= size {
		return nil
	}
	if r.body[size] != '\n' {
		r.err = fmt.Errorf("the output of %s does not end where it should", h.Name)
		return nil
	}
	h.Out, h.Err = r.body[:h.out:h.out], r.body[h.out:size:size]
	r.head, r.body = nil, nil
	r.err = r.end(h.frame())
	return p[n:]
}

// read reads a line between frames.
func (r *phaseReader) read(line string) error {
	if !r.started {
		rest, ok := strings.CutPrefix(line, phaseMark)
		if !ok {
			return nil
		}
		s, err := parsePhaseStart(rest)
		if err == nil {
			r.started = true
			r.start(s)
		}
		return err
	}
	words := strings.Fields(line)
	switch {
	case line+"\n" == PhaseDone:
		r.whole = true
		return nil
	case len(words) == 3 && words[0] == "begin":
		r.begin(words[1])
		return nil
	case len(words) == 7 && words[0] == "end":
		h, err := parsePhaseEnd(words[1:])
		r.head = h
		return err
	}
	return fmt.Errorf("not a line of a phase: %.80q", line)
}

func parsePhaseStart(s string) (PhaseStart, error) {
	words := strings.Fields(s)
	if len(words) != 3 {
		return PhaseStart{}, fmt.Errorf("a phase begins with %.80q, want boot id, clock and uptime", s)
	}
	clock, err := time.Parse(time.RFC3339, words[1])
	if err != nil {
		return PhaseStart{}, fmt.Errorf("clock of the node: %w", err)
	}
	up, err := parseUptime(words[2])
	return PhaseStart{BootID: strings.TrimPrefix(words[0], "-"), Clock: clock, Uptime: up}, err
}

func parsePhaseEnd(words []string) (*frameHead, error) {
	f := &frameHead{PhaseFrame: PhaseFrame{Name: words[0]}, status: words[1]}
	if f.status != phaseTimeout && f.status != phaseCut {
		n, err := strconv.ParseUint(f.status, 10, 8)
		if err != nil {
			return nil, fmt.Errorf("exit status of %.80s: %w", f.Name, err)
		}
		f.Exit = int(n)
	}
	var err error
	if f.Began, err = parseUptime(words[2]); err == nil {
		f.Done, err = parseUptime(words[3])
	}
	if err != nil {
		return nil, err
	}
	for i, to := range []*int{&f.out, &f.err} {
		n, err := strconv.ParseUint(words[4+i], 10, 32)
		if err != nil || n > outputLimit {
			return nil, fmt.Errorf("%s printed %.40s bytes, want at most %d", f.Name, words[4+i], outputLimit)
		}
		*to = int(n)
	}
	return f, nil
}

// frame says how the job ended. A shell tells a signal as an exit status above 128;
// what printed our end mark ended by itself, whatever its status.
func (h *frameHead) frame() PhaseFrame {
	f := h.PhaseFrame
	switch {
	case h.status == phaseTimeout:
		f.Ended = EndedTimeout
	case h.status == phaseCut:
		f.Ended = EndedLost
	case f.Exit > 128 && !endMarked(f.Out):
		f.Ended, f.Exit = EndedSignal, 0
	default:
		f.Ended = EndedExit
	}
	return f
}

func endMarked(out []byte) bool {
	_, _, ok := cutEndMark(out)
	return ok
}

// parseUptime reads seconds with two decimals, as /proc/uptime has them.
func parseUptime(s string) (time.Duration, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 0 && f < 1e9) {
		return 0, fmt.Errorf("uptime %.40q of the node is no number of seconds", s)
	}
	return time.Duration(f * float64(time.Second)).Round(10 * time.Millisecond), nil
}
