package shell

import (
	"context"
	"errors"
	"net"

	"golang.org/x/crypto/ssh"
)

// Name is how messages call the host: "root@10.0.13.7".
func (s *SSH) Name() string { return s.host() }

// DialContext opens a TCP connection from the host: the host is the way to what is
// beside it. The connection knows no deadlines, and ends with the one under it. An error
// that wraps ErrLost says that the host is gone; any other is what it says of addr.
func (s *SSH) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	l, err := s.current()
	if err != nil {
		return nil, err
	}
	conn, err := l.client.DialContext(ctx, network, addr)
	var refused *ssh.OpenChannelError
	switch {
	case err == nil, errors.As(err, &refused):
		return conn, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, lost(s.host(), err, "the connection was lost")
}
