package provision

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// PasswordStore is where the user keeps a password. A new one is written there before
// it is set, beside the old one until it is proven: whatever happens in between, one
// of the two opens the BMC.
type PasswordStore interface {
	// Write keeps a new password durably, and reads it back.
	Write(ctx context.Context, password string) error
	// Waiting gives a password that was written and not yet settled.
	Waiting(ctx context.Context) (password string, ok bool, err error)
	// Settle ends the waiting: password is the one that the BMC takes.
	Settle(ctx context.Context, password string) error
}

// FileStore is a store in a file of mode 0600. The new password waits in a second file
// beside it.
type FileStore struct{ Path string }

func (s FileStore) waiting() string { return s.Path + ".new" }

// Write implements PasswordStore.
func (s FileStore) Write(_ context.Context, password string) error {
	if err := writeDurably(s.waiting(), password+"\n"); err != nil {
		return fmt.Errorf("password store: %w", err)
	}
	got, err := os.ReadFile(s.waiting())
	if err != nil || strings.TrimRight(string(got), "\n") != password {
		return fmt.Errorf("password store %s does not read back what was written: %w", s.Path, errors.Join(err, os.Remove(s.waiting())))
	}
	return nil
}

// Waiting implements PasswordStore.
func (s FileStore) Waiting(context.Context) (string, bool, error) {
	b, err := os.ReadFile(s.waiting())
	if errors.Is(err, os.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("password store: %w", err)
	}
	return strings.TrimRight(string(b), "\r\n"), len(b) > 0, nil
}

// Settle implements PasswordStore.
func (s FileStore) Settle(ctx context.Context, password string) error {
	waiting, _, err := s.Waiting(ctx)
	if err != nil {
		return err
	}
	return settleFile(s.waiting(), s.Path, waiting == password)
}

// settleFile puts a password that waits in the place of the old one where it is taken, and
// away where it is not.
func settleFile(waiting, path string, taken bool) error {
	end := func() error { return os.Remove(waiting) }
	if taken {
		end = func() error { return os.Rename(waiting, path) }
	}
	if err := end(); err != nil {
		return fmt.Errorf("password store: %w", err)
	}
	return syncFolder(filepath.Dir(path))
}

// CommandStore is a store behind two commands: one that takes a password on its
// standard input, one that prints it. Such a store holds one password only, so the old
// one must be elsewhere until the new one is proven. Mark is a file of ours that says
// that a new one waits; it holds no password.
type CommandStore struct {
	Set, Get string
	Mark     string
}

// Write implements PasswordStore.
func (s CommandStore) Write(ctx context.Context, password string) error {
	if err := os.MkdirAll(filepath.Dir(s.Mark), 0o700); err != nil {
		return fmt.Errorf("password store: %w", err)
	}
	if err := writeDurably(s.Mark, time.Now().UTC().Format(time.RFC3339)+"\n"); err != nil {
		return fmt.Errorf("password store: %w", err)
	}
	err := feedCommand(ctx, s.Set, password+"\n")
	if err == nil {
		var got string
		if got, err = runCommand(ctx, s.Get); err == nil && strings.TrimRight(got, "\r\n") != password {
			err = errors.New("it does not give back what was written")
		}
	}
	if err != nil {
		return fmt.Errorf("password store: %w", errors.Join(err, os.Remove(s.Mark)))
	}
	return nil
}

// Waiting implements PasswordStore.
func (s CommandStore) Waiting(ctx context.Context) (string, bool, error) {
	if _, err := os.Stat(s.Mark); errors.Is(err, os.ErrNotExist) {
		return "", false, nil
	}
	got, err := runCommand(ctx, s.Get)
	if err != nil {
		return "", false, fmt.Errorf("password store: %w", err)
	}
	got = strings.TrimRight(got, "\r\n")
	return got, got != "", nil
}

// Settle implements PasswordStore.
func (s CommandStore) Settle(ctx context.Context, password string) error {
	got, _, err := s.Waiting(ctx)
	if err == nil && got != password { // the new one did not come into force
		err = feedCommand(ctx, s.Set, password+"\n")
	}
	if err == nil {
		err = os.Remove(s.Mark)
	}
	if err != nil {
		return fmt.Errorf("password store: %w", err)
	}
	return syncFolder(filepath.Dir(s.Mark))
}

// feedCommand gives a secret to a command on its standard input: neither its
// arguments nor its environment show it.
func feedCommand(ctx context.Context, line, input string) error {
	ctx, cancel := context.WithTimeout(ctx, commandDeadline)
	defer cancel()
	cmd := shellCommand(ctx, line)
	cmd.Stdin = strings.NewReader(input)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the command failed (%w); run it by hand to see why", err)
	}
	return nil
}

// writeDurably writes a file of mode 0600 whole or not at all.
func writeDurably(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".rackproof-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes a rename durable; where folders cannot be synced (windows), the
// rename is.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync()
	return d.Close()
}
