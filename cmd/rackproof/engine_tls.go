package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/spf13/pflag"
)

// protection is that of the connection to a Temporal server.
type protection struct {
	on        bool
	ca        string // file of PEM; "" = the system's
	cert, key string // files of ours, where the server wants to know its clients
}

func (p *protection) flags(f *pflag.FlagSet) {
	f.BoolVar(&p.on, "temporal-tls", false, "speak TLS with the Temporal server")
	f.StringVar(&p.ca, "temporal-ca", "", "`file` of the authority that signed its certificate (default: the system's); implies --temporal-tls")
	f.StringVar(&p.cert, "temporal-cert", "", "`file` of our certificate, where the server asks for one; implies --temporal-tls")
	f.StringVar(&p.key, "temporal-key", "", "`file` of its key")
}

// config is nil where nobody asked for TLS.
func (p *protection) config() (*tls.Config, error) {
	if !p.on && p.ca == "" && p.cert == "" && p.key == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if p.ca != "" {
		pem, err := os.ReadFile(p.ca)
		if err != nil {
			return nil, usageError(fmt.Errorf("--temporal-ca: %w", err), "--temporal-ca ca.pem")
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, usageError(fmt.Errorf("--temporal-ca: %s has no certificate in PEM", p.ca), "--temporal-ca ca.pem")
		}
	}
	if p.cert == "" && p.key == "" {
		return c, nil
	}
	if p.cert == "" || p.key == "" {
		return nil, usageError(errors.New("a certificate of ours needs both its files"), "--temporal-cert client.pem --temporal-key client.key")
	}
	pair, err := tls.LoadX509KeyPair(p.cert, p.key)
	if err != nil {
		return nil, usageError(fmt.Errorf("--temporal-cert %s, --temporal-key %s: %w", p.cert, p.key, err), "a certificate and its key, both PEM")
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

// own reports whether a server is on this machine, so that nobody can listen.
func own(server string) bool {
	host, _, err := net.SplitHostPort(server)
	if err != nil {
		host = server
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
