package redfish

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"os"
	"sync"
)

// trust decides whether a certificate belongs to the BMC, and remembers what it
// saw. It decides inside the handshake, so no credential goes to a stranger.
type trust struct {
	cfg  TLS
	addr string
	key  string // of the pin

	mu   sync.Mutex
	leaf *x509.Certificate // as shown last
	seen string            // SHA-256 of it, lower-case hex
}

// clientPins are pins for the life of a Client.
type clientPins struct {
	mu   sync.Mutex
	sums map[string]string
}

// Pin implements PinStore.
func (p *clientPins) Pin(key string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum, ok := p.sums[key]
	return sum, ok
}

// SetPin implements PinStore.
func (p *clientPins) SetPin(key, sum string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sums == nil {
		p.sums = map[string]string{}
	}
	p.sums[key] = sum
	return nil
}

// Known implements PinStore: no identity is bound to these.
func (p *clientPins) Known(string) bool { return false }

// tlsConfig gives the client's side of the handshake.
func (t *trust) tlsConfig() (*tls.Config, error) {
	conf := &tls.Config{
		MinVersion:       tls.VersionTLS12,
		VerifyConnection: t.verify,
	}
	if t.cfg.Legacy {
		conf.MinVersion, conf.CipherSuites = tls.VersionTLS10, legacySuites()
	}
	switch t.cfg.Mode {
	case Pin, Insecure:
		// A BMC's certificate is self-signed as a rule: verify compares it
		// with the pin instead of a chain.
		conf.InsecureSkipVerify = true
	case CA:
		if t.cfg.CAFile == "" {
			return conf, nil
		}
		pem, err := os.ReadFile(t.cfg.CAFile)
		if err != nil {
			return nil, fmt.Errorf("CA file for %s: %w", t.addr, err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("CA file %s holds no PEM certificate", t.cfg.CAFile)
		}
	default:
		return nil, fmt.Errorf("TLS mode %q for %s: use pin, ca or insecure", t.cfg.Mode, t.addr)
	}
	return conf, nil
}

// legacySuites are those of today, and behind them what BMCs were seen to know
// alone: H3C HDM 3.57 offers RSA with AES-256-GCM (idrac_exporter #204), older
// firmware RSA with AES-CBC (community.general #8555). RC4 and 3DES are left out.
func legacySuites() []uint16 {
	var ids []uint16
	for _, suite := range tls.CipherSuites() {
		ids = append(ids, suite.ID)
	}
	return append(ids,
		tls.TLS_RSA_WITH_AES_256_GCM_SHA384, tls.TLS_RSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_RSA_WITH_AES_256_CBC_SHA, tls.TLS_RSA_WITH_AES_128_CBC_SHA256, tls.TLS_RSA_WITH_AES_128_CBC_SHA,
	)
}

func (t *trust) verify(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return fmt.Errorf("BMC %s sent no certificate", t.addr)
	}
	sum := sha256.Sum256(state.PeerCertificates[0].Raw)
	got := hex.EncodeToString(sum[:])

	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cfg.Mode == Pin {
		if err := t.checkPin(got); err != nil {
			return err
		}
	}
	t.leaf, t.seen = state.PeerCertificates[0], got
	return nil
}

func (t *trust) checkPin(got string) error {
	want, ok := t.seen, t.seen != ""
	if t.cfg.Pins != nil {
		want, ok = t.cfg.Pins.Pin(t.key)
	}
	moved := ok && want != got && t.cfg.Pins != nil && t.cfg.Pins.Known(got)
	switch {
	case t.cfg.Pins != nil && (!ok || moved):
		if err := t.cfg.Pins.SetPin(t.key, got); err != nil {
			return fmt.Errorf("keep the certificate pin of %s: %w", t.addr, err)
		}
	case ok && want != got:
		return fmt.Errorf("%w: %s shows certificate %s…, pinned is %s…, and no BMC known here has this one: either the board or its certificate was replaced, or this is a foreign machine; no password was sent. Check the sticker and the cable; if it is right, `rackproof bmc %s forget-pin`",
			ErrPinMismatch, t.addr, short(got), short(want), t.addr)
	}
	return nil
}

func short(sum string) string { return sum[:min(len(sum), 16)] }

func (t *trust) fingerprint() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen
}
