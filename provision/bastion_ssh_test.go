package provision

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/rackproof/rackproof/burnin/shell"
	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// sshBastion is an SSH server in this process that opens connections to others.
type sshBastion struct {
	addr    string
	hostKey ssh.Signer

	guard   sync.Mutex
	beside  map[string]string // addresses there to addresses here
	forbids bool
	login   ssh.PublicKey
	conns   []net.Conn // accepted, with those that are gone
	logins  int        // tried
}

func newSigner(t *testing.T) (ssh.Signer, []byte) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	return signer, pem.EncodeToMemory(block)
}

func startBastion(t *testing.T, login ssh.PublicKey) *sshBastion {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &sshBastion{addr: l.Addr().String(), beside: map[string]string{}, login: login}
	s.hostKey, _ = newSigner(t)
	conf := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		s.guard.Lock()
		defer s.guard.Unlock()
		if s.logins++; !bytes.Equal(key.Marshal(), s.login.Marshal()) {
			return nil, errors.New("not this key")
		}
		return &ssh.Permissions{}, nil
	}}
	conf.AddHostKey(s.hostKey)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.guard.Lock()
			s.conns = append(s.conns, conn)
			s.guard.Unlock()
			wg.Go(func() { s.serve(conn, conf) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); s.dies(); wg.Wait() })
	return s
}

// dies cuts all that is connected; who comes again is welcome.
func (s *sshBastion) dies() {
	s.guard.Lock()
	defer s.guard.Unlock()
	for _, c := range s.conns {
		_ = c.Close()
	}
}

func (s *sshBastion) connections() int {
	s.guard.Lock()
	defer s.guard.Unlock()
	return len(s.conns)
}

func (s *sshBastion) serve(conn net.Conn, conf *ssh.ServerConfig) {
	defer func() { _ = conn.Close() }()
	_, chans, reqs, err := ssh.NewServerConn(conn, conf)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(reqs)
	var wg sync.WaitGroup
	defer wg.Wait()
	for c := range chans {
		var to struct {
			Addr       string
			Port       uint32
			Origin     string
			OriginPort uint32
		}
		if err := ssh.Unmarshal(c.ExtraData(), &to); err != nil || c.ChannelType() != "direct-tcpip" {
			_ = c.Reject(ssh.UnknownChannelType, "no")
			continue
		}
		s.guard.Lock()
		here, forbids := s.beside[net.JoinHostPort(to.Addr, fmt.Sprint(to.Port))], s.forbids
		s.guard.Unlock()
		if forbids {
			_ = c.Reject(ssh.Prohibited, "open failed")
			continue
		}
		far, err := (&net.Dialer{Timeout: time.Second}).Dial("tcp", here)
		if err != nil {
			_ = c.Reject(ssh.ConnectionFailed, "Connection refused")
			continue
		}
		near, requests, err := c.Accept()
		if err != nil {
			_ = far.Close()
			continue
		}
		go ssh.DiscardRequests(requests)
		wg.Go(func() { _, _ = io.Copy(far, near); _ = far.Close() })
		wg.Go(func() { _, _ = io.Copy(near, far); _ = near.Close(); _ = far.Close() })
	}
}

// gateway is a bastion, BMCs behind it, and us before it.
type gateway struct {
	*sshBastion
	Bastions
	known string // known_hosts
	log   bytes.Buffer
	state string
}

func newGateway(t *testing.T, bmcs map[string]*redfishtest.BMC) *gateway {
	t.Helper()
	dir := t.TempDir()
	user, key := newSigner(t)
	g := &gateway{sshBastion: startBastion(t, user.PublicKey()), known: filepath.Join(dir, "known_hosts"), state: dir}
	if err := os.WriteFile(filepath.Join(dir, "id"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	g.knows(t, g.hostKey.PublicKey())
	for there, bmc := range bmcs {
		g.beside[there] = bmc.Addr()
	}
	g.Open = func(ctx context.Context, via string) (Bastion, error) {
		if via != "hall" {
			return nil, fmt.Errorf("no %q", via)
		}
		return shell.DialSSH(ctx, shell.SSHConfig{
			Addr: g.addr, User: "tech", KeyFiles: []string{filepath.Join(dir, "id")}, NoAgent: true, ConfigFile: "none", KnownHosts: []string{g.known},
			Log: slog.New(slog.NewTextHandler(&g.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

func (g *gateway) knows(t *testing.T, key ssh.PublicKey) {
	t.Helper()
	if err := os.WriteFile(g.known, []byte(knownhosts.Line([]string{g.addr}, key)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (g *gateway) login(ctx context.Context, addr string, record *[]string) (*redfish.Client, error) {
	c, err := redfish.Open(ctx, redfish.Config{
		Addr: addr, User: "root", Password: planted, Via: "hall", Dial: g.Dialer("hall"), Poll: 5 * time.Millisecond,
		TLS: redfish.TLS{Pins: OpenKnownBMCs(g.state)},
	})
	if err != nil {
		*record = append(*record, err.Error())
	}
	return c, err
}

// TestBMCsThroughSSH goes through a real SSH server to real TLS: one connection for
// many BMCs, each with its own name and pin, and whoever failed is named.
func TestBMCsThroughSSH(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	bmcs := map[string]*redfishtest.BMC{}
	for i := range 3 {
		bmcs[fmt.Sprintf("10.0.12.%d:443", 7+i)] = serveBMC(t, redfishtest.Options{Tree: movableTree(movableUUID)})
	}
	g := newGateway(t, bmcs)
	var said []string
	var wg sync.WaitGroup
	for addr, bmc := range bmcs {
		wg.Go(func() {
			var mine []string
			c, err := g.login(t.Context(), strings.TrimSuffix(addr, ":443"), &mine)
			if err != nil {
				t.Error(err)
				return
			}
			if state, err := c.Power(t.Context()); err != nil || state != redfish.On || c.Fingerprint() != bmc.CertSHA256() {
				t.Errorf("%s: %s, %v", addr, state, err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if n := bmc.Acts()["session.create"] - bmc.Acts()["session.delete"]; n != 0 {
				t.Errorf("%d sessions are left", n)
			}
		})
	}
	wg.Wait()
	if g.connections() != 1 {
		t.Errorf("%d connections to the bastion, want one for all", g.connections())
	}

	_, err := g.login(t.Context(), "10.0.12.99", &said)
	if !errors.Is(err, redfish.ErrUnreachable) || !strings.Contains(err.Error(), "bastion hall ok; BMC 10.0.12.99:443 refused the connection") {
		t.Errorf("a BMC that is off: %v", err)
	}

	// Another BMC stands behind the name: the pin is of that name behind that bastion.
	stranger := serveBMC(t, redfishtest.Options{Tree: movableTree(movableUUID)})
	g.guard.Lock()
	g.beside["10.0.12.7:443"] = stranger.Addr()
	g.guard.Unlock()
	if _, err = g.login(t.Context(), "10.0.12.7", &said); !errors.Is(err, redfish.ErrPinMismatch) || len(stranger.Requests()) != 0 {
		t.Errorf("a stranger: %v, asked %v", err, stranger.Requests())
	}

	g.guard.Lock()
	g.forbids = true
	g.guard.Unlock()
	_, err = g.login(t.Context(), "10.0.12.8", &said)
	if hop, ok := errors.AsType[*redfish.HopError](err); !ok || hop.Hop != "hall" || !strings.Contains(err.Error(), "AllowTcpForwarding") || !strings.Contains(bmcChore(err), "ssh hall") {
		t.Errorf("a bastion that forbids it: %v", err)
	}
	for _, text := range append(said, g.log.String()) {
		if strings.Contains(text, planted) {
			t.Errorf("the password stands in %s", text)
		}
	}
}

// TestBastionDies in the middle: what was under way names the bastion, reads are asked
// again over a new connection, and nothing is sent twice.
func TestBastionDies(t *testing.T) {
	bmc := serveBMC(t, redfishtest.Options{Tree: movableTree(movableUUID), Latency: 50 * time.Millisecond})
	g := newGateway(t, map[string]*redfishtest.BMC{"10.0.12.7:443": bmc})
	var said []string
	c, err := g.login(t.Context(), "10.0.12.7", &said)
	if err != nil {
		t.Fatal(err)
	}
	g.dies()
	if state, err := c.Power(t.Context()); err != nil || state != redfish.On || g.connections() != 2 {
		t.Errorf("a read after it: %s, %v, over %d connections", state, err, g.connections())
	}
	// Cut behind the request and before the answer.
	reads := bmc.Requests()["GET /redfish/v1/Systems/a"]
	cut := make(chan struct{})
	go func() {
		defer close(cut)
		for bmc.Requests()["GET /redfish/v1/Systems/a"] == reads {
			if t.Context().Err() != nil {
				return
			}
		}
		g.dies()
	}()
	if state, err := c.Power(t.Context()); err != nil || state != redfish.On {
		t.Errorf("a read cut in the middle: %s, %v", state, err)
	}
	<-cut
	// It is gone for good: nothing is said of the BMC.
	g.guard.Lock()
	g.addr = "127.0.0.1:1"
	g.guard.Unlock()
	g.dies()
	_, err = c.Power(t.Context())
	if hop, ok := errors.AsType[*redfish.HopError](err); !ok || hop.Hop != "hall" || !strings.Contains(err.Error(), "nothing is known of BMC 10.0.12.7:443") {
		t.Errorf("gone for good: %v", err)
	}
	_ = c.Close()
}

// TestBastionThatRefusesUs is asked once, by however many BMCs behind it, and its words
// are passed on.
func TestBastionThatRefusesUs(t *testing.T) {
	other, _ := newSigner(t)
	for _, test := range []struct {
		name, says string
		prepare    func(*gateway)
		is         error
	}{
		{"another host key", "host key", func(g *gateway) { g.knows(t, other.PublicKey()) }, shell.ErrHostKey},
		{"another user key", "refused the login of tech", func(g *gateway) { g.sshBastion.login = other.PublicKey() }, shell.ErrAuth},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := newGateway(t, nil)
			test.prepare(g)
			var wg sync.WaitGroup
			for i := range 20 {
				wg.Go(func() {
					var said []string
					_, err := g.login(t.Context(), fmt.Sprintf("10.0.12.%d", i), &said)
					if hop, ok := errors.AsType[*redfish.HopError](err); !ok || hop.Hop != "hall" || !errors.Is(err, test.is) || !refusedUs(err) ||
						!strings.Contains(err.Error(), "bastion hall: ") || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), planted) {
						t.Errorf("%v", err)
					}
				})
			}
			wg.Wait()
			if g.connections() != 1 {
				t.Errorf("it was asked %d times", g.connections())
			}
		})
	}
}
