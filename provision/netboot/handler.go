package netboot

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Simulated is the image of the simulated rack: nothing is served but script and
// seed.
const Simulated = "simulated"

var imageName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// upLimit bounds what a host may post.
const upLimit = 16 << 10

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /b/{token}/boot.ipxe", s.script)
	mux.HandleFunc("GET /b/{token}/seed", s.seed)
	mux.HandleFunc("POST /b/{token}/up", s.up)
	mux.HandleFunc("GET /b/{token}/{file}", s.file)
	mux.HandleFunc("GET "+mediaPrefix+"{name}", s.media)
	return mux
}

// ticket answers 404 for a token that nobody made.
func (s *Server) ticket(w http.ResponseWriter, r *http.Request) *Ticket {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.kept.Tickets[r.PathValue("token")]
	if t == nil {
		http.Error(w, "no such boot", http.StatusNotFound)
		return nil
	}
	c := *t
	return &c
}

// note changes a ticket and keeps it; it answers 500 when that was not possible.
func (s *Server) note(w http.ResponseWriter, token string, change func(*Ticket)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.kept.Tickets[token])
	if err := s.save(); err != nil {
		s.Log.Error("netboot", "err", err)
		http.Error(w, "state not kept", http.StatusInternalServerError)
		return false
	}
	return true
}

func (s *Server) script(w http.ResponseWriter, r *http.Request) {
	t := s.ticket(w, r)
	if t == nil {
		return
	}
	first := func(t *Ticket) {
		if t.Fetched.IsZero() {
			t.Fetched = time.Now().UTC()
		}
	}
	if t.Fetched.IsZero() && !s.note(w, t.Token, first) {
		return
	}
	s.Log.Info("boot script fetched", "machine", t.Machine, "from", r.RemoteAddr)
	base := "http://" + r.Host + "/b/" + t.Token
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = fmt.Fprintf(w, "#!ipxe\nkernel %s/vmlinuz initrd=initrd %srackproof.token=%s rackproof.seed=%s/seed\ninitrd --name initrd %s/initrd\nboot\n",
		base, s.cmdline(t.Image), t.Token, base, base)
}

// cmdline is what the image wants on its kernel line, with a blank behind it.
func (s *Server) cmdline(image string) string {
	if image == Simulated || !imageName.MatchString(image) {
		return ""
	}
	b, err := os.ReadFile(filepath.Join(s.Images, image, "cmdline"))
	if err != nil {
		return ""
	}
	if line := strings.Join(strings.Fields(string(b)), " "); line != "" {
		return line + " "
	}
	return ""
}

func (s *Server) seed(w http.ResponseWriter, r *http.Request) {
	t := s.ticket(w, r)
	if t == nil {
		return
	}
	first := func(t *Ticket) {
		if t.Seeded.IsZero() {
			t.Seeded = time.Now().UTC()
		}
	}
	if t.Seeded.IsZero() && !s.note(w, t.Token, first) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(seed{Token: t.Token, HostKey: t.HostKey, AuthorizedKeys: t.AuthorizedKeys})
}

func (s *Server) up(w http.ResponseWriter, r *http.Request) {
	t := s.ticket(w, r)
	if t == nil {
		return
	}
	var up Up
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, upLimit)).Decode(&up); err != nil {
		http.Error(w, "want JSON with uuid, serial, address", http.StatusBadRequest)
		return
	}
	up.At = time.Now().UTC()
	if !s.note(w, t.Token, func(t *Ticket) { t.Up = &up }) {
		return
	}
	s.Log.Info("host is up", "machine", t.Machine, "uuid", up.UUID, "address", up.Address)
	w.WriteHeader(http.StatusNoContent)
}

// file serves the image. ServeFile gives HEAD, Range and Content-Length, which
// firmware needs.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	t := s.ticket(w, r)
	if t == nil {
		return
	}
	name := r.PathValue("file")
	if (name != "vmlinuz" && name != "initrd") || t.Image == Simulated || !imageName.MatchString(t.Image) {
		http.NotFound(w, r)
		return
	}
	http.ServeFile(w, r, filepath.Join(s.Images, t.Image, name))
}
