package netboot

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// Firmware for a BMC that fetches its image instead of being sent it. BMCs want a short
// plain URL without a query and tell the kind of an image by the end of its name; under
// the URL lies that one file, for as long as it is offered.

// offerPrefix begins the path of every offered file.
const offerPrefix = "/f/"

// Offer is one file that one machine's BMC may fetch.
type Offer struct {
	Machine string    `json:"machine"`
	Path    string    `json:"path"`
	Size    int64     `json:"size"`             // another size is another file, and is not served
	Fetched time.Time `json:"fetched,omitzero"` // first asked for
}

// plainName are file names that every BMC takes in a URL.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$`)

// plainEnd is the end of a name, where it is plain.
var plainEnd = regexp.MustCompile(`\.[A-Za-z0-9]{1,8}$`)

// offerName is the file's own name, or where that has odd letters only its end.
func offerName(path string) string {
	name := filepath.Base(path)
	if plainName.MatchString(name) {
		return name
	}
	return "image" + plainEnd.FindString(name)
}

// OfferURL is where a BMC that reaches us at host fetches the file of a token.
func (s *Server) OfferURL(host, token, path string) string {
	return "http://" + net.JoinHostPort(host, strconv.Itoa(s.Port())) + offerPrefix + token + "/" + offerName(path)
}

// Offer makes a file fetchable, durably: a BMC goes on fetching after a restart of
// rackproof. The same file offered to the same machine keeps its token.
func (s *Server) Offer(machine, path string, size int64) (token string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for token, o := range s.kept.Offers {
		if o.Machine == machine && o.Path == path && o.Size == size {
			return token, nil
		}
	}
	raw := make([]byte, 8) // short: some BMCs refuse long URLs (iDRAC RAC0720)
	_, _ = rand.Read(raw)  // never fails: crypto/rand
	token = hex.EncodeToString(raw)
	if s.kept.Offers == nil {
		s.kept.Offers = map[string]*Offer{}
	}
	s.kept.Offers[token] = &Offer{Machine: machine, Path: path, Size: size}
	if err := s.save(); err != nil {
		delete(s.kept.Offers, token)
		return "", err
	}
	return token, nil
}

// Fetched tells when an offered file was first asked for; zero: not yet.
func (s *Server) Fetched(token string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.kept.Offers[token]; o != nil {
		return o.Fetched
	}
	return time.Time{}
}

// Withdraw ends an offer.
func (s *Server) Withdraw(token string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept.Offers[token] == nil {
		return nil
	}
	delete(s.kept.Offers, token)
	return s.save()
}

// offered serves one file. ServeContent gives HEAD, Range and Content-Length.
func (s *Server) offered(w http.ResponseWriter, r *http.Request) {
	o, err := s.takeOffer(r)
	switch {
	case err != nil:
		s.Log.Error("netboot", "err", err)
		http.Error(w, "state not kept", http.StatusInternalServerError)
		return
	case o.Path == "":
		http.NotFound(w, r)
		return
	}
	f, err := os.Open(o.Path)
	if err == nil {
		defer func() { _ = f.Close() }() // read only
		var info os.FileInfo
		if info, err = f.Stat(); err == nil && info.Size() != o.Size {
			err = fmt.Errorf("%s has %d bytes, had %d when it was offered", o.Path, info.Size(), o.Size)
		}
	}
	if err != nil {
		s.Log.Error("firmware cannot be served", "machine", o.Machine, "err", err)
		http.Error(w, "file not at hand", http.StatusInternalServerError)
		return
	}
	s.Log.Info("firmware fetched", "machine", o.Machine, "method", r.Method, "range", r.Header.Get("Range"), "from", r.RemoteAddr)
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, f)
}

// takeOffer finds what a request asks for, and notes that it was asked. There is no
// Path where nothing of that name is offered.
func (s *Server) takeOffer(r *http.Request) (Offer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.kept.Offers[r.PathValue("token")]
	if o == nil || offerName(o.Path) != r.PathValue("name") {
		return Offer{}, nil
	}
	if r.Method == http.MethodGet && o.Fetched.IsZero() {
		o.Fetched = time.Now().UTC()
		if err := s.save(); err != nil {
			return Offer{}, err
		}
	}
	return *o, nil
}
