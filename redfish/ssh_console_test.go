package redfish_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// shellServer is the SSH side of a BMC: a shell of its own, in which a command leads to
// the host's console.
type shellServer struct {
	net.Listener
	key        ssh.Signer
	byQuestion bool   // it asks for the password, instead of taking it
	refuse     bool   // every login
	silent     bool   // never answers a handshake
	mute       bool   // lets in, and gives no shell
	entry      string // what leads to the console
	text       string // of the console
	ends       bool   // the session ends behind the text

	mu       sync.Mutex
	tries    int
	sessions int
	typed    strings.Builder
}

func newShellServer(t *testing.T, s *shellServer) *shellServer {
	t.Helper()
	var err error
	if s.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	s.newKey(t)
	var wg sync.WaitGroup
	var conns sync.Map
	wg.Go(func() {
		for {
			conn, err := s.Accept()
			if err != nil {
				return
			}
			conns.Store(conn, true)
			wg.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = s.Close()
		conns.Range(func(conn, _ any) bool { _ = conn.(net.Conn).Close(); return true })
		wg.Wait()
	})
	return s
}

// newKey is what a firmware update does to some BMCs.
func (s *shellServer) newKey(t *testing.T) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = signer
}

func (s *shellServer) check(user_, given string) (*ssh.Permissions, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	if s.refuse || user_ != user || given != password {
		return nil, errors.New("no")
	}
	return nil, nil
}

func (s *shellServer) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	if s.silent {
		_, _ = conn.Read(make([]byte, 1<<16))
		_, _ = conn.Read(make([]byte, 1<<16))
		return
	}
	conf := &ssh.ServerConfig{MaxAuthTries: 6}
	if s.byQuestion {
		conf.KeyboardInteractiveCallback = func(meta ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			answers, err := ask("", "", []string{"Password: "}, []bool{false})
			if err != nil || len(answers) != 1 {
				return nil, errors.New("no answer")
			}
			return s.check(meta.User(), answers[0])
		}
	} else {
		conf.PasswordCallback = func(meta ssh.ConnMetadata, given []byte) (*ssh.Permissions, error) {
			return s.check(meta.User(), string(given))
		}
		conf.KeyboardInteractiveCallback = func(meta ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			answers, err := ask("", "", []string{"Password: "}, []bool{false})
			if err != nil || len(answers) != 1 {
				return nil, errors.New("no answer")
			}
			return s.check(meta.User(), answers[0])
		}
	}
	s.mu.Lock()
	conf.AddHostKey(s.key)
	s.mu.Unlock()
	_, channels, requests, err := ssh.NewServerConn(conn, conf)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for c := range channels {
		channel, requests, err := c.Accept()
		if err != nil {
			return
		}
		for r := range requests {
			if s.mute {
				continue
			}
			_ = r.Reply(r.Type == "pty-req" || r.Type == "shell", nil)
			if r.Type == "shell" {
				break
			}
		}
		go ssh.DiscardRequests(requests)
		s.shell(channel)
	}
}

// shell takes commands until the entry comes, then is the console.
func (s *shellServer) shell(channel ssh.Channel) {
	defer func() { _ = channel.Close() }()
	s.mu.Lock()
	s.sessions++
	s.mu.Unlock()
	if s.entry != "" {
		_, _ = channel.Write([]byte("BMC> "))
		var line []byte
		for one := make([]byte, 1); ; {
			if _, err := channel.Read(one); err != nil {
				return
			}
			s.mu.Lock()
			s.typed.Write(one)
			s.mu.Unlock()
			if one[0] == '\r' {
				break
			}
			line = append(line, one[0])
		}
		if string(line) != s.entry {
			_, _ = channel.Write([]byte("unknown command"))
			return
		}
	}
	_, _ = channel.Write([]byte(s.text))
	if !s.ends {
		_, _ = channel.Read(make([]byte, 1))
	}
}

// consoleTree is a machine whose system names its console.
func consoleTree(console string) redfishtest.Tree {
	tree := machineTree()
	tree["/redfish/v1/Systems/a"] = []byte(strings.Replace(string(tree["/redfish/v1/Systems/a"]), `"PowerState"`, `"SerialConsole":`+console+`,"PowerState"`, 1))
	return tree
}

func sshTree(s *shellServer) redfishtest.Tree {
	port := s.Addr().(*net.TCPAddr).Port
	return consoleTree(fmt.Sprintf(`{"SSH":{"ServiceEnabled":true,"Port":%d,"SharedWithManagerCLI":%t,"ConsoleEntryCommand":%q}}`, port, s.entry != "", s.entry))
}

// until is a writer that ends a context when it has seen a text.
type until struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	text string
	end  func()
}

func (u *until) Write(b []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.buf.Write(b)
	if strings.Contains(u.buf.String(), u.text) {
		u.end()
	}
	return len(b), nil
}

func (u *until) String() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.buf.String()
}

// watch reads a console until it shows a text.
func watch(t *testing.T, c *redfish.Client, text string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(within(t, time.Minute))
	defer cancel()
	out := &until{text: text, end: cancel}
	err := c.Console(ctx, out)
	return out.String(), err
}

func openPinned(t *testing.T, s *shellServer, store *pins, refusals redfish.RefusalStore) *redfish.Client {
	t.Helper()
	cfg := config(serve(t, redfishtest.Options{Tree: sshTree(s)}))
	cfg.TLS = redfish.TLS{Pins: store}
	cfg.Refusals = refusals
	c, err := redfish.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestConsoleOverSSH(t *testing.T) {
	for name, s := range map[string]*shellServer{
		"by the BMC's shell":        {entry: "cd system1/sol1; start", text: "Linux version 6.1\r\nlogin: "},
		"straight":                  {text: "Linux version 6.1\r\nlogin: "},
		"password asked for, not a": {byQuestion: true, text: "login: "},
	} {
		t.Run(name, func(t *testing.T) {
			newShellServer(t, s)
			store := &pins{}
			c := openPinned(t, s, store, nil)
			got, err := watch(t, c, "login: ")
			if err != nil || !strings.HasSuffix(got, s.text) {
				t.Errorf("%v, %q", err, got)
			}
			if want := map[bool]string{true: s.entry + "\r"}[s.entry != ""]; s.typed.String() != want {
				t.Errorf("typed %q, want %q", s.typed.String(), want)
			}
			if strings.Contains(got, password) || s.tries != 1 {
				t.Errorf("%d logins, console %q", s.tries, got)
			}
			if _, ok := store.Pin("ssh/ssh-ed25519/" + s.Addr().String()); !ok {
				t.Errorf("the host key is not pinned: %v", store.byKey)
			}
			if _, err := watch(t, c, "login: "); err != nil {
				t.Errorf("a second time: %v", err)
			}
			s.newKey(t)
			if _, err := watch(t, c, "login: "); !errors.Is(err, redfish.ErrPinMismatch) || s.tries != 2 {
				t.Errorf("another host key: %v after %d logins, want that no password went out", err, s.tries)
			}
		})
	}
}

// refused is a RefusalStore in memory.
type refused map[string]bool

func (r refused) Refused(addr, user, password string) (time.Time, bool) {
	return time.Now().Add(time.Minute), r[addr+user+password]
}

func (r refused) Refuse(addr, user, password string) error {
	r[addr+user+password] = true
	return nil
}

// TestConsoleRefusedOnce: a refused password goes out once, also in a second call, and
// Redfish's logins go on.
func TestConsoleRefusedOnce(t *testing.T) {
	s := newShellServer(t, &shellServer{refuse: true})
	known := refused{}
	c := openPinned(t, s, &pins{}, known)
	for range 2 {
		_, err := watch(t, c, "login: ")
		if !errors.Is(err, redfish.ErrAuth) || strings.Contains(fmt.Sprint(err), password) {
			t.Errorf("%v, want a refusal without the password", err)
		}
	}
	if s.tries != 1 {
		t.Errorf("the password was sent %d times, want once", s.tries)
	}
	again := openPinned(t, s, &pins{}, known)
	if _, err := again.Power(t.Context()); err != nil {
		t.Errorf("Redfish afterwards: %v", err)
	}
}

func TestConsoleThatEndsAtOnce(t *testing.T) {
	s := newShellServer(t, &shellServer{text: "SOL session is in use\r\n", ends: true})
	got, err := watch(t, openPinned(t, s, &pins{}, nil), "never")
	if !errors.Is(err, redfish.ErrSessionLimit) || s.sessions != 1 || !strings.Contains(got, "in use") {
		t.Errorf("%v after %d sessions, %q", err, s.sessions, got)
	}
}

func TestConsoleStopsInAHandshake(t *testing.T) {
	s := newShellServer(t, &shellServer{silent: true})
	c := openPinned(t, s, &pins{}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := c.Console(ctx, &bytes.Buffer{}); err != nil || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %s, want that it just ends", err, time.Since(began))
	}
}

func TestConsoleWays(t *testing.T) {
	for _, c := range []struct {
		name, console, says string
		is                  error
	}{
		{"switched off", `{"SSH":{"ServiceEnabled":false,"Port":22,"ConsoleEntryCommand":"x"}}`, "names no serial console", redfish.ErrUnsupported},
		{"none", `{}`, "names no serial console", redfish.ErrUnsupported},
		{"the way is not told", `{"SSH":{"ServiceEnabled":true,"Port":22}}`, "names no serial console", redfish.ErrUnsupported},
		{"refused", `{"SSH":{"ServiceEnabled":true,"Port":1,"ConsoleEntryCommand":"x"}}`, "refused the connection", redfish.ErrUnreachable},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := open(t, serve(t, redfishtest.Options{Tree: consoleTree(c.console)}))
			if err := client.Console(within(t, time.Minute), &bytes.Buffer{}); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %v that says %q", err, c.is, c.says)
			}
		})
	}
}
