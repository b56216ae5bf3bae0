package provision

import (
	"strings"
	"testing"
)

// TestForgetAlsoForgetsTheConsole: a BMC whose certificate a person forgets has new SSH
// host keys as well; those of others stay.
func TestForgetAlsoForgetsTheConsole(t *testing.T) {
	k := OpenKnownBMCs(t.TempDir())
	for key, sum := range map[string]string{
		"10.0.12.7:443": "aa", "ssh/ssh-ed25519/10.0.12.7:22": "bb", "ssh/ssh-rsa/10.0.12.7:22": "cc",
		"ssh/ssh-ed25519/10.0.12.70:22": "dd", "ssh/ssh-ed25519/hall/10.0.12.7:22": "ee",
	} {
		if err := k.SetPin(key, sum); err != nil {
			t.Fatal(err)
		}
	}
	gone, err := k.Forget("10.0.12.7:443", "")
	if err != nil || len(gone) != 3 {
		t.Errorf("forgot %v, %v; want the certificate and two keys", gone, err)
	}
	for _, key := range []string{"10.0.12.7:443", "ssh/ssh-ed25519/10.0.12.7:22", "ssh/ssh-rsa/10.0.12.7:22"} {
		if pin, ok := k.Pin(key); ok {
			t.Errorf("%s is still pinned to %s", key, pin)
		}
	}
	for _, key := range []string{"ssh/ssh-ed25519/10.0.12.70:22", "ssh/ssh-ed25519/hall/10.0.12.7:22"} {
		if _, ok := k.Pin(key); !ok {
			t.Errorf("%s is forgotten too", key)
		}
	}
	if again, err := k.Forget("10.0.12.7:443", ""); err != nil || len(again) != 0 {
		t.Errorf("a second time %v, %v", again, err)
	}
	if gone, err := k.Forget("hall/10.0.12.7:443", ""); err != nil || len(gone) != 1 || !strings.Contains(gone[0].Addr, "hall") {
		t.Errorf("behind a bastion: %v, %v", gone, err)
	}
}
