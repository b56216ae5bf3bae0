package netboot

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Simulated is the image of the simulated rack: nothing is served but script and
// seed.
const Simulated = "simulated"

var imageName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// lastGrain is how exact the time of the last fetch is: firmware fetches a program in many
// ranges, and each note is a write to the disk. A host that starts again needs longer.
const lastGrain = 5 * time.Second

// upLimit bounds what a host may post.
const upLimit = 16 << 10

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /b/{token}/boot.ipxe", s.script)
	mux.HandleFunc("GET /b/{token}/seed", s.seed)
	mux.HandleFunc("POST /b/{token}/up", s.up)
	mux.HandleFunc("GET /b/{token}/boot.efi", s.efi)
	mux.HandleFunc("GET /b/{token}/{file}", s.file)
	mux.HandleFunc("GET "+pxePath, s.pxe)
	mux.HandleFunc("GET "+mediaPrefix+"{name}", s.media)
	mux.HandleFunc("GET "+offerPrefix+"{token}/{name}", s.offered)
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
	if t := s.ticket(w, r); t != nil {
		s.answerScript(w, r, t)
	}
}

// answerScript gives a machine its boot script. BOOTIF tells the host by which of
// its NICs it came.
func (s *Server) answerScript(w http.ResponseWriter, r *http.Request, t *Ticket) {
	if !s.fetched(w, r, t) {
		return
	}
	base := s.self(r) + "/b/" + t.Token
	plain(w, fmt.Sprintf("#!ipxe\nkernel %s/vmlinuz initrd=initrd %s BOOTIF=01-${netX/mac:hexhyp}\ninitrd --name initrd %s/initrd\nboot\n",
		base, s.kernelLine(t, base), base))
}

// efi gives firmware the boot as one program. It asks with HEAD first, and some in
// ranges: ServeContent does both.
func (s *Server) efi(w http.ResponseWriter, r *http.Request) {
	t := s.ticket(w, r)
	switch {
	case t == nil:
		return
	case !s.hasStub(t.Image):
		http.NotFound(w, r)
		return
	}
	p, err := s.unified(t, s.self(r)+"/b/"+t.Token)
	if err != nil {
		s.Log.Error("boot program cannot be made", "machine", t.Machine, "err", err)
		http.Error(w, "program cannot be made", http.StatusInternalServerError)
		return
	}
	defer func() { _ = p.close() }()
	if r.Method == http.MethodGet && !s.fetched(w, r, t) {
		return
	}
	w.Header().Set("Content-Type", "application/efi")
	http.ServeContent(w, r, "", time.Time{}, io.NewSectionReader(p.file, 0, p.size))
}

// self is this server as the caller reached it. EDK II's Host leaves the port out.
func (s *Server) self(r *http.Request) string {
	if _, _, err := net.SplitHostPort(r.Host); err == nil {
		return "http://" + r.Host
	}
	return "http://" + net.JoinHostPort(strings.Trim(r.Host, "[]"), strconv.Itoa(s.Port()))
}

// fetched notes that a machine came for its boot.
func (s *Server) fetched(w http.ResponseWriter, r *http.Request, t *Ticket) bool {
	now := time.Now().UTC()
	first := func(t *Ticket) {
		t.Last = now
		if t.Fetched.IsZero() {
			t.Fetched = now
		}
	}
	if (t.Fetched.IsZero() || now.Sub(t.Last) > lastGrain) && !s.note(w, t.Token, first) {
		return false
	}
	s.Log.Info("boot fetched", "machine", t.Machine, "path", r.URL.Path, "from", r.RemoteAddr)
	return true
}

// kernelLine is the command line of a host that reaches its boot at base.
func (s *Server) kernelLine(t *Ticket, base string) string {
	return fmt.Sprintf("%srackproof.token=%s rackproof.seed=%s/seed", s.cmdline(t.Image), t.Token, base)
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
	now := time.Now().UTC()
	first := func(t *Ticket) {
		t.Last = now
		if t.Seeded.IsZero() {
			t.Seeded = now
		}
	}
	if (t.Seeded.IsZero() || now.Sub(t.Last) > lastGrain) && !s.note(w, t.Token, first) {
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
