package redfish_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// front stands before a simulated BMC: what take answers, and reports so, never comes
// to the BMC. Its certificate is another, so it is not checked.
func front(t *testing.T, bmc *redfishtest.BMC, take func(http.ResponseWriter, *http.Request) bool) redfish.Config {
	t.Helper()
	to, err := url.Parse(bmc.URL())
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, //nolint:gosec // loopback
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !take(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	cfg := config(bmc)
	cfg.Addr, cfg.TLS = server.Listener.Addr().String(), redfish.TLS{Mode: redfish.Insecure}
	return cfg
}

// openAt opens a client that the test closes.
func openAt(t *testing.T, cfg redfish.Config) *redfish.Client {
	t.Helper()
	c, err := redfish.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}
