package shell

import (
	"bytes"
	"io"
	"sync"
	"time"

	"github.com/rackproof/rackproof/burnin"
)

// Defaults of a burnin.Command.
const (
	defaultDeadline = time.Minute
	defaultLimit    = 64 << 20
)

// withDefaults fills in what a command leaves open.
func withDefaults(c burnin.Command) burnin.Command {
	if c.Deadline <= 0 {
		c.Deadline = defaultDeadline
	}
	if c.Limit <= 0 {
		c.Limit = defaultLimit
	}
	return c
}

// stream keeps the first limit bytes written to it. It stays readable while a
// command that was left behind still writes, and it never blocks or fails the
// writer: a full stream swallows, so that the command ends by itself. Where to is set,
// it keeps nothing and hands all on, until it is closed.
type stream struct {
	mu     sync.Mutex
	buf    bytes.Buffer
	limit  int64
	cut    bool
	to     io.Writer
	closed bool
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.to != nil {
		if !s.closed {
			_, _ = s.to.Write(p)
		}
		return len(p), nil
	}
	room := s.limit - int64(s.buf.Len())
	if int64(len(p)) > room {
		s.cut = true
		s.buf.Write(p[:max(room, 0)])
		return len(p), nil
	}
	return s.buf.Write(p)
}

// close ends what is handed on: the caller has gone.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

func (s *stream) bytes() (b []byte, cut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.buf.Bytes()), s.cut
}

// streams are the two of one command.
type streams struct {
	out, err stream
	started  time.Time
}

func newStreams(c burnin.Command) *streams {
	return &streams{out: stream{limit: c.Limit, to: c.Stdout}, err: stream{limit: c.Limit}, started: time.Now()}
}

// output is what there is so far. Output that was cut counts as lost, whatever
// the exit status was: what is missing could have said anything.
func (s *streams) output(ended burnin.Ended, exit *int) burnin.Output {
	o := burnin.Output{Ended: ended, Exit: exit, Started: s.started.UTC(), Seconds: time.Since(s.started).Seconds()}
	var cutOut, cutErr bool
	s.out.close()
	o.Out, cutOut = s.out.bytes()
	o.Err, cutErr = s.err.bytes()
	if cutOut || cutErr {
		o.Ended, o.Exit = burnin.EndedLost, nil
	}
	return o
}
