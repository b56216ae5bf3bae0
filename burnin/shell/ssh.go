package shell

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/rackproof/rackproof/burnin"
)

const (
	// maxChannels is how many commands run at once on one node. OpenSSH allows 10
	// (MaxSessions), and a person may want to look too.
	maxChannels = 8
	// maxLinks bounds the connections opened because a server has no room left on
	// the first: commands that hang in its kernel hold their places for ever.
	maxLinks = 3
)

// SSH is a burnin.Shell over one SSH connection. Safe for concurrent use.
type SSH struct {
	cfg   SSHConfig
	hops  []hop
	slots chan struct{}

	mu     sync.Mutex
	conn   *link   // where new commands go
	old    []*link // still held open by commands that were left behind
	closed bool
}

var _ burnin.Shell = (*SSH)(nil)

func (s *SSH) host() string { return s.hops[len(s.hops)-1].String() }

// Close ends the connection and every command on it.
func (s *SSH) Close() error {
	s.mu.Lock()
	links := append(s.old, s.conn)
	s.old, s.closed = nil, true
	s.mu.Unlock()
	var err error
	for _, l := range links {
		err = errors.Join(err, l.close())
	}
	return err
}

// Run implements burnin.Shell. The deadline covers the wait for a free channel
// too; a command that passes it is left behind and still counts as one of the
// channels until the server says that it ended.
func (s *SSH) Run(ctx context.Context, c burnin.Command) (burnin.Output, error) {
	c = withDefaults(c)
	st := newStreams(c)
	timed, cancel := context.WithTimeoutCause(ctx, c.Deadline, errDeadline)
	defer cancel()
	select {
	case s.slots <- struct{}{}:
	case <-timed.Done():
		return s.outOfTime(timed, st, fmt.Sprintf("all %d channels are taken by commands that do not end", maxChannels))
	}
	session, l, err := s.open(timed)
	if err != nil {
		<-s.slots
		if timed.Err() != nil {
			return s.outOfTime(timed, st, "it opened no channel")
		}
		return st.output(burnin.EndedLost, nil), err
	}
	session.Stdout, session.Stderr, session.Stdin = &st.out, &st.err, c.Stdin
	done := make(chan error, 1)
	go func() {
		done <- execute(session, remote(c.Line, c.Deadline))
		<-s.slots
	}()
	select {
	case err := <-done:
		return s.ended(st, l, err)
	case <-l.down.Done():
		return st.output(burnin.EndedLost, nil), lost(s.host(), nil, "the connection was lost")
	case <-timed.Done():
		// Neither call is waited for: on a full socket they hang as the command does.
		go func() {
			_ = session.Signal(ssh.SIGKILL)
			_ = session.Close()
		}()
		return s.outOfTime(timed, st, "")
	}
}

var errDeadline = errors.New("deadline of the command passed")

// execute runs a command to its end.
func execute(session *ssh.Session, request string) error {
	if err := session.Start(request); err != nil {
		_ = session.Close()
		return err
	}
	err := session.Wait()
	_ = session.Close()
	return err
}

// outOfTime tells the command's own deadline, which is a way to end, from the
// caller's, which is an error.
func (s *SSH) outOfTime(timed context.Context, st *streams, why string) (burnin.Output, error) {
	if errors.Is(context.Cause(timed), errDeadline) {
		if why != "" {
			return st.output(burnin.EndedTimeout, nil), fault(s.host(), ErrSilent, nil, why, "A command hangs in its kernel: the node needs a reset.")
		}
		return st.output(burnin.EndedTimeout, nil), nil
	}
	return st.output(burnin.EndedLost, nil), fmt.Errorf("%s: %w", s.host(), context.Cause(timed))
}

// ended turns the end of a session into an output.
func (s *SSH) ended(st *streams, l *link, err error) (burnin.Output, error) {
	var (
		exit    *ssh.ExitError
		missing *ssh.ExitMissingError
	)
	switch {
	case err == nil:
		return st.output(burnin.EndedExit, new(int)), nil
	case errors.As(err, &exit) && exit.Signal() != "":
		return st.output(burnin.EndedSignal, nil), nil
	case errors.As(err, &exit):
		code := exit.ExitStatus()
		return st.output(burnin.EndedExit, &code), nil
	case errors.As(err, &missing) && l.down.Err() == nil:
		return st.output(burnin.EndedLost, nil), lost(s.host(), err, "the channel closed without an exit status")
	}
	return st.output(burnin.EndedLost, nil), lost(s.host(), err, "the connection was lost")
}

// open opens a channel. A server that has no room is given time; when that does
// not help, a second connection is opened and used from then on.
func (s *SSH) open(ctx context.Context) (*ssh.Session, *link, error) {
	wait := 50 * time.Millisecond
	for {
		l, err := s.current()
		if err != nil {
			return nil, nil, err
		}
		session, err := newSession(ctx, l)
		var refused *ssh.OpenChannelError
		switch {
		case err == nil:
			return session, l, nil
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case !errors.As(err, &refused):
			return nil, nil, lost(s.host(), err, "the connection was lost")
		case wait > time.Second:
			if err := s.another(ctx, l); err != nil {
				return nil, nil, err
			}
			wait = 50 * time.Millisecond
			continue
		}
		s.cfg.Log.DebugContext(ctx, "ssh server refuses a channel, waiting", "host", s.host(), "reason", refused.Message, "wait", wait)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, nil, ctx.Err()
		}
		wait *= 3
	}
}

func (s *SSH) current() (*link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fault(s.host(), ErrLost, nil, "the connection was closed", "")
	}
	return s.conn, nil
}

// newSession opens a channel without hanging on a peer that is gone.
func newSession(ctx context.Context, l *link) (*ssh.Session, error) {
	type opened struct {
		session *ssh.Session
		err     error
	}
	ch := make(chan opened, 1)
	go func() {
		session, err := l.client.NewSession()
		ch <- opened{session, err}
	}()
	abandon := func() {
		go func() {
			if o := <-ch; o.session != nil {
				_ = o.session.Close()
			}
		}()
	}
	select {
	case o := <-ch:
		return o.session, o.err
	case <-l.down.Done():
		abandon()
		return nil, ErrLost
	case <-ctx.Done():
		abandon()
		return nil, ctx.Err()
	}
}

// another moves on from full, a connection that has no room: to a new one, or in
// turn to the next when there are enough. The old ones stay open for what still
// runs on them.
func (s *SSH) another(ctx context.Context, full *link) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.conn != full {
		return nil // somebody else was faster
	}
	if len(s.old) >= maxLinks-1 {
		s.conn, s.old = s.old[0], append(s.old[1:], full)
		return nil
	}
	l, err := s.dial(ctx)
	if err != nil {
		return err
	}
	s.old, s.conn = append(s.old, full), l
	return nil
}
