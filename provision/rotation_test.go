package provision

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

const tagPassword = "t4g-Passw0rd"

// rotationBMC is a BMC with one account, and IPMI on or off.
func rotationBMC(t *testing.T, ipmi bool, faults ...string) *redfishtest.BMC {
	t.Helper()
	tree := redfishtest.Tree{
		"/redfish/v1":                               []byte(`{"Systems":{"@odata.id":"/redfish/v1/Systems"},"AccountService":{"@odata.id":"/redfish/v1/AccountService"}}`),
		"/redfish/v1/Systems":                       []byte(`{"Members":[{"@odata.id":"/redfish/v1/Systems/a"}]}`),
		"/redfish/v1/Systems/a":                     []byte(`{"PowerState":"On","Links":{"ManagedBy":[{"@odata.id":"/redfish/v1/Managers/b"}]},"Actions":{"#ComputerSystem.Reset":{"target":"/redfish/v1/Systems/a/R"}}}`),
		"/redfish/v1/Managers/b":                    []byte(`{"NetworkProtocol":{"@odata.id":"/redfish/v1/Managers/b/NetworkProtocol"}}`),
		"/redfish/v1/Managers/b/NetworkProtocol":    fmt.Appendf(nil, `{"IPMI":{"ProtocolEnabled":%v}}`, ipmi),
		"/redfish/v1/AccountService":                []byte(`{"MinPasswordLength":13,"MaxPasswordLength":20,"Accounts":{"@odata.id":"/redfish/v1/AccountService/Accounts"}}`),
		"/redfish/v1/AccountService/Accounts":       []byte(`{"Members":[{"@odata.id":"/redfish/v1/AccountService/Accounts/ADMIN"}]}`),
		"/redfish/v1/AccountService/Accounts/ADMIN": []byte(`{"UserName":"ADMIN"}`),
	}
	bmc, err := redfishtest.Start(context.WithoutCancel(t.Context()), redfishtest.Options{Tree: tree, User: "ADMIN", Password: tagPassword, Faults: faults})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bmc.Close() })
	return bmc
}

// rotation is one whose IPMI takes the password that takes says.
func rotation(t *testing.T, bmc *redfishtest.BMC, store PasswordStore) Rotation {
	t.Helper()
	return Rotation{
		Config: redfish.Config{Addr: bmc.Addr(), User: "ADMIN", Password: tagPassword, Poll: time.Millisecond, Refusals: OpenRefusals(t.TempDir())},
		Store:  store, Secrets: &Secrets{},
	}
}

// logsIn reports whether the BMC takes a password.
func logsIn(t *testing.T, bmc *redfishtest.BMC, password string) bool {
	t.Helper()
	c, err := redfish.Open(t.Context(), redfish.Config{Addr: bmc.Addr(), User: "ADMIN", Password: password})
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}

func fileStore(t *testing.T) FileStore {
	t.Helper()
	s := FileStore{Path: filepath.Join(t.TempDir(), "bmc-password")}
	if err := os.WriteFile(s.Path, []byte(tagPassword+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRotation(t *testing.T) {
	const cut = "cut-Passw0rd-77" // made by a rotation that was cut
	for _, test := range []struct {
		name    string
		faults  []string
		before  func(t *testing.T, bmc *redfishtest.BMC, s FileStore)
		fails   string
		changed int // acts at the BMC by the rotation
		refused int // logins
		resumed bool
	}{
		{name: "as it goes", changed: 1},
		{name: "the tag's password may do nothing else", faults: []string{"password-change-required"}, changed: 1},
		{name: "the answer is lost", faults: []string{"lost-response=account.password*1"}, changed: 1},
		{name: "the answer lies", faults: []string{"lost-effect=account.password*1"}, fails: "kept the old password", refused: 1},
		{
			name: "cut before it was set", resumed: true, changed: 1, refused: 1,
			before: func(t *testing.T, _ *redfishtest.BMC, s FileStore) {
				t.Helper()
				if err := s.Write(t.Context(), cut); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "cut after it was set", resumed: true,
			before: func(t *testing.T, bmc *redfishtest.BMC, s FileStore) {
				t.Helper()
				setPassword(t, bmc, tagPassword, cut)
				if err := s.Write(t.Context(), cut); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "somebody else changed it", fails: "neither the new nor the old", resumed: true, refused: 2,
			before: func(t *testing.T, bmc *redfishtest.BMC, s FileStore) {
				t.Helper()
				setPassword(t, bmc, tagPassword, "c0lleagues-0wn-Word")
				if err := s.Write(t.Context(), cut); err != nil {
					t.Fatal(err)
				}
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			bmc, store := rotationBMC(t, false, test.faults...), fileStore(t)
			if test.before != nil {
				test.before(t, bmc, store)
			}
			acts, refused := bmc.Acts()["account.password"], bmc.Unauthorized()
			out, err := rotation(t, bmc, store).Run(t.Context())
			if test.fails == "" && err != nil || test.fails != "" && (err == nil || !strings.Contains(err.Error(), test.fails)) {
				t.Fatalf("error %v, want %q", err, test.fails)
			}
			if out.Resumed != test.resumed || bmc.Acts()["account.password"]-acts != test.changed || bmc.Unauthorized()-refused != test.refused {
				t.Errorf("resumed %v, %d changes, %d refused logins; want %v, %d, %d",
					out.Resumed, bmc.Acts()["account.password"]-acts, bmc.Unauthorized()-refused, test.resumed, test.changed, test.refused)
			}
			checkKept(t, bmc, store, test.fails == "" || strings.Contains(test.fails, "old password"))
			if n := bmc.OpenSessions(); n != 0 {
				t.Errorf("%d sessions stay open", n)
			}
		})
	}
}

func setPassword(t *testing.T, bmc *redfishtest.BMC, old, fresh string) {
	t.Helper()
	c, err := redfish.Open(t.Context(), redfish.Config{Addr: bmc.Addr(), User: "ADMIN", Password: old})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.SetPassword(t.Context(), fresh), c.Close()); err != nil {
		t.Fatal(err)
	}
}

// checkKept: settled, the store's file is the one password and it opens the BMC.
// Otherwise both words are still there for a person.
func checkKept(t *testing.T, bmc *redfishtest.BMC, store FileStore, settled bool) {
	t.Helper()
	kept, err := os.ReadFile(store.Path)
	if err != nil {
		t.Fatal(err)
	}
	_, waits, _ := store.Waiting(t.Context())
	if waits == settled {
		t.Errorf("a new password waits: %v, want %v", waits, !settled)
	}
	if ok := logsIn(t, bmc, strings.TrimSpace(string(kept))); ok != settled {
		t.Errorf("what the store holds opens the BMC: %v, want %v", ok, settled)
	}
	if info, err := os.Stat(store.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestRotationIsWrittenFirst: at no moment is a password in force that no file holds,
// wherever the rotation is cut.
func TestRotationIsWrittenFirst(t *testing.T) {
	errFull := errors.New("disk is full")
	bmc, store := rotationBMC(t, false), fileStore(t)
	r := rotation(t, bmc, &cutStore{FileStore: store, write: errFull})
	if _, err := r.Run(t.Context()); !errors.Is(err, errFull) || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("a store that cannot be written: %v", err)
	}
	if !logsIn(t, bmc, tagPassword) || bmc.Acts()["account.password"] != 0 {
		t.Error("the BMC was changed")
	}
	r.Store = &cutStore{FileStore: store, settle: errFull}
	if _, err := r.Run(t.Context()); !errors.Is(err, errFull) {
		t.Errorf("cut before it was settled: %v", err)
	}
	waiting, ok, err := store.Waiting(t.Context())
	if err != nil || !ok || !logsIn(t, bmc, waiting) {
		t.Fatalf("the password in force is not the one that waits: %v, %v", ok, err)
	}
	r.Store = store
	if out, err := r.Run(t.Context()); err != nil || !out.Resumed || bmc.Acts()["account.password"] != 1 {
		t.Errorf("run again: %+v, %v, %v", out, err, bmc.Acts())
	}
	checkKept(t, bmc, store, true)
}

// cutStore fails at one of its steps.
type cutStore struct {
	FileStore
	write, settle error
}

func (c *cutStore) Write(ctx context.Context, password string) error {
	if c.write != nil {
		return c.write
	}
	return c.FileStore.Write(ctx, password)
}

func (c *cutStore) Settle(ctx context.Context, password string) error {
	if c.settle != nil {
		return c.settle
	}
	return c.FileStore.Settle(ctx, password)
}

func TestRotationOverIPMI(t *testing.T) {
	for _, test := range []struct {
		answer      error
		fails, note string
		verified    string
	}{
		{nil, "", "", "redfish ipmi"},
		{redfish.ErrAuth, "IPMI does not take it", "", "redfish"},
		{redfish.ErrUnreachable, "", "not proven over IPMI", "redfish"},
	} {
		bmc, store := rotationBMC(t, true), fileStore(t)
		r := rotation(t, bmc, store)
		var asked redfish.Config
		r.OpenIPMI = func(_ context.Context, cfg redfish.Config) (io.Closer, error) {
			asked = cfg
			return io.NopCloser(nil), test.answer
		}
		out, err := r.Run(t.Context())
		if test.fails == "" && err != nil || test.fails != "" && (err == nil || !strings.Contains(err.Error(), test.fails)) {
			t.Errorf("IPMI says %v: %v, want %q", test.answer, err, test.fails)
		}
		if got := strings.Join(out.Verified, " "); got != test.verified || !strings.Contains(out.Note, test.note) {
			t.Errorf("IPMI says %v: verified %s, note %q", test.answer, got, out.Note)
		}
		if asked.Addr != "127.0.0.1" || asked.Password == tagPassword || len(asked.Password) > 20 {
			t.Errorf("asked %s with a password of %d bytes", asked.Addr, len(asked.Password))
		}
		checkKept(t, bmc, store, true)
	}
}

// TestRotationByCommands: a store of one password; the old one is put back where the
// new one did not come into force.
func TestRotationByCommands(t *testing.T) {
	for _, fault := range []string{"", "lost-effect=account.password*1"} {
		dir := t.TempDir()
		kept := filepath.Join(dir, "kept")
		store := CommandStore{Set: "cat >" + kept, Get: "cat " + kept, Mark: filepath.Join(dir, "marks", "bmc")}
		var faults []string
		if fault != "" {
			faults = append(faults, fault)
		}
		bmc := rotationBMC(t, false, faults...)
		if _, err := rotation(t, bmc, store).Run(t.Context()); (err == nil) != (fault == "") {
			t.Errorf("%q: %v", fault, err)
		}
		b, err := os.ReadFile(kept)
		if err != nil || !logsIn(t, bmc, strings.TrimSpace(string(b))) {
			t.Errorf("%q: what the store holds does not open the BMC (%v)", fault, err)
		}
		if _, waits, _ := store.Waiting(t.Context()); waits {
			t.Errorf("%q: a password still waits", fault)
		}
	}
	liar := CommandStore{Set: "cat >/dev/null", Get: "echo something else", Mark: filepath.Join(t.TempDir(), "mark")}
	bmc := rotationBMC(t, false)
	if _, err := rotation(t, bmc, liar).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "does not give back") || bmc.Acts()["account.password"] != 0 {
		t.Errorf("a store that keeps nothing: %v, %v", err, bmc.Acts())
	}
}

func TestNewPassword(t *testing.T) {
	for _, test := range []struct {
		rules redfish.PasswordRules
		want  int // length; 0 = refused
	}{
		{redfish.PasswordRules{}, 16},
		{redfish.PasswordRules{Min: 13, Max: 20, IPMI: true}, 16},
		{redfish.PasswordRules{Min: 18, Max: 40, IPMI: true}, 18},
		{redfish.PasswordRules{Max: 12, IPMI: true}, 12},
		{redfish.PasswordRules{Min: 24, IPMI: true}, 0}, // IPMI would be lost
		{redfish.PasswordRules{Min: 24}, 24},
		{redfish.PasswordRules{Max: 6}, 0},
	} {
		got, err := NewPassword(test.rules)
		if len(got) != test.want || (err == nil) != (test.want > 0) {
			t.Errorf("%+v: %d characters, %v; want %d", test.rules, len(got), err, test.want)
		}
		if err == nil && (!everyClass(got) || strings.ContainsAny(got, "0O1Il")) {
			t.Errorf("%+v: %q", test.rules, got)
		}
	}
}
