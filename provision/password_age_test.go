package provision

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
)

// ageStore is a store of a new identity that holds the tag's password.
func ageStore(t *testing.T) AgeStore {
	t.Helper()
	dir := t.TempDir()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	s := AgeStore{Path: filepath.Join(dir, "bmc.age"), Identity: filepath.Join(dir, "key.txt")}
	if err := os.WriteFile(s.Identity, []byte("# created\n"+id.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Write(t.Context(), tagPassword), s.Settle(t.Context(), tagPassword)); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAgeStore: a rotation through an encrypted file; the password is in no file as it is,
// and the reference opens it.
func TestAgeStore(t *testing.T) {
	s := ageStore(t)
	ref := Ref("age:" + s.Path + "#" + s.Identity)
	if got, err := ref.Resolve(t.Context()); err != nil || got != tagPassword {
		t.Fatalf("%q, %v", got, err)
	}
	bmc := rotationBMC(t, false)
	if _, err := rotation(t, bmc, s).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	password, err := ref.Resolve(t.Context())
	if err != nil || password == tagPassword || !logsIn(t, bmc, password) {
		t.Errorf("%v, the new password opens the BMC: %v", err, logsIn(t, bmc, password))
	}
	if _, waits, err := s.Waiting(t.Context()); waits || err != nil {
		t.Errorf("waits %v, %v", waits, err)
	}
	sealed, err := os.ReadFile(s.Path)
	info, statErr := os.Stat(s.Path)
	if err != nil || statErr != nil || strings.Contains(string(sealed), password) || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is open to read: %v, %v, %v", err, statErr, info.Mode())
	}
	// A new one that never came into force goes, and the old one stays.
	if err := errors.Join(s.Write(t.Context(), "another-Passw0rd"), s.Settle(t.Context(), password)); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Read(); err != nil || got != password {
		t.Errorf("after a rotation that did not happen: %v", err)
	}
}

// TestAgeStoreOfAnother: what this identity does not open is an error that holds no key.
func TestAgeStoreOfAnother(t *testing.T) {
	s, other := ageStore(t), ageStore(t)
	s.Identity = other.Identity
	if got, err := s.Read(); err == nil || got != "" {
		t.Errorf("opened with another identity: %q", got)
	}
	bad := filepath.Join(t.TempDir(), "key.txt")
	if err := os.WriteFile(bad, []byte("AGE-SECRET-KEY-1PLANTED\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Identity = bad
	if _, err := s.Read(); err == nil || strings.Contains(err.Error(), "PLANTED") {
		t.Errorf("error %v", err)
	}
	for _, ref := range []string{"age:file", "age:#key", "age:file#"} {
		if _, err := Ref(ref).Resolve(t.Context()); err == nil || !strings.Contains(err.Error(), "age:FILE#IDENTITY") {
			t.Errorf("%s: %v", ref, err)
		}
	}
}
