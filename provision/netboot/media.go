package netboot

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The same boot as an image for a virtual drive. BMCs want a short plain URL that
// ends in .iso, show it to whoever may look, and fetch it with HEAD and ranges. The
// token is not in the URL: it stands in the image alone, on the command line of the
// program that it starts, so that only the host that booted it can hand it back.

// mediaPrefix begins the path of every image.
const mediaPrefix = "/m/"

// HasProgram reports whether an image can be booted as one program, from a virtual
// drive or by UEFI alone.
func (s *Server) HasProgram(image string) bool {
	return image == Simulated || s.HasImage(image) && s.hasStub(image)
}

// mediaName is the name under which a token's image is served: found by the token,
// and telling nothing of it.
func mediaName(token string) string {
	sum := sha256.Sum256([]byte("media " + token))
	return hex.EncodeToString(sum[:8]) + ".iso"
}

// MediaURL is the image of a boot, for a BMC that reaches us at host.
func (s *Server) MediaURL(host, token string) string {
	return "http://" + net.JoinHostPort(host, strconv.Itoa(s.Port())) + mediaPrefix + mediaName(token)
}

// FaceHost says at which address the host that boots an image reaches us: nobody
// tells it but the image, which the BMC fetches from the address that it knows.
func (s *Server) FaceHost(token, host string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.kept.Tickets[token]
	base := "http://" + net.JoinHostPort(host, strconv.Itoa(s.kept.Port))
	if t == nil || t.Base == base {
		return nil
	}
	t.Base = base
	return s.save()
}

// media serves an image. ServeContent gives HEAD, Range and Content-Length.
func (s *Server) media(w http.ResponseWriter, r *http.Request) {
	t := s.ofMedia(r.PathValue("name"))
	if t == nil {
		http.Error(w, "no such image", http.StatusNotFound)
		return
	}
	p, err := s.program(t)
	if err != nil {
		s.Log.Error("boot image cannot be made", "machine", t.Machine, "err", err)
		http.Error(w, "image cannot be made", http.StatusInternalServerError)
		return
	}
	defer func() { _ = p.close() }()
	if r.Method == http.MethodGet && t.MediaRead.IsZero() {
		if !s.note(w, t.Token, func(t *Ticket) { t.MediaRead = time.Now().UTC() }) {
			return
		}
	}
	s.Log.Info("boot image read", "machine", t.Machine, "method", r.Method, "range", r.Header.Get("Range"), "from", r.RemoteAddr)
	iso := isoOf(p.name, p.file, p.size)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("ETag", strconv.Quote(strings.TrimSuffix(mediaName(t.Token), ".iso")))
	http.ServeContent(w, r, "", time.Time{}, io.NewSectionReader(iso, 0, iso.size))
}

// ofMedia finds the ticket whose image has a name.
func (s *Server) ofMedia(name string) *Ticket {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.kept.Tickets {
		if t.Base != "" && mediaName(t.Token) == name {
			c := *t
			return &c
		}
	}
	return nil
}

// program is what firmware starts from an image.
type program struct {
	name  string // as firmware of its kind looks for it
	file  io.ReaderAt
	size  int64
	close func() error
}

func (s *Server) program(t *Ticket) (program, error) {
	if t.Image == Simulated {
		text := fmt.Sprintf("rackproof.token=%s rackproof.seed=%s/b/%s/seed\n", t.Token, t.Base, t.Token)
		return program{"BOOTX64.EFI", strings.NewReader(text), int64(len(text)), func() error { return nil }}, nil
	}
	return s.unified(t, t.Base+"/b/"+t.Token)
}
