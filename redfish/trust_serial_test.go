//go:debug x509negativeserial=1

package redfish_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// negativeSerial makes a certificate whose serial number is below zero, which
// crypto/x509 does not make: a good one with its serial replaced, signed again.
func negativeSerial(t *testing.T) *tls.Certificate {
	t.Helper()
	cert, err := redfishtest.NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	var outer struct {
		TBS       asn1.RawValue
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}
	if _, err := asn1.Unmarshal(cert.Certificate[0], &outer); err != nil {
		t.Fatal(err)
	}
	var parts []asn1.RawValue
	if _, err := asn1.Unmarshal(outer.TBS.FullBytes, &parts); err != nil {
		t.Fatal(err)
	}
	serial, err := asn1.Marshal(big.NewInt(-5))
	if err != nil {
		t.Fatal(err)
	}
	var body bytes.Buffer
	for i, part := range parts {
		if i == 1 { // after the version
			body.Write(serial)
			continue
		}
		body.Write(part.FullBytes)
	}
	tbs, err := asn1.Marshal(asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true, Bytes: body.Bytes()})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(tbs)
	signature, err := cert.PrivateKey.(*ecdsa.PrivateKey).Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	outer.TBS = asn1.RawValue{FullBytes: tbs}
	outer.Signature = asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)}
	der, err := asn1.Marshal(outer)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: cert.PrivateKey}
}

// TestNegativeSerial: BMCs whose self-signed certificate has a serial number below zero
// (authelia #8767) are refused by Go from 1.23 on, before any pin is asked. They are
// pinned like others, and a pin is checked like others.
func TestNegativeSerial(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: small(), Certificate: negativeSerial(t)})
	cfg := config(bmc)
	store := &pins{}
	cfg.TLS.Pins = store
	c, err := redfish.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if sum, _ := store.Pin(bmc.Addr()); sum != bmc.CertSHA256() {
		t.Errorf("pinned %q, want %q", sum, bmc.CertSHA256())
	}

	if err := store.SetPin(bmc.Addr(), strings.Repeat("ab", 32)); err != nil {
		t.Fatal(err)
	}
	logins := bmc.Acts()["session.create"]
	if _, err := redfish.Open(t.Context(), cfg); !errors.Is(err, redfish.ErrPinMismatch) || bmc.Acts()["session.create"] != logins {
		t.Errorf("against another pin: %v, want ErrPinMismatch before a login", err)
	}
}

// TestNegativeSerialWithoutTheSetting: a program that uses this package without the
// setting learns its name, not that a pin would help.
func TestNegativeSerialWithoutTheSetting(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: small(), Certificate: negativeSerial(t)})
	t.Setenv("GODEBUG", "x509negativeserial=0")
	ctx := within(t, time.Minute)
	_, err := redfish.Open(ctx, config(bmc))
	if !errors.Is(err, redfish.ErrUnreachable) || !strings.Contains(err.Error(), "x509negativeserial=1") || strings.Contains(err.Error(), "pin it") {
		t.Errorf("%v, want the name of the setting", err)
	}
}
