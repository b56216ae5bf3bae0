package shell

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/rackproof/rackproof/burnin"
)

// TestContract is what every live shell must do.
func TestContract(t *testing.T) {
	shells := map[string]burnin.Shell{"ssh": dialed(t, startSSHD(t).config()), "local": Local{}}
	for name, sh := range shells {
		t.Run(name, func(t *testing.T) { contract(t, sh) })
	}
}

func contract(t *testing.T, sh burnin.Shell) {
	t.Helper()
	tests := []struct {
		name, line, stdin string
		out, err          string
		exit              int
		ended             burnin.Ended
	}{
		{name: "streams apart", line: "echo out; echo err >&2", out: "out\n", err: "err\n", ended: burnin.EndedExit},
		{name: "exit status", line: "echo said; exit 18", out: "said\n", exit: 18, ended: burnin.EndedExit},
		{name: "quotes and lines", line: "printf '%s' \"it's $((6*7)) \\\"%\\\"\"\necho ' done'", out: "it's 42 \"%\" done\n", ended: burnin.EndedExit},
		{name: "locale", line: "printf %s \"$LC_ALL\"", out: "C", ended: burnin.EndedExit},
		{name: "sbin on path", line: "case :$PATH: in *:/usr/sbin:*) echo yes;; esac", out: "yes\n", ended: burnin.EndedExit},
		{name: "stdin", line: "tr a-z A-Z", stdin: "abc", out: "ABC", ended: burnin.EndedExit},
		{name: "empty stdin ends", line: "cat; echo end", out: "end\n", ended: burnin.EndedExit},
		{name: "not there", line: "no-such-program 2>/dev/null", exit: 127, ended: burnin.EndedExit},
		{name: "signal", line: "kill -9 $$", ended: burnin.EndedSignal},
		{name: "wrapped", line: burnin.Wrap("echo a; (exit 3)"), out: "a\n\n#rackproof-end 3\n", exit: 3, ended: burnin.EndedExit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := burnin.Command{Line: tt.line}
			if tt.stdin != "" {
				c.Stdin = strings.NewReader(tt.stdin)
			}
			o := run(t, sh, c)
			if string(o.Out) != tt.out || string(o.Err) != tt.err || o.Ended != tt.ended {
				t.Errorf("out %q, err %q, ended %s; want %q, %q, %s", o.Out, o.Err, o.Ended, tt.out, tt.err, tt.ended)
			}
			if tt.ended == burnin.EndedExit && (o.Exit == nil || *o.Exit != tt.exit) {
				t.Errorf("exit %v, want %d", o.Exit, tt.exit)
			}
			if tt.ended != burnin.EndedExit && o.Exit != nil {
				t.Errorf("exit %d beside %s", *o.Exit, tt.ended)
			}
		})
	}
	t.Run("deadline", func(t *testing.T) { deadline(t, sh) })
	t.Run("size limit", func(t *testing.T) {
		o := run(t, sh, burnin.Command{Line: "head -c 100000 /dev/zero; echo x >&2", Limit: 1000})
		if len(o.Out) != 1000 || o.Ended != burnin.EndedLost || o.Exit != nil {
			t.Errorf("%d bytes, ended %s, exit %v; want 1000, lost, none", len(o.Out), o.Ended, o.Exit)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("somebody pressed the key")
		time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
		o, err := sh.Run(ctx, burnin.Command{Line: "sleep 60"})
		if !errors.Is(err, why) || o.Ended != burnin.EndedLost {
			t.Errorf("err %v, ended %s", err, o.Ended)
		}
	})
}

// deadline uses a command that ignores every polite request to end, as one in the
// D state would.
func deadline(t *testing.T, sh burnin.Shell) {
	t.Helper()
	began := time.Now()
	o := run(t, sh, burnin.Command{Line: "trap '' TERM HUP INT; echo begun; while :; do sleep 1; done", Deadline: 1500 * time.Millisecond})
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("waited %s for a hung command", took)
	}
	if o.Ended != burnin.EndedTimeout || o.Exit != nil || string(o.Out) != "begun\n" {
		t.Errorf("ended %s, exit %v, out %q", o.Ended, o.Exit, o.Out)
	}
}

func TestSSHGuardEndsWhatWeLeft(t *testing.T) {
	sh := dialed(t, startSSHD(t).config())
	mark := filepath.Join(t.TempDir(), "alive")
	line := fmt.Sprintf("while :; do date +%%N >%s; sleep 0.2; done", mark)
	run(t, sh, burnin.Command{Line: line, Deadline: 500 * time.Millisecond})
	still := func() string { b, _ := os.ReadFile(mark); return string(b) }
	deadline := time.Now().Add(15 * time.Second)
	for last := ""; ; {
		<-time.After(time.Second)
		now := still()
		if now == last {
			return
		}
		if last = now; time.Now().After(deadline) {
			t.Fatal("the command still runs on the node long after its deadline")
		}
	}
}

func TestSSHManyAtOnce(t *testing.T) {
	for _, sessions := range []int{10, 2} { // 2: the server refuses, we back off and dial again
		t.Run(fmt.Sprint("MaxSessions ", sessions), func(t *testing.T) {
			sh := dialed(t, startSSHD(t, fmt.Sprint("MaxSessions ", sessions)).config())
			const n = 24
			got := make(chan string, n)
			for i := range n {
				go func() {
					o, err := sh.Run(t.Context(), burnin.Command{Line: fmt.Sprintf("sleep 0.2; printf %d", i)})
					got <- fmt.Sprintf("%s %v %v", o.Out, o.Ended, err)
				}()
			}
			seen := map[string]bool{}
			for range n {
				seen[<-got] = true
			}
			for i := range n {
				if want := fmt.Sprintf("%d exit <nil>", i); !seen[want] {
					t.Errorf("no answer %q in %v", want, seen)
				}
			}
		})
	}
}

func TestSSHHostKey(t *testing.T) {
	s := startSSHD(t)
	other := newKey(t, filepath.Join(t.TempDir(), "k"), "ed25519")
	known := func(keys ...ssh.PublicKey) []string {
		f := filepath.Join(t.TempDir(), "known_hosts")
		var b strings.Builder
		for _, k := range keys {
			b.WriteString(knownhosts.Line([]string{s.addr}, k) + "\n")
		}
		writeFile(t, f, []byte(b.String()))
		return []string{f}
	}
	tests := []struct {
		name string
		set  func(*SSHConfig)
		says string // "" = accepted
	}{
		{"pinned", func(*SSHConfig) {}, ""},
		{"pinned rsa of two", func(c *SSHConfig) { c.HostKeys = []ssh.PublicKey{s.rsaKey} }, ""},
		{"pinned other", func(c *SSHConfig) { c.HostKeys = []ssh.PublicKey{other} }, "another one has its address"},
		{"fingerprint", func(c *SSHConfig) {
			c.HostKeys, c.Fingerprints = nil, []string{ssh.FingerprintSHA256(s.hostKey)}
		}, ""},
		{"fingerprint rsa", func(c *SSHConfig) {
			c.HostKeys, c.Fingerprints = nil, []string{ssh.FingerprintSHA256(s.rsaKey)}
		}, ""},
		{"fingerprint other", func(c *SSHConfig) {
			c.HostKeys, c.Fingerprints = nil, []string{ssh.FingerprintSHA256(other)}
		}, "expected SHA256:"},
		{"known", func(c *SSHConfig) { c.HostKeys, c.KnownHosts = nil, known(s.hostKey) }, ""},
		{"known by rsa only", func(c *SSHConfig) { c.HostKeys, c.KnownHosts = nil, known(s.rsaKey) }, ""},
		{"known as other", func(c *SSHConfig) { c.HostKeys, c.KnownHosts = nil, known(other) }, "ssh-keygen -R 127.0.0.1"},
		{"not known", func(c *SSHConfig) { c.HostKeys, c.KnownHosts = nil, known() }, "pass --host-key SHA256:"},
		{"no file", func(c *SSHConfig) { c.HostKeys, c.KnownHosts = nil, []string{"/nonexistent"} }, "not in any known_hosts file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := s.config()
			tt.set(&cfg)
			sh, err := DialSSH(t.Context(), cfg)
			if tt.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				_ = sh.Close()
				return
			}
			if !errors.Is(err, ErrHostKey) || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), s.addr) {
				t.Errorf("error %v; want ErrHostKey that names %s and says %q", err, s.addr, tt.says)
			}
		})
	}
}

func TestSSHHostCertificate(t *testing.T) {
	s := startSSHD(t)
	caFile := filepath.Join(s.dir, "ca")
	ca := newKey(t, caFile, "ed25519")
	pemBytes, err := os.ReadFile(caFile)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(pemBytes)
	if err != nil {
		t.Fatal(err)
	}
	cert := &ssh.Certificate{Key: s.hostKey, CertType: ssh.HostCert, ValidPrincipals: []string{"127.0.0.1"}, ValidBefore: ssh.CertTimeInfinity}
	if err := cert.SignCert(rand.Reader, signer); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(s.dir, "host-cert.pub"), ssh.MarshalAuthorizedKey(cert))
	withCert := startSSHDWith(t, s, "HostCertificate "+filepath.Join(s.dir, "host-cert.pub"))
	cfg := withCert.config()
	cfg.HostKeys, cfg.CAs = nil, []ssh.PublicKey{ca}
	run(t, dialed(t, cfg), burnin.Command{Line: "true"})

	file := filepath.Join(s.dir, "known")
	writeFile(t, file, []byte("@cert-authority "+knownhosts.Normalize(withCert.addr)+" "+string(ssh.MarshalAuthorizedKey(ca))))
	cfg.CAs, cfg.KnownHosts = nil, []string{file}
	run(t, dialed(t, cfg), burnin.Command{Line: "true"})

	cfg.CAs = []ssh.PublicKey{s.rsaKey}
	if _, err := DialSSH(t.Context(), cfg); !errors.Is(err, ErrHostKey) {
		t.Errorf("a certificate of another CA gave %v", err)
	}
}

// startSSHDWith starts a second server with the host keys of s.
func startSSHDWith(t *testing.T, s *server, options ...string) *server {
	t.Helper()
	first := "HostKey " + filepath.Join(s.dir, "host_ed25519")
	second := startSSHD(t, append([]string{first}, options...)...)
	second.hostKey = s.hostKey
	return second
}

func TestSSHRefusals(t *testing.T) {
	s := startSSHD(t)
	stranger := filepath.Join(t.TempDir(), "stranger")
	newKey(t, stranger, "ed25519")
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	tests := []struct {
		name string
		set  func(*SSHConfig)
		is   error
		says string
	}{
		{"key not known there", func(c *SSHConfig) { c.KeyFiles = []string{stranger} }, ErrAuth, "refused the login of " + currentUser() + " with stranger"},
		{"nothing listens", func(c *SSHConfig) { c.Addr = closed.Addr().String() }, ErrSilent, "may still be booting"},
		{"key file gone", func(c *SSHConfig) { c.KeyFiles = []string{"/nonexistent/key"} }, os.ErrNotExist, "/nonexistent/key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := s.config()
			tt.set(&cfg)
			_, err := DialSSH(t.Context(), cfg)
			if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v; want %v that says %q", err, tt.is, tt.says)
			}
		})
	}
}

func TestSSHConfigFileAndJump(t *testing.T) {
	bastion, node := startSSHD(t), startSSHD(t)
	_, bastionPort, _ := net.SplitHostPort(bastion.addr)
	_, nodePort, _ := net.SplitHostPort(node.addr)
	known := filepath.Join(t.TempDir(), "known")
	writeFile(t, known, []byte(knownhosts.Line([]string{bastion.addr}, bastion.rsaKey)+"\n"+knownhosts.Line([]string{node.addr}, node.hostKey)+"\n"))
	file := filepath.Join(t.TempDir(), "config")
	writeFile(t, file, fmt.Appendf(nil, `
Host r12*
  HostName 127.0.0.1
  Port %s
  IdentityFile %s
  ProxyJump hall
Host hall
  HostName 127.0.0.1
  Port %s
  IdentityFile %s
Host *
  User %s
  UserKnownHostsFile %s
`, nodePort, node.userFile, bastionPort, bastion.userFile, currentUser(), known))
	sh := dialed(t, SSHConfig{Addr: "r12u07", ConfigFile: file, NoAgent: true})
	o := run(t, sh, burnin.Command{Line: "echo $SSH_CONNECTION"})
	if !strings.HasSuffix(strings.TrimSpace(string(o.Out)), " "+nodePort) {
		t.Errorf("connection %q, want one to port %s", o.Out, nodePort)
	}
	bastion.stop()
	_, err := DialSSH(t.Context(), SSHConfig{Addr: "r12u07", ConfigFile: file, NoAgent: true})
	if err == nil || !strings.Contains(err.Error(), bastionPort+" (jump host)") {
		t.Errorf("error %v does not name the jump host", err)
	}
}

// A host is the way to what is beside it: the connection is opened from there.
func TestSSHIsAWayToOthers(t *testing.T) {
	other, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	go func() {
		for {
			conn, err := other.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("hello from " + conn.RemoteAddr().Network()))
			_ = conn.Close()
		}
	}()
	var under net.Conn
	cfg := startSSHD(t).config()
	cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		var err error
		under, err = (&net.Dialer{}).DialContext(ctx, network, addr)
		return under, err
	}
	sh := dialed(t, cfg)
	conn, err := sh.DialContext(t.Context(), "tcp", other.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if said, err := io.ReadAll(conn); err != nil || string(said) != "hello from tcp" {
		t.Errorf("%q, %v", said, err)
	}
	_ = conn.Close()
	_ = other.Close()
	if _, err := sh.DialContext(t.Context(), "tcp", other.Addr().String()); err == nil || errors.Is(err, ErrLost) || !strings.Contains(strings.ToLower(err.Error()), "refused") {
		t.Errorf("nobody listens there: %v, want that the other end refused", err)
	}
	_ = under.Close()
	if _, err := sh.DialContext(t.Context(), "tcp", other.Addr().String()); !errors.Is(err, ErrLost) {
		t.Errorf("the host is gone: %v, want ErrLost", err)
	}
}

// A host that forbids it is told apart from one beyond it that does not answer.
func TestSSHForbidsForwarding(t *testing.T) {
	sh := dialed(t, startSSHD(t, "AllowTcpForwarding no").config())
	_, err := sh.DialContext(t.Context(), "tcp", "127.0.0.1:9")
	if !errors.Is(err, ErrForbidden) || errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "AllowTcpForwarding") {
		t.Errorf("%v, want ErrForbidden", err)
	}
}

func TestSSHLost(t *testing.T) {
	s := startSSHD(t)
	var conn net.Conn
	cfg := s.config()
	cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		var err error
		conn, err = (&net.Dialer{}).DialContext(ctx, network, addr)
		return conn, err
	}
	sh := dialed(t, cfg)
	time.AfterFunc(1500*time.Millisecond, func() { _ = conn.Close() })
	o, err := sh.Run(t.Context(), burnin.Command{Line: "echo before; sleep 60"})
	if !errors.Is(err, ErrLost) || o.Ended != burnin.EndedLost || string(o.Out) != "before\n" {
		t.Errorf("err %v, ended %s, out %q", err, o.Ended, o.Out)
	}
	if _, err := sh.Run(t.Context(), burnin.Command{Line: "true"}); !errors.Is(err, ErrLost) {
		t.Errorf("after the loss: %v, want ErrLost", err)
	}
}
