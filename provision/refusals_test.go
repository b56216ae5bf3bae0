package provision

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
)

func TestRefusals(t *testing.T) {
	state := t.TempDir()
	now := time.Now()
	store := OpenRefusals(state)
	store.now = func() time.Time { return now }
	if _, ok := store.Refused("10.0.12.7:443", "root", "calvin"); ok {
		t.Error("refused before it was tried")
	}
	if err := store.Refuse("10.0.12.7:443", "root", "calvin"); err != nil {
		t.Fatal(err)
	}
	other := OpenRefusals(state) // another process
	for _, c := range []struct {
		addr, user, password string
		after                time.Duration
		refused              bool
	}{
		{"10.0.12.7:443", "root", "calvin", time.Second, true},
		{"10.0.12.7:443", "root", "calvin", refusalWindow - 2*time.Second, true},
		{"10.0.12.7:443", "root", "calvin", refusalWindow + time.Second, false},
		{"10.0.12.7:443", "root", "ca1vin", time.Second, false},
		{"10.0.12.7:443", "admin", "calvin", time.Second, false},
		{"10.0.12.7:623", "root", "calvin", time.Second, true}, // over IPMI it is the same account
		{"10.0.12.7:8443", "root", "calvin", time.Second, false},
		{"10.0.12.8:443", "root", "calvin", time.Second, false},
	} {
		other.now = func() time.Time { return now.Add(c.after) }
		until, ok := other.Refused(c.addr, c.user, c.password)
		if ok != c.refused || ok && until.Before(now.Add(refusalWindow-2*time.Second)) {
			t.Errorf("%s %s %s after %s: %v until %s, want %v", c.addr, c.user, c.password, c.after, ok, until, c.refused)
		}
	}
	text, err := os.ReadFile(filepath.Join(state, "refused_logins"))
	if err != nil || strings.Contains(string(text), "calvin") || strings.Contains(string(text), "root") {
		t.Errorf("the file tells %q, %v", text, err)
	}
}

// TestRefusedByIPMIAlone: what IPMI refuses counts for Redfish as well, but where Redfish
// took the very login before.
func TestRefusedByIPMIAlone(t *testing.T) {
	for _, c := range []struct {
		name, took string // password that Redfish took before
		redfish    bool   // is not asked again
	}{
		{"IPMI alone was asked", "", true},
		{"Redfish took it", "calvin", false},
		{"Redfish took another password", "ca1vin", true},
	} {
		state := t.TempDir()
		store := OpenRefusals(state)
		if c.took != "" {
			TookLogin(redfish.Config{Addr: "10.0.12.7", User: "root", Password: c.took, Refusals: store})
		}
		if err := store.Refuse("10.0.12.7:623", "root", "calvin"); err != nil {
			t.Fatal(err)
		}
		other := OpenRefusals(state) // another process
		if _, ok := other.Refused("10.0.12.7:443", "root", "calvin"); ok != c.redfish {
			t.Errorf("%s: refused for Redfish: %v", c.name, ok)
		}
		if _, ok := other.Refused("10.0.12.7:623", "root", "calvin"); !ok {
			t.Errorf("%s: IPMI is asked again", c.name)
		}
		// What Redfish itself refuses afterwards counts for both.
		if err := store.Refuse("10.0.12.7:443", "root", "calvin"); err != nil {
			t.Fatal(err)
		}
		for _, addr := range []string{"10.0.12.7:443", "10.0.12.7:623"} {
			if _, ok := other.Refused(addr, "root", "calvin"); !ok {
				t.Errorf("%s: %s is asked after Redfish refused", c.name, addr)
			}
		}
	}
}

// TestLoginIsKnownAsTaken: a login of a run tells the store.
func TestLoginIsKnownAsTaken(t *testing.T) {
	bmc := rotationBMC(t, false)
	cfg := redfish.Config{Addr: bmc.Addr(), User: "ADMIN", Password: tagPassword, Refusals: OpenRefusals(t.TempDir())}
	c, err := login(t.Context(), OverRedfish, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if store := cfg.Refusals.(*Refusals); len(store.took) != 1 {
		t.Errorf("the store knows %d logins", len(store.took))
	}
}
