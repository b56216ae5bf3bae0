package redfishtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"math/big"
	"net"
	"time"
)

// certificate is the one given, or a new self-signed one: what a BMC shows on
// delivery, and why clients pin.
func (o Options) certificate() (*tls.Certificate, error) {
	if o.Certificate != nil {
		return o.Certificate, nil
	}
	return NewCertificate()
}

// ShowNewCertificate makes a certificate anew and shows it to whoever connects from now
// on, as another BMC in the place of this one would. Its sessions end.
func (b *BMC) ShowNewCertificate() error {
	cert, err := NewCertificate()
	if err != nil {
		return err
	}
	b.ExpireSessions()
	b.show(cert)
	return nil
}

func (b *BMC) show(cert *tls.Certificate) {
	sum := sha256.Sum256(cert.Certificate[0])
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cert, b.certHash = cert, hex.EncodeToString(sum[:])
}

// shown is the certificate for a handshake.
func (b *BMC) shown(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cert, nil
}

// NewCertificate makes a self-signed certificate, for a BMC that keeps its own
// over several starts.
func NewCertificate() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("simulated BMC certificate: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 64))
	if err != nil {
		return nil, fmt.Errorf("simulated BMC certificate: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "simulated BMC"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{"localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("simulated BMC certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
