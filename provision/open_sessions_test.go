package provision

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// A session lives as long as its process; the file of one that is gone is taken over
// once, and a living one is left alone.
func TestOpenSessions(t *testing.T) {
	store := OpenSessionStore(t.TempDir())
	hold, err := store.Keep("192.0.2.7:443", redfish.SessionRecord{URI: "/s/1", User: "root", Created: "then"})
	if err != nil {
		t.Fatal(err)
	}
	left := func(addr string) []redfish.SessionHold {
		t.Helper()
		all, err := store.Left(addr)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if n := len(left("192.0.2.7:443")); n != 0 {
		t.Errorf("%d sessions of a living process are taken for left", n)
	}
	if err := hold.Drop(); err != nil { // as the kernel does when the process ends
		t.Fatal(err)
	}
	if n := len(left("192.0.2.70:443")) + len(left("192.0.2.7:4430")); n != 0 {
		t.Errorf("%d sessions of other BMCs", n)
	}
	mine := left("192.0.2.7:443")
	if len(mine) != 1 || mine[0].Record().URI != "/s/1" || mine[0].Record().Created != "then" || mine[0].Record().Used.IsZero() {
		t.Fatalf("left: %+v", mine)
	}
	if n := len(left("192.0.2.7:443")); n != 0 {
		t.Errorf("%d sessions are taken over twice", n)
	}
	if err := mine[0].Forget(); err != nil {
		t.Fatal(err)
	}
	if files, _ := os.ReadDir(store.dir); len(files) != 0 {
		t.Errorf("%d files stay", len(files))
	}
	// A file that was being written when its process was killed is no session.
	if err := os.WriteFile(filepath.Join(store.dir, store.prefix("192.0.2.7:443")+"x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if n := len(left("192.0.2.7:443")); n != 0 {
		t.Errorf("%d sessions without a word", n)
	}
}

// lastKept gives a test the hold of the last session.
type lastKept struct {
	*OpenSessions
	last redfish.SessionHold
}

func (k *lastKept) Keep(addr string, r redfish.SessionRecord) (hold redfish.SessionHold, err error) {
	k.last, err = k.OpenSessions.Keep(addr, r)
	return k.last, err
}

// TestKilledProcessLeavesNoSession: the next login closes what was left, though the
// BMC had no room any more.
func TestKilledProcessLeavesNoSession(t *testing.T) {
	tree := redfishtest.Tree{
		"/redfish/v1":           []byte(`{"Systems":{"@odata.id":"/redfish/v1/Systems"}}`),
		"/redfish/v1/Systems":   []byte(`{"Members":[{"@odata.id":"/redfish/v1/Systems/a"}]}`),
		"/redfish/v1/Systems/a": []byte(`{"PowerState":"On","Actions":{"#ComputerSystem.Reset":{"target":"/redfish/v1/Systems/a/R"}}}`),
	}
	bmc, err := redfishtest.Start(context.WithoutCancel(t.Context()), redfishtest.Options{Tree: tree, User: "root", Password: "secret-0", SessionLimit: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bmc.Close() }()
	state := t.TempDir()
	open := func(store redfish.SessionStore) *redfish.Client {
		t.Helper()
		c, err := redfish.Open(t.Context(), redfish.Config{Addr: bmc.Addr(), User: "root", Password: "secret-0", Sessions: store})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	living := open(OpenSessionStore(state))
	killed := &lastKept{OpenSessions: OpenSessionStore(state)}
	open(killed)
	if err := killed.last.Drop(); err != nil { // as the kernel does
		t.Fatal(err)
	}
	next := open(OpenSessionStore(state))
	if n := bmc.OpenSessions(); n != 2 {
		t.Errorf("%d sessions are open, want the living one and the new one", n)
	}
	if _, err := living.Power(t.Context()); err != nil || bmc.Acts()["session.create"] != 3 {
		t.Errorf("the living client lost its session: %v, %v", err, bmc.Acts())
	}
	for _, c := range []*redfish.Client{living, next} {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if files, _ := os.ReadDir(filepath.Join(state, "sessions")); len(files) != 0 || bmc.OpenSessions() != 0 {
		t.Errorf("%d files and %d sessions stay", len(files), bmc.OpenSessions())
	}
}
