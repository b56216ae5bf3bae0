package netboot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// Server serves the boots of one run.
type Server struct {
	Addr   string // host:port to listen on; port 0 or none = chosen once and kept
	Images string // folder with one folder per image: vmlinuz, initrd, cmdline
	State  string // file that keeps port and tickets, mode 0600
	Log    *slog.Logger

	mu   sync.Mutex
	kept kept
	http *http.Server
	done chan struct{}
}

// kept is the state file.
type kept struct {
	Port    int                `json:"port"`
	Tickets map[string]*Ticket `json:"tickets"`          // by token
	Offers  map[string]*Offer  `json:"offers,omitempty"` // likewise
}

// Start reads the state, listens and serves until Close.
func (s *Server) Start(ctx context.Context) error {
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	if err := s.load(); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		host, port = s.Addr, ""
	}
	if n, _ := strconv.Atoi(port); n == 0 {
		port = strconv.Itoa(s.kept.Port)
	}
	ln, err := listen(ctx, host, port)
	if err != nil {
		return fmt.Errorf("netboot cannot listen on %s: %w; end what holds the port, or name another with netboot.listen", net.JoinHostPort(host, port), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.Port = ln.Addr().(*net.TCPAddr).Port
	if err := s.save(); err != nil {
		return errors.Join(err, ln.Close())
	}
	s.http = &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			s.Log.Error("netboot server ended", "err", err)
		}
	}()
	return nil
}

// Ports to choose from when nobody named one. They lie below those that systems
// give to outgoing connections (from 32768 on Linux), so that the port is still
// free when a run is picked up by another process: the machines know no other.
const (
	firstPort = 12000
	portSpan  = 8000
	portTries = 50
)

// listen takes the port, or chooses one where it is "0".
func listen(ctx context.Context, host, port string) (net.Listener, error) {
	var lc net.ListenConfig
	if port != "0" {
		return lc.Listen(ctx, "tcp", net.JoinHostPort(host, port))
	}
	for range portTries {
		port := strconv.Itoa(firstPort + rand.IntN(portSpan)) //nolint:gosec // no secret
		if ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, port)); err == nil {
			return ln, nil
		}
	}
	return lc.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
}

// Close ends the server. The tickets stay.
func (s *Server) Close() error {
	if s == nil || s.http == nil {
		return nil
	}
	err := s.http.Close()
	<-s.done
	return err
}

// Port is the port that Start chose, or found in the state.
func (s *Server) Port() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept.Port
}

// Ticket returns the ticket of this attempt, made at the first call and durable
// before it is returned.
func (s *Server) Ticket(machine string, attempt int, image, authorized string) (Ticket, error) {
	if t, ok := s.Find(machine, attempt); ok {
		return t, nil
	}
	t, err := newTicket(machine, attempt, image, authorized)
	if err != nil {
		return Ticket{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.Tickets[t.Token] = t
	if err := s.save(); err != nil {
		delete(s.kept.Tickets, t.Token)
		return Ticket{}, err
	}
	return *t, nil
}

// Find returns the ticket of an attempt as it stands now.
func (s *Server) Find(machine string, attempt int) (Ticket, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.kept.Tickets {
		if t.Machine == machine && t.Attempt == attempt {
			return *t, true
		}
	}
	return Ticket{}, false
}

// Again forgets that a host came for the ticket, since it is reset and boots again.
func (s *Server) Again(token string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.kept.Tickets[token]
	if t == nil || t.Fetched.IsZero() && t.Seeded.IsZero() && t.MediaRead.IsZero() && t.Up == nil {
		return nil
	}
	before := *t
	t.Fetched, t.Seeded, t.MediaRead, t.Up = time.Time{}, time.Time{}, time.Time{}, nil
	if err := s.save(); err != nil {
		*t = before
		return err
	}
	return nil
}

// URL is what a machine that reaches us at host must fetch: a program for UEFI where
// the image has a stub, else a script for iPXE.
func (s *Server) URL(host, token string) string {
	s.mu.Lock()
	t := s.kept.Tickets[token]
	s.mu.Unlock()
	file := "boot.ipxe"
	if t != nil && s.hasStub(t.Image) {
		file = "boot.efi"
	}
	return fmt.Sprintf("http://%s/b/%s/%s", net.JoinHostPort(host, strconv.Itoa(s.Port())), token, file)
}

// HasImage reports whether an image called name can be served.
func (s *Server) HasImage(name string) bool {
	if name == Simulated {
		return true
	}
	if !imageName.MatchString(name) {
		return false
	}
	for _, f := range []string{"vmlinuz", "initrd"} {
		if _, err := os.Stat(filepath.Join(s.Images, name, f)); err != nil {
			return false
		}
	}
	return true
}

func (s *Server) load() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = kept{Tickets: map[string]*Ticket{}}
	// What a killed process was writing holds keys of hosts.
	dir := filepath.Dir(s.State)
	left, _ := fs.Glob(os.DirFS(dir), tmpPrefix+"*")
	for _, f := range left {
		if err := os.Remove(filepath.Join(dir, f)); err != nil {
			return fmt.Errorf("netboot state: %w", err)
		}
	}
	b, err := os.ReadFile(s.State)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("netboot state: %w", err)
	}
	if err := json.Unmarshal(b, &s.kept); err != nil {
		return fmt.Errorf("netboot state %s: %w", s.State, err)
	}
	if s.kept.Tickets == nil {
		s.kept.Tickets = map[string]*Ticket{}
	}
	return nil
}

// tmpPrefix begins the name under which the state is written.
const tmpPrefix = ".netboot-"

// save writes the state whole or not at all. The caller holds the lock.
func (s *Server) save() error {
	b, err := json.Marshal(s.kept)
	if err != nil {
		return fmt.Errorf("netboot state: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(s.State), 0o700); err != nil {
		return fmt.Errorf("netboot state: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(s.State), tmpPrefix+"*") // mode 0600
	if err != nil {
		return fmt.Errorf("netboot state: %w", err)
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("netboot state: %w", err), os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), s.State); err != nil {
		return fmt.Errorf("netboot state: %w", err)
	}
	return nil
}
