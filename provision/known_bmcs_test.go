package provision

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/redfish"
)

func TestKnownBMCsFollowTheBMC(t *testing.T) {
	dir := t.TempDir()
	k := OpenKnownBMCs(dir)
	bind := func(addr, pin, who string) {
		t.Helper()
		if err := k.Bind(addr, pin, who); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.SetPin("192.0.2.7:443", "aa"); err != nil {
		t.Fatal(err)
	}
	if k.Known("aa") {
		t.Error("a certificate that nobody stands behind is known")
	}
	bind("192.0.2.7:443", "aa", "u1")
	bind("192.0.2.7:443", "aa", "u1") // again adds nothing
	if b, err := os.ReadFile(filepath.Join(dir, "known_bmcs")); err != nil || strings.Count(string(b), "\n") != 2 {
		t.Errorf("%s, %v", b, err)
	}
	if !k.Known("aa") || k.At("192.0.2.7:443") != "u1" || k.Of("u1") != (KnownBMC{"192.0.2.7:443", "aa", "u1"}) {
		t.Errorf("of u1: %+v", k.Of("u1"))
	}
	bind("192.0.2.8:443", "bb", "u1") // moved, with a new certificate
	if k.Known("aa") || !k.Known("bb") {
		t.Error("the certificate that a BMC had once is still known, or its new one is not")
	}
}

// A person who forgets a pin lets a new certificate in, at that address and for the
// BMC behind it, and for no other.
func TestForgetPin(t *testing.T) {
	k := OpenKnownBMCs(t.TempDir())
	for _, b := range []KnownBMC{{"192.0.2.7:443", "aa", "u1"}, {"192.0.2.8:443", "bb", "u2"}} {
		if err := k.Bind(b.Addr, b.SHA256, b.Who); err != nil {
			t.Fatal(err)
		}
	}
	gone, err := k.Forget("192.0.2.7:443", "")
	if err != nil || !slices.Equal(gone, []KnownBMC{{"192.0.2.7:443", "aa", "u1"}}) {
		t.Errorf("forgot %v, %v", gone, err)
	}
	if _, ok := k.Pin("192.0.2.7:443"); ok || k.Known("aa") || k.Of("u1") != (KnownBMC{}) {
		t.Errorf("still known: %+v", k.Of("u1"))
	}
	if pin, ok := k.Pin("192.0.2.8:443"); !ok || pin != "bb" || !k.Known("bb") {
		t.Error("the pin of another BMC went too")
	}
	// A BMC that moved is forgotten by its UUID.
	if gone, err := k.Forget("192.0.2.9:443", "u2"); err != nil || len(gone) != 1 || k.Known("bb") {
		t.Errorf("forgot %v, %v", gone, err)
	}
	if gone, err := k.Forget("192.0.2.9:443", ""); err != nil || len(gone) != 0 {
		t.Errorf("nothing known: forgot %v, %v", gone, err)
	}
	if err := k.Bind("192.0.2.7:443", "cc", "u1"); err != nil || !k.Known("cc") {
		t.Errorf("the new certificate is not known: %v", err)
	}
}

// A BMC that moved is recognised; another one at a known address, or one that
// shows another certificate than before, is not worked on.
func TestPinBelongsToTheBMC(t *testing.T) {
	const uuid = "00112233-4455-6677-8899-aabbccddeeff" // of newFakeBMC, whose certificate is "aa"
	for _, test := range []struct {
		name    string
		machine Machine
		before  KnownBMC
		want    string
	}{
		{"new", Machine{BMC: "192.0.2.1"}, KnownBMC{}, ""},
		{"as before", Machine{BMC: "192.0.2.1"}, KnownBMC{"192.0.2.1:443", "aa", uuid}, ""},
		{"moved", Machine{BMC: "192.0.2.1"}, KnownBMC{"192.0.2.9:443", "aa", uuid}, ""},
		{"other certificate", Machine{BMC: "192.0.2.1", Serial: "S1"}, KnownBMC{"192.0.2.9:443", "old", uuid}, "showed certificate old… at 192.0.2.9:443"},
		{"other BMC, named by nothing", Machine{BMC: "192.0.2.1"}, KnownBMC{"192.0.2.1:443", "xx", "u9"}, "names neither serial nor UUID"},
		{"other BMC, named by serial", Machine{BMC: "192.0.2.1", Serial: "S1"}, KnownBMC{"192.0.2.1:443", "xx", "u9"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFakeBMC()
			e, _ := stepEnv(t, f, test.machine)
			e.Machine.BMC, e.Machine.Serial, e.Machine.UUID, e.Machine.Boot.Image = test.machine.BMC, test.machine.Serial, "", ""
			e.Machine.Login.TLS = string(redfish.Pin)
			e.known = OpenKnownBMCs(t.TempDir())
			if test.before != (KnownBMC{}) {
				if err := e.known.Bind(test.before.Addr, test.before.SHA256, test.before.Who); err != nil {
					t.Fatal(err)
				}
			}
			c, err := e.Client(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			err = e.bindPin(c, f.id)
			var hands *Hands
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want == "" && e.known.Of(uuid) != KnownBMC{"192.0.2.1:443", c.Fingerprint(), uuid}:
				t.Errorf("bound: %+v", e.known.Of(uuid))
			case test.want != "" && (!errors.As(err, &hands) || !strings.Contains(hands.Why, test.want)):
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// An attempt that began with one BMC never goes on with another.
func TestAnotherBMCInTheMiddleOfAnAttempt(t *testing.T) {
	e, _ := stepEnv(t, newFakeBMC(), Machine{})
	e.Facts[FactPrint] = "another"
	_, err := e.Client(t.Context())
	var stuck *Stuck
	if !errors.As(err, &stuck) || !strings.Contains(stuck.Why, "another BMC answers") {
		t.Errorf("%v", err)
	}
}

// Where the wrong BMC answers, hands put it right: the right one may then come to
// the address, in the same attempt.
func TestWrongBMCGivesItsAddressFree(t *testing.T) {
	f := newFakeBMC()
	e, rec := stepEnv(t, f, Machine{BMC: "192.0.2.1", Serial: "S2"})
	e.known = OpenKnownBMCs(t.TempDir())
	e.Facts[FactPrint] = f.Fingerprint()
	if err := e.known.SetPin("192.0.2.1:443", f.Fingerprint()); err != nil {
		t.Fatal(err)
	}
	var hands *Hands
	if err := carryOut(t, verifyBMC{}, e); !errors.As(err, &hands) {
		t.Fatalf("%v, want hands", err)
	}
	if pin, ok := e.known.Pin("192.0.2.1:443"); ok || e.Facts[FactPrint] != "" || !slices.Contains(rec.kinds, Learned) {
		t.Errorf("pin %q, fact %q, recorded %v", pin, e.Facts[FactPrint], rec.kinds)
	}
	if !e.known.Known(f.Fingerprint()) {
		t.Error("the BMC itself is forgotten")
	}
}
