package shell

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"time"

	"golang.org/x/crypto/ssh"
)

const (
	defaultTimeout   = 20 * time.Second
	defaultKeepalive = 5 * time.Second
)

// DialSSH connects to a node, through its jump hosts where there are any. The
// connection ends with Close, not with ctx. The error names the hop that failed
// and is one of ErrHostKey, ErrAuth and ErrSilent, or a *ConfigError.
func DialSSH(ctx context.Context, cfg SSHConfig) (*SSH, error) {
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.Keepalive <= 0 {
		cfg.Keepalive = defaultKeepalive
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{}).DialContext
	}
	hops, err := cfg.resolve()
	if err != nil {
		return nil, &ConfigError{err}
	}
	s := &SSH{cfg: cfg, hops: hops, slots: make(chan struct{}, maxChannels)}
	if s.conn, err = s.dial(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// link is one live connection with the jump connections under it.
type link struct {
	client *ssh.Client
	under  []*ssh.Client
	down   context.Context // ends when the peer is gone
}

func (l *link) close() error {
	err := l.client.Close()
	for _, c := range slices.Backward(l.under) {
		err = errors.Join(err, c.Close())
	}
	if isGone(err) {
		return nil
	}
	return err
}

func (s *SSH) dial(ctx context.Context) (*link, error) {
	var clients []*ssh.Client
	for i, h := range s.hops {
		dial := s.cfg.Dial
		if i > 0 {
			dial = clients[i-1].DialContext
		}
		client, err := s.cfg.connect(ctx, h, dial, i == len(s.hops)-1)
		if err != nil {
			for _, c := range clients {
				_ = c.Close()
			}
			return nil, err
		}
		clients = append(clients, client)
	}
	last := len(clients) - 1
	l := &link{client: clients[last], under: clients[:last]}
	l.down = s.watch(l.client)
	s.cfg.Log.DebugContext(ctx, "ssh connected", "host", s.host(), "server", string(l.client.ServerVersion()))
	return l, nil
}

// connect opens one hop. Where a fingerprint does not tell its algorithm, the next
// one is tried on a fresh connection.
func (c SSHConfig) connect(ctx context.Context, h hop, dial dialFunc, node bool) (*ssh.Client, error) {
	trusts, err := c.trusts(h, node)
	if err != nil {
		return nil, &ConfigError{err}
	}
	id, err := c.identify(h, node)
	if err != nil {
		return nil, &ConfigError{err}
	}
	defer id.close()
	name := h.String()
	if !node {
		name += " (jump host)"
	}
	var first error
	for _, t := range trusts {
		client, err := c.handshake(ctx, h, name, dial, t, id)
		if err == nil {
			return client, nil
		}
		if first == nil || errors.Is(err, ErrHostKey) {
			first = err
		}
		if len(trusts) == 1 || errors.Is(err, ErrAuth) || ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// handshake opens TCP and SSH under one deadline. ssh.ClientConfig.Timeout covers
// TCP only, so the deadline is put on the connection; a tunnelled connection knows
// none, so ctx closes it as well.
func (c SSHConfig) handshake(ctx context.Context, h hop, name string, dial dialFunc, t trust, id *identity) (*ssh.Client, error) {
	took := tookWords(c.Timeout.Seconds())
	dialCtx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	conn, err := dial(dialCtx, "tcp", h.addr())
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, explainDial(name, err, took)
	}
	deadline, _ := dialCtx.Deadline()
	_ = conn.SetDeadline(deadline)
	stop := context.AfterFunc(dialCtx, func() { _ = conn.Close() })
	cc, chans, reqs, err := ssh.NewClientConn(conn, h.addr(), &ssh.ClientConfig{
		User:              h.user,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(id.signers...)},
		HostKeyCallback:   t.check,
		HostKeyAlgorithms: t.algorithms,
	})
	if !stop() && err == nil { // the deadline fired in the last moment
		err = context.Cause(dialCtx)
		_ = cc.Close()
	}
	if err != nil {
		_ = conn.Close()
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case dialCtx.Err() != nil:
			err = errors.Join(err, dialCtx.Err())
		}
		return nil, explainHandshake(name, h.user, err, id.names, took)
	}
	_ = conn.SetDeadline(time.Time{})
	return ssh.NewClient(cc, chans, reqs), nil
}

// watch asks the peer at intervals whether it lives, and ends the connection when
// three questions stay unanswered: a host that lost power sends nothing, and TCP
// alone would wait for many minutes.
func (s *SSH) watch(client *ssh.Client) context.Context {
	down, fell := context.WithCancel(context.Background())
	go func() {
		_ = client.Wait()
		fell()
	}()
	go func() {
		tick := time.NewTicker(s.cfg.Keepalive)
		defer tick.Stop()
		for {
			select {
			case <-down.Done():
				return
			case <-tick.C:
			}
			if !alive(down, client, 3*s.cfg.Keepalive) {
				s.cfg.Log.Warn("ssh peer does not answer, connection dropped", "host", s.host())
				_ = client.Close()
				fell() // do not wait for a close that hangs on a full socket
				return
			}
		}
	}()
	return down
}

// alive reports whether the peer answered in time; a refusal is an answer.
func alive(down context.Context, client *ssh.Client, patience time.Duration) bool {
	answer := make(chan error, 1)
	go func() {
		_, _, err := client.SendRequest("keepalive@openssh.com", true, nil)
		answer <- err
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-answer:
		return err == nil
	case <-timer.C:
		return false
	case <-down.Done():
		return true
	}
}
