package redfish_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rackproof/rackproof/redfish"
)

// oldTLS serves the smallest BMC over the TLS that conf leaves.
func oldTLS(t *testing.T, conf *tls.Config) redfish.Config {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	f := &foreign{headers: map[string]string{"X-Auth-Token": "t-1"}, body: `{"Id":"s1"}`, override: "None"}
	s.Config.Handler = f
	s.TLS = conf
	s.StartTLS()
	t.Cleanup(s.Close)
	return redfish.Config{Addr: s.Listener.Addr().String(), User: "admin", Password: foreignPassword, Poll: 1}
}

// TestLegacyTLS: H3C HDM 3.57 knows RSA key exchange alone, others TLS 1.0 alone.
// Both are taken where this BMC was allowed them, and nowhere else.
func TestLegacyTLS(t *testing.T) {
	for name, conf := range map[string]*tls.Config{
		"RSA key exchange alone": {MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_256_GCM_SHA384}},
		"TLS 1.0 alone":          {MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_256_CBC_SHA}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := oldTLS(t, conf)
			_, err := redfish.Open(t.Context(), cfg)
			if !errors.Is(err, redfish.ErrUnreachable) || !strings.Contains(err.Error(), "tls: {legacy: true}") {
				t.Errorf("by default: %v, want a refusal that names the key", err)
			}
			cfg.TLS.Legacy = true
			c, err := redfish.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if c.Fingerprint() == "" {
				t.Error("the certificate is not pinned")
			}
		})
	}
}

// TestRedirects: a BMC sends requests on to its slash with whatever status its web
// server knows; they are followed with method and body kept, and no further than
// this BMC.
func TestRedirects(t *testing.T) {
	for _, status := range []int{301, 302, 307, 308} {
		f := &foreign{headers: map[string]string{"X-Auth-Token": "t-1"}, body: `{"Id":"s1"}`, redirect: status}
		c, err := redfish.Open(t.Context(), newForeign(t, f))
		if err != nil {
			t.Errorf("%d: %v", status, err)
			continue
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if f.logins != 1 || f.sessions != 0 {
			t.Errorf("%d: %d logins, %d sessions open", status, f.logins, f.sessions)
		}
	}
}

// TestRedirectToItsOwnNameWithoutPort: asked at port 443, a BMC writes its address
// without it.
func TestRedirectToItsOwnNameWithoutPort(t *testing.T) {
	f := &foreign{headers: map[string]string{"X-Auth-Token": "t-1"}, body: `{"Id":"s1"}`, redirect: 308, redirectTo: "https://bmc.example"}
	cfg := newForeign(t, f)
	cfg.Dial = dialTo(cfg.Addr)
	cfg.Addr = "BMC.example"
	c, err := redfish.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestSeeOtherIsNotFollowed: what it answers has happened.
func TestSeeOtherIsNotFollowed(t *testing.T) {
	var logins atomic.Int32
	bmc := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			logins.Add(1)
			http.Redirect(w, r, "/elsewhere", http.StatusSeeOther)
			return
		}
		_, _ = io.WriteString(w, `{"Systems":{"@odata.id":"/redfish/v1/Systems"}}`)
	}))
	defer bmc.Close()
	_, err := redfish.Open(t.Context(), redfish.Config{Addr: strings.TrimPrefix(bmc.URL, "https://"), User: user, Password: password})
	if err == nil || logins.Load() != 1 {
		t.Errorf("%v after %d logins, want a failure after one", err, logins.Load())
	}
}

// TestHostHeader: the BMC is named as the user names it, whatever way leads there.
func TestHostHeader(t *testing.T) {
	for addr, want := range map[string]string{"bmc.example": "bmc.example", "bmc.example:8443": "bmc.example:8443", "10.0.12.7": "10.0.12.7"} {
		var named []string
		bmc := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			named = append(named, r.Host)
			w.WriteHeader(http.StatusTeapot)
		}))
		_, err := redfish.Open(t.Context(), redfish.Config{
			Addr: addr, User: user, Password: password, Dial: dialTo(bmc.Listener.Addr().String()), TLS: redfish.TLS{Mode: redfish.Insecure},
		})
		bmc.Close()
		if err == nil || len(named) == 0 || named[0] != want {
			t.Errorf("%s: asked as %v, want %s (%v)", addr, named, want, err)
		}
	}
}
