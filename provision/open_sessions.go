package provision

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rackproof/rackproof/redfish"
)

// OpenSessions keeps a file for each session that is open at a BMC, locked by the
// process that opened it: a file that nobody locks is of a process that was killed.
// Nothing in it opens the session. It is a redfish.SessionStore.
type OpenSessions struct{ dir string }

// OpenSessionStore opens the sessions folder in the state folder.
func OpenSessionStore(state string) *OpenSessions {
	return &OpenSessions{dir: filepath.Join(state, "sessions")}
}

// openSession is one file, locked.
type openSession struct {
	f      *os.File
	record redfish.SessionRecord
}

func (s *OpenSessions) prefix(addr string) string {
	return lockUnsafe.ReplaceAllString(strings.ToLower(addr), "-") + "_"
}

// Keep implements redfish.SessionStore.
func (s *OpenSessions) Keep(addr string, r redfish.SessionRecord) (redfish.SessionHold, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("remember a session: %w", err)
	}
	f, err := os.CreateTemp(s.dir, s.prefix(addr)+"*") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("remember a session: %w", err)
	}
	err = lockFile(f)
	if err == nil {
		err = json.NewEncoder(f).Encode(r)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("remember a session: %w", err), f.Close(), os.Remove(f.Name()))
	}
	return &openSession{f: f, record: r}, nil
}

// begun is for how long a file may be empty: its process writes it in a moment.
const begun = time.Minute

// Left implements redfish.SessionStore.
func (s *OpenSessions) Left(addr string) ([]redfish.SessionHold, error) {
	files, err := filepath.Glob(filepath.Join(s.dir, s.prefix(addr)+"*"))
	if err != nil {
		return nil, fmt.Errorf("sessions of killed processes: %w", err)
	}
	var left []redfish.SessionHold
	var errs []error
	for _, path := range files {
		h, err := takeSession(path)
		if h != nil {
			left = append(left, h)
		}
		errs = append(errs, err)
	}
	return left, errors.Join(errs...)
}

// takeSession takes over what a killed process left; nil when its process lives.
func takeSession(path string) (*openSession, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("session of a killed process: %w", err)
	}
	if err := lockFile(f); err != nil {
		if errors.Is(err, errLocked) {
			err = nil
		}
		return nil, errors.Join(err, f.Close())
	}
	h := &openSession{f: f}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("session of a killed process: %w", err), f.Close())
	}
	h.record.Used = info.ModTime()
	if err := json.NewDecoder(f).Decode(&h.record); err != nil {
		if time.Since(info.ModTime()) < begun {
			return nil, h.Drop()
		}
		return nil, h.Forget()
	}
	return h, nil
}

// Record implements redfish.SessionHold.
func (h *openSession) Record() redfish.SessionRecord { return h.record }

// Touch implements redfish.SessionHold.
func (h *openSession) Touch() {
	now := time.Now()
	_ = os.Chtimes(h.f.Name(), now, now) // a time that is too old only leaves the session to its own end
}

// Forget implements redfish.SessionHold.
func (h *openSession) Forget() error {
	err := os.Remove(h.f.Name())
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, h.Drop())
}

// Drop implements redfish.SessionHold.
func (h *openSession) Drop() error { return h.f.Close() } // the kernel frees the lock
