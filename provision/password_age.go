package provision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"
)

// ageLimit bounds what is read of an age file: a password, not an archive.
const ageLimit = 64 << 10

// AgeStore is a store in a file that age has encrypted, to the identity by which it is
// read again: the file may lie where backups and colleagues are, the identity not. The
// new password waits in a second file beside it.
type AgeStore struct {
	Path     string
	Identity string // file of identities as age-keygen writes it, without a passphrase
}

// ParseAgeStore reads "PATH#IDENTITY", the part of a reference behind "age:".
func ParseAgeStore(s string) (AgeStore, error) {
	path, identity, ok := strings.Cut(s, "#")
	if !ok || path == "" || identity == "" {
		return AgeStore{}, errors.New("an age file is named age:FILE#IDENTITY, the identity being the file of age-keygen that opens it")
	}
	return AgeStore{Path: ExpandHome(path), Identity: ExpandHome(identity)}, nil
}

// ageSecret reads what an age reference names.
func ageSecret(rest string) (string, error) {
	store, err := ParseAgeStore(rest)
	if err != nil {
		return "", err
	}
	return store.Read()
}

// Read gives the password that is kept.
func (s AgeStore) Read() (string, error) { return s.open(s.Path) }

func (s AgeStore) waiting() string { return s.Path + ".new" }

// identities never quotes a line of the file: it is the key.
func (s AgeStore) identities() ([]age.Identity, error) {
	f, err := os.Open(s.Identity)
	if err != nil {
		return nil, fmt.Errorf("age identity: %w", err)
	}
	defer func() { _ = f.Close() }() // read only
	ids, err := age.ParseIdentities(f)
	if err != nil {
		return nil, fmt.Errorf("age identity %s: it is no file as age-keygen writes it", s.Identity)
	}
	return ids, nil
}

func (s AgeStore) open(path string) (string, error) {
	ids, err := s.identities()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("password store: %w", err)
	}
	defer func() { _ = f.Close() }() // read only
	plain, err := age.Decrypt(io.LimitReader(f, ageLimit), ids...)
	if err != nil {
		return "", fmt.Errorf("password store %s cannot be opened with %s: %w", path, s.Identity, err)
	}
	text, err := io.ReadAll(plain)
	if err != nil {
		return "", fmt.Errorf("password store %s: %w", path, err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

func (s AgeStore) seal(password string) (string, error) {
	ids, err := s.identities()
	if err != nil {
		return "", err
	}
	var to []age.Recipient
	for _, id := range ids {
		switch id := id.(type) {
		case *age.X25519Identity:
			to = append(to, id.Recipient())
		case *age.HybridIdentity:
			to = append(to, id.Recipient())
		default:
			return "", fmt.Errorf("age identity %s: it can open a file and not seal one", s.Identity)
		}
	}
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, to...)
	if err == nil {
		_, err = io.WriteString(w, password+"\n")
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return "", fmt.Errorf("password store %s: %w", s.Path, err)
	}
	return sealed.String(), nil
}

// Write implements PasswordStore.
func (s AgeStore) Write(_ context.Context, password string) error {
	sealed, err := s.seal(password)
	if err != nil {
		return err
	}
	if err := writeDurably(s.waiting(), sealed); err != nil {
		return fmt.Errorf("password store: %w", err)
	}
	if got, err := s.open(s.waiting()); err != nil || got != password {
		return fmt.Errorf("password store %s does not read back what was written: %w", s.Path, errors.Join(err, os.Remove(s.waiting())))
	}
	return nil
}

// Waiting implements PasswordStore.
func (s AgeStore) Waiting(context.Context) (string, bool, error) {
	if _, err := os.Stat(s.waiting()); errors.Is(err, os.ErrNotExist) {
		return "", false, nil
	}
	password, err := s.open(s.waiting())
	return password, err == nil && password != "", err
}

// Settle implements PasswordStore.
func (s AgeStore) Settle(ctx context.Context, password string) error {
	waiting, _, err := s.Waiting(ctx)
	if err != nil {
		return err
	}
	return settleFile(s.waiting(), s.Path, waiting == password)
}
