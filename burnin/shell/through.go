package shell

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

// Name is how messages call the host: "root@10.0.13.7".
func (s *SSH) Name() string { return s.host() }

// DialContext opens a TCP connection from the host: the host is the way to what is
// beside it. The connection knows no deadlines, and ends with the one under it. An error
// that wraps ErrLost says that the host is gone, and ErrForbidden that it lets nobody
// through; any other is what it says of addr, and wraps syscall.ECONNREFUSED where that
// refused.
func (s *SSH) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	l, err := s.current()
	if err != nil {
		return nil, err
	}
	conn, err := l.client.DialContext(ctx, network, addr)
	var refused *ssh.OpenChannelError
	switch {
	case err == nil:
		return &tunnel{Conn: conn, host: s.host(), down: l.down}, nil
	case errors.As(err, &refused) && (refused.Reason == ssh.Prohibited || refused.Reason == ssh.UnknownChannelType):
		return nil, fault(s.host(), ErrForbidden, err, "lets nobody through to "+addr,
			"Allow it there: AllowTcpForwarding and PermitOpen of its sshd_config, and the options of the key.")
	case errors.As(err, &refused) && strings.Contains(strings.ToLower(refused.Message), "refused"):
		return nil, refusedThere{err}
	case errors.As(err, &refused):
		return nil, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, lostHop(s.host(), err)
}

// refusedThere is a connection that was refused behind the host, which has words for it
// only.
type refusedThere struct{ error }

func (r refusedThere) Unwrap() []error { return []error{r.error, syscall.ECONNREFUSED} }

func lostHop(host string, err error) error {
	return fault(host, ErrLost, err, "the connection was lost", "Is it up, and the network to it?")
}

// tunnel is a connection through a host. Whether it ended at its far end or with the
// host below is told apart: the error of the latter wraps ErrLost.
type tunnel struct {
	net.Conn
	host string
	down context.Context
}

func (t *tunnel) Read(b []byte) (int, error) {
	n, err := t.Conn.Read(b)
	return n, t.blame(err)
}

func (t *tunnel) Write(b []byte) (int, error) {
	n, err := t.Conn.Write(b)
	return n, t.blame(err)
}

// downWords is how long the end of a connection may become known after that of what it
// carried.
const downWords = 20 * time.Millisecond

func (t *tunnel) blame(err error) error {
	if err == nil {
		return nil
	}
	wait := time.NewTimer(downWords)
	defer wait.Stop()
	select {
	case <-t.down.Done():
		return lostHop(t.host, err)
	case <-wait.C:
		return err
	}
}
