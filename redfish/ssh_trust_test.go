package redfish_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// TestConsoleWithoutAShell: a BMC that lets in and says nothing more is given up.
func TestConsoleWithoutAShell(t *testing.T) {
	s := newShellServer(t, &shellServer{mute: true})
	cfg := config(serve(t, redfishtest.Options{Tree: sshTree(s)}))
	cfg.Timeout = 500 * time.Millisecond
	c := openAt(t, cfg)
	err := c.Console(within(t, 20*time.Second), &bytes.Buffer{})
	if !errors.Is(err, redfish.ErrUnreachable) || !strings.Contains(err.Error(), "gives no shell within") {
		t.Errorf("%v, want that it gives no shell", err)
	}
}

// TestHostKeyOfAClientsLife: where no pins are kept, the first key counts as long as the
// client lives, and no password goes to another.
func TestHostKeyOfAClientsLife(t *testing.T) {
	s := newShellServer(t, &shellServer{text: "login: "})
	c := openAt(t, config(serve(t, redfishtest.Options{Tree: sshTree(s)})))
	for range 2 {
		if _, err := watch(t, c, "login: "); err != nil {
			t.Fatal(err)
		}
	}
	s.newKey(t)
	if _, err := watch(t, c, "login: "); !errors.Is(err, redfish.ErrPinMismatch) || s.tries != 2 {
		t.Errorf("another host key: %v after %d logins, want that no password went out", err, s.tries)
	}
}

// TestRefusedBehindOneBastion: the address of a BMC is another's behind another bastion.
func TestRefusedBehindOneBastion(t *testing.T) {
	s := newShellServer(t, &shellServer{refuse: true})
	known := refused{}
	for _, via := range []string{"jump-a", "jump-a", "jump-b"} {
		cfg := config(serve(t, redfishtest.Options{Tree: sshTree(s)}))
		cfg.Via, cfg.Refusals = via, known
		if _, err := watch(t, openAt(t, cfg), "login: "); !errors.Is(err, redfish.ErrAuth) {
			t.Errorf("%s: %v, want a refusal", via, err)
		}
	}
	if s.tries != 2 {
		t.Errorf("the password was sent %d times, want once behind each bastion", s.tries)
	}
}
