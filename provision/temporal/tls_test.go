package temporal

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestTLS speaks with the server through a proxy that ends TLS before it: with the
// authority of its certificate, with another one, and in plain text.
func TestTLS(t *testing.T) {
	needServer(t)
	https := httptest.NewTLSServer(nil) // for its certificate, of 127.0.0.1, and the pool that knows it
	defer https.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: https.TLS.Certificates, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go forward(l)
	pool := x509.NewCertPool()
	pool.AddCert(https.Certificate())
	for name, c := range map[string]struct {
		tls  *tls.Config
		want string
	}{
		"trusted":   {&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, ""},
		"untrusted": {&tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}, "certificate"},
		"plain":     {nil, "server of Temporal at " + l.Addr().String()},
	} {
		t.Run(name, func(t *testing.T) {
			opt := testOptions(t.TempDir())
			opt.Address, opt.TLS = l.Addr().String(), c.tls
			e, err := Open(t.Context(), opt)
			if err == nil {
				_ = e.Close()
			}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func forward(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = c.Close() }()
			s, err := net.Dial("tcp", server)
			if err != nil {
				return
			}
			defer func() { _ = s.Close() }()
			go func() { _, _ = io.Copy(s, c) }()
			_, _ = io.Copy(c, s)
		}()
	}
}
