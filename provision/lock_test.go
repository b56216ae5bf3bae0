package provision

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/redfish"
)

func TestLeaseIsHeldOnce(t *testing.T) {
	dir := t.TempDir()
	m := Machine{Name: "r1u01", BMC: "192.0.2.7"}
	first, err := LeaseBMC(dir, "", "job", m)
	if err != nil {
		t.Fatal(err)
	}
	_, err = LeaseBMC(dir, "", "other", m)
	var held *HeldError
	if !errors.As(err, &held) || !strings.Contains(held.Holder, "run job, machine r1u01") || !strings.Contains(err.Error(), "BMC 192.0.2.7 is held by pid ") {
		t.Errorf("second lease: %v", err)
	}
	for _, same := range []string{"192.0.2.7:443", "192.0.2.7:623"} {
		if _, err := LeaseAddr(dir, "", same, "", "by hand"); !errors.As(err, &held) {
			t.Errorf("%s is another BMC: %v", same, err)
		}
	}
	for _, other := range []string{"192.0.2.8", "192.0.2.7:8443"} {
		if _, err := LeaseBMC(dir, "", "other", Machine{BMC: other}); err != nil {
			t.Errorf("another BMC: %v", err)
		}
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := LeaseBMC(dir, "", "other", m); err != nil {
		t.Errorf("after release: %v", err)
	}
}

// TestLeaseOfBothAddresses: where a BMC is to be is held with where it is.
func TestLeaseOfBothAddresses(t *testing.T) {
	dir := t.TempDir()
	m := Machine{Name: "r1u01", BMC: "192.0.2.7", Network: &redfish.NetworkWish{Address: netip.MustParsePrefix("192.0.2.8/24")}}
	for range 2 {
		lease, err := LeaseBMC(dir, "", "job", m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := LeaseBMC(dir, "", "other", Machine{BMC: "192.0.2.8"}); err == nil {
			t.Error("the new address is free for another run")
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := LeaseBMC(dir, "", "other", Machine{BMC: "192.0.2.8"}); err != nil {
		t.Fatal(err)
	}
	if _, err := LeaseBMC(dir, "", "job", m); err == nil {
		t.Error("the new address is held by another run")
	}
	if _, err := LeaseBMC(dir, "", "third", Machine{BMC: "192.0.2.7"}); err != nil {
		t.Errorf("the old one is kept though the new was refused: %v", err)
	}
}

func TestKnownBMCs(t *testing.T) {
	dir := t.TempDir()
	k := OpenKnownBMCs(dir)
	if _, ok := k.Pin("192.0.2.7:443"); ok {
		t.Error("a pin that nobody set")
	}
	for _, pin := range []string{"aa", "bb"} {
		if err := k.SetPin("192.0.2.7:443", pin); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.SetPin("192.0.2.7", "cc"); err != nil {
		t.Fatal(err)
	}
	if got, ok := OpenKnownBMCs(dir).Pin("192.0.2.7:443"); !ok || got != "bb" {
		t.Errorf("pin %q, want the last one set", got)
	}
	if err := k.SetPin("192.0.2.9", "two words"); err == nil {
		t.Error("a pin that would break the file was taken")
	}
}
