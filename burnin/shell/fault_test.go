package shell

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gssh "github.com/gliderlabs/ssh"
	"golang.org/x/crypto/ssh"

	"github.com/rackproof/rackproof/burnin"
)

// fake starts an SSH server in this process that can misbehave.
func fake(t *testing.T, change func(*gssh.Server)) SSHConfig {
	t.Helper()
	key := t.TempDir() + "/host"
	public := newKey(t, key, "ed25519")
	user := t.TempDir() + "/user"
	newKey(t, user, "ed25519")
	srv := &gssh.Server{
		Handler: func(s gssh.Session) {
			line, ok := Unwrap(s.RawCommand())
			if !ok {
				_, _ = io.WriteString(s.Stderr(), "not our request: "+s.RawCommand())
				_ = s.Exit(2)
				return
			}
			_, _ = io.WriteString(s, line)
		},
		PublicKeyHandler: func(gssh.Context, gssh.PublicKey) bool { return true },
	}
	if err := srv.SetOption(gssh.HostKeyFile(key)); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(srv)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return SSHConfig{
		Addr: l.Addr().String(), User: "root", KeyFiles: []string{user}, NoAgent: true, ConfigFile: "none",
		HostKeys: []ssh.PublicKey{public},
	}
}

func TestUnwrap(t *testing.T) {
	sh := dialed(t, fake(t, nil))
	for _, line := range []string{"true", "echo 'it''s'; printf \"%s\"\nexit 3", "", "'"} {
		if o := run(t, sh, burnin.Command{Line: line}); string(o.Out) != line {
			t.Errorf("the server read %q, sent %q (%s)", o.Out, line, o.Err)
		}
	}
}

func FuzzUnwrap(f *testing.F) {
	f.Add("echo 'a' \"b\"\n")
	f.Add("'")
	f.Fuzz(func(t *testing.T, line string) {
		if got, ok := Unwrap(remote(line, time.Second)); !ok || got != line {
			t.Errorf("%q came back as %q, %v", line, got, ok)
		}
		Unwrap(line)
	})
}

// TestHungHandshake: the port is open and nothing is ever said.
func TestHungHandshake(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	began := time.Now()
	_, err = DialSSH(t.Context(), SSHConfig{Addr: l.Addr().String(), User: "root", NoAgent: true, ConfigFile: "none", KnownHosts: []string{"/nonexistent"}, Timeout: 300 * time.Millisecond})
	if !errors.Is(err, ErrSilent) || !strings.Contains(err.Error(), "handshake did not end within") {
		t.Errorf("error %v", err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("waited %s", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err = DialSSH(ctx, SSHConfig{Addr: l.Addr().String(), User: "root", NoAgent: true, ConfigFile: "none", KnownHosts: []string{"/nonexistent"}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled dial: %v", err)
	}
}

// TestDeadPeer: the host lost power; TCP says nothing.
func TestDeadPeer(t *testing.T) {
	cfg := fake(t, func(s *gssh.Server) {
		s.Handler = func(s gssh.Session) {
			_, _ = io.WriteString(s, "half")
			<-s.Context().Done()
		}
	})
	var pulled atomic.Bool
	cfg.Keepalive = 50 * time.Millisecond
	cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return &cable{Conn: c, pulled: &pulled}, err
	}
	sh := dialed(t, cfg)
	time.AfterFunc(200*time.Millisecond, func() { pulled.Store(true) })
	began := time.Now()
	o, err := sh.Run(t.Context(), burnin.Command{Line: "nvidia-smi"})
	if !errors.Is(err, ErrLost) || o.Ended != burnin.EndedLost || string(o.Out) != "half" {
		t.Errorf("err %v, ended %s, out %q", err, o.Ended, o.Out)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("noticed after %s", took)
	}
}

// cable swallows what is written once it is pulled.
type cable struct {
	net.Conn
	pulled *atomic.Bool
}

func (c *cable) Write(b []byte) (int, error) {
	if c.pulled.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// TestProhibitedChannels: a server that refuses a channel twice, then has room.
func TestProhibitedChannels(t *testing.T) {
	var refused atomic.Int32
	cfg := fake(t, func(s *gssh.Server) {
		s.ChannelHandlers = map[string]gssh.ChannelHandler{
			"session": func(srv *gssh.Server, conn *ssh.ServerConn, ch ssh.NewChannel, ctx gssh.Context) {
				if refused.Add(1) <= 2 {
					_ = ch.Reject(ssh.Prohibited, "open failed")
					return
				}
				gssh.DefaultSessionHandler(srv, conn, ch, ctx)
			},
		}
	})
	if o := run(t, dialed(t, cfg), burnin.Command{Line: "hello"}); string(o.Out) != "hello" {
		t.Errorf("out %q", o.Out)
	}
	if n := refused.Load(); n != 3 {
		t.Errorf("%d channels were asked for, want 3", n)
	}
}

// TestNoRoom: all channels are refused for ever; the deadline ends it.
func TestNoRoom(t *testing.T) {
	cfg := fake(t, func(s *gssh.Server) {
		s.ChannelHandlers = map[string]gssh.ChannelHandler{
			"session": func(_ *gssh.Server, _ *ssh.ServerConn, ch ssh.NewChannel, _ gssh.Context) {
				_ = ch.Reject(ssh.Prohibited, "open failed")
			},
		}
	})
	o, err := dialed(t, cfg).Run(t.Context(), burnin.Command{Line: "hello", Deadline: 400 * time.Millisecond})
	if !errors.Is(err, ErrSilent) || o.Ended != burnin.EndedTimeout {
		t.Errorf("err %v, ended %s", err, o.Ended)
	}
}

// TestExitMissing: the server closes the channel and never says how it ended.
func TestExitMissing(t *testing.T) {
	cfg := fake(t, func(s *gssh.Server) {
		s.ChannelHandlers = map[string]gssh.ChannelHandler{
			"session": func(_ *gssh.Server, _ *ssh.ServerConn, ch ssh.NewChannel, _ gssh.Context) {
				c, reqs, err := ch.Accept()
				if err != nil {
					return
				}
				for r := range reqs {
					_ = r.Reply(true, nil)
					_, _ = io.WriteString(c, "some")
					_ = c.Close()
				}
			},
		}
	})
	o, err := dialed(t, cfg).Run(t.Context(), burnin.Command{Line: "hello"})
	if !errors.Is(err, ErrLost) || o.Ended != burnin.EndedLost || o.Exit != nil || string(o.Out) != "some" {
		t.Errorf("err %v, ended %s, exit %v, out %q", err, o.Ended, o.Exit, o.Out)
	}
}
