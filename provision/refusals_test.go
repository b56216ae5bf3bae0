package provision

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
