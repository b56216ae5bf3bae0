package shell

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/rackproof/rackproof/burnin"
)

// server is a real OpenSSH server on loopback with keys of its own.
type server struct {
	addr     string
	dir      string
	hostKey  ssh.PublicKey // ed25519
	rsaKey   ssh.PublicKey
	userFile string // private key that may log in
	stop     func()
}

func newKey(tb testing.TB, file, kind string) ssh.PublicKey {
	tb.Helper()
	var private any
	switch kind {
	case "rsa":
		k, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			tb.Fatal(err)
		}
		private = k
	default:
		_, k, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			tb.Fatal(err)
		}
		private = k
	}
	block, err := ssh.MarshalPrivateKey(private, "test")
	if err != nil {
		tb.Fatal(err)
	}
	writeFile(tb, file, pem.EncodeToMemory(block))
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		tb.Fatal(err)
	}
	return signer.PublicKey()
}

func writeFile(tb testing.TB, name string, b []byte) {
	tb.Helper()
	if err := os.WriteFile(name, b, 0o600); err != nil {
		tb.Fatal(err)
	}
}

// startSSHD starts Debian's sshd as an ordinary process, and ends it by its pid.
func startSSHD(tb testing.TB, options ...string) *server {
	tb.Helper()
	const binary = "/usr/sbin/sshd"
	if _, err := os.Stat(binary); err != nil {
		tb.Skip("needs OpenSSH's server: ", err)
	}
	separationFolder(tb)
	dir := tb.TempDir()
	s := &server{dir: dir, userFile: filepath.Join(dir, "user")}
	s.hostKey = newKey(tb, filepath.Join(dir, "host_ed25519"), "ed25519")
	s.rsaKey = newKey(tb, filepath.Join(dir, "host_rsa"), "rsa")
	user := newKey(tb, s.userFile, "ed25519")
	writeFile(tb, filepath.Join(dir, "authorized_keys"), ssh.MarshalAuthorizedKey(user))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s.addr = l.Addr().String()
	_, port, _ := net.SplitHostPort(s.addr)
	_ = l.Close()
	config := fmt.Sprintf("ListenAddress 127.0.0.1\nPort %s\nHostKey %s/host_ed25519\nHostKey %s/host_rsa\nAuthorizedKeysFile %s/authorized_keys\n"+
		"UsePAM no\nStrictModes no\nPidFile none\nPermitRootLogin yes\nPasswordAuthentication no\n%s\n", port, dir, dir, dir, strings.Join(options, "\n"))
	writeFile(tb, filepath.Join(dir, "config"), []byte(config))
	cmd := exec.CommandContext(tb.Context(), binary, "-D", "-e", "-f", filepath.Join(dir, "config"))
	// A file and no pipe: sessions outlive the listener and would hold it open.
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	s.stop = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	tb.Cleanup(s.stop)
	tb.Cleanup(func() {
		if tb.Failed() {
			b, _ := os.ReadFile(log.Name())
			tb.Logf("sshd said:\n%s", b)
		}
	})
	waitListening(tb, s.addr)
	return s
}

// separationFolder makes the folder that sshd wants, as its package does. It stays:
// tests of another package may have a server running.
func separationFolder(tb testing.TB) {
	tb.Helper()
	if os.Geteuid() != 0 {
		return
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		tb.Fatal(err)
	}
}

func waitListening(tb testing.TB, addr string) {
	tb.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(deadline) {
			tb.Fatal("sshd does not listen: ", err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// config trusts the server's key and logs in with the user's.
func (s *server) config() SSHConfig {
	return SSHConfig{
		Addr: s.addr, User: currentUser(), KeyFiles: []string{s.userFile}, NoAgent: true,
		HostKeys: []ssh.PublicKey{s.hostKey}, ConfigFile: "none",
	}
}

func dialed(tb testing.TB, cfg SSHConfig) *SSH {
	tb.Helper()
	sh, err := DialSSH(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = sh.Close() })
	return sh
}

func run(t *testing.T, sh burnin.Shell, c burnin.Command) burnin.Output {
	t.Helper()
	out, err := sh.Run(t.Context(), c)
	if err != nil {
		t.Fatalf("%s: %v", c.Line, err)
	}
	return out
}
