package redfish_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

func TestCertificatePin(t *testing.T) {
	first := serve(t, redfishtest.Options{Tree: small()})
	store := &pins{}
	cfg := config(first)
	cfg.TLS.Pins = store
	c, err := redfish.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if sum, _ := store.Pin(first.Addr()); sum != first.CertSHA256() {
		t.Errorf("pinned %q, want %q", sum, first.CertSHA256())
	}

	if err := store.SetPin(first.Addr(), strings.Repeat("ab", 32)); err != nil {
		t.Fatal(err)
	}
	before := first.Acts()["session.create"]
	_, err = redfish.Open(t.Context(), cfg)
	if !errors.Is(err, redfish.ErrPinMismatch) {
		t.Errorf("another certificate: %v, want ErrPinMismatch", err)
	}
	if err != nil && (strings.Contains(err.Error(), "Get \"") || !strings.Contains(err.Error(), "forget-pin")) {
		t.Errorf("no words for a person: %v", err)
	}
	if first.Acts()["session.create"] != before {
		t.Error("credentials went to a BMC with a foreign certificate")
	}

	cfg.TLS.Mode = redfish.Insecure
	insecure, err := redfish.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer insecure.Close()
	if !insecure.Insecure() || c.Insecure() {
		t.Error("an unchecked certificate is not told")
	}

	cfg.TLS.Mode = redfish.CA
	if _, err := redfish.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("self-signed against the system's roots: %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	_ = listener.Close()
	_, err = redfish.Open(within(t, time.Minute), redfish.Config{Addr: addr, User: user, Password: password, Poll: time.Millisecond})
	if !errors.Is(err, redfish.ErrUnreachable) || !strings.Contains(err.Error(), "switched off, or not this VLAN") {
		t.Errorf("nobody there: %v", err)
	}
}

func TestEveryRequestHasADeadline(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: small()})
	cfg := config(bmc)
	cfg.Timeout = 700 * time.Millisecond
	c, err := redfish.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := bmc.SetFault("hang=/redfish/v1/Systems", true); err != nil {
		t.Fatal(err)
	}
	_, err = c.Power(within(t, time.Minute))
	if !errors.Is(err, redfish.ErrUnreachable) || !strings.Contains(err.Error(), "silent for 700ms") {
		t.Errorf("a stuck web server: %v", err)
	}
	if err := bmc.SetFault("hang", false); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestStrainedBMCIsReadAlone: one 503, and reads go one by one.
func TestStrainedBMCIsReadAlone(t *testing.T) {
	tree := captured(t, "supermicro")
	bmc := serve(t, redfishtest.Options{Tree: tree, Latency: time.Millisecond})
	c := open(t, bmc)
	if _, err := c.Inventory(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n := bmc.MaxInFlight(); n < 2 || n > 4 {
		t.Errorf("%d requests at once on a healthy BMC, want 2 to 4", n)
	}

	strained := serve(t, redfishtest.Options{Tree: tree, Latency: time.Millisecond})
	c = open(t, strained)
	if err := strained.SetFault("not-ready*1", true); err != nil {
		t.Fatal(err)
	}
	inv, err := c.Inventory(within(t, time.Minute))
	if err != nil || len(inv.Partial) != 0 || len(inv.DIMMs) != 32 {
		t.Errorf("%d DIMMs, partial %v, %v after one 503", len(inv.DIMMs), inv.Partial, err)
	}
	if n := strained.MaxInFlight(); n > 1 {
		t.Errorf("%d requests at once after a 503, want 1", n)
	}
}

// A pin belongs to the BMC: one that is known by its identity is recognised at an
// address where another one stood.
func TestKnownBMCAtAnotherAddress(t *testing.T) {
	s := serve(t, redfishtest.Options{Tree: small()})
	store := &pins{known: s.CertSHA256()}
	if err := store.SetPin(s.Addr(), strings.Repeat("ab", 32)); err != nil {
		t.Fatal(err)
	}
	cfg := config(s)
	cfg.TLS.Pins = store
	c, err := redfish.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if sum, _ := store.Pin(s.Addr()); sum != s.CertSHA256() {
		t.Errorf("the address is pinned to %s, want its new BMC", sum)
	}
}
