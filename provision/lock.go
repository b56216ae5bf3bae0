package provision

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rackproof/rackproof/redfish"
)

// Lease is the sole right to something: a run, or a BMC. The kernel gives it back
// when the process ends, however it ends.
type Lease struct {
	f    *os.File
	also *Lease // that is given back with it
}

// HeldError says who holds what another wants.
type HeldError struct {
	What   string // "run po4711", "BMC 10.0.12.7"
	Holder string // as the holder wrote it
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s is held by %s", e.What, or(e.Holder, "another process"))
}

var lockUnsafe = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// TakeLease takes the lock for what under dir (the state folder's locks), and
// writes holder into it for others to read. It does not wait: *HeldError says who
// has it.
func TakeLease(dir, what, holder string) (*Lease, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("lock %s: %w", what, err)
	}
	path := filepath.Join(dir, lockUnsafe.ReplaceAllString(what, "-")+".lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", what, err)
	}
	if err := lockFile(f); err != nil {
		holder, _ := os.ReadFile(path)
		err = errors.Join(f.Close(), err)
		if errors.Is(err, errLocked) {
			return nil, &HeldError{What: what, Holder: strings.TrimSpace(string(holder))}
		}
		return nil, fmt.Errorf("lock %s: %w", what, err)
	}
	if err := errors.Join(f.Truncate(0), writeAt(f, holder)); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", what, err), f.Close())
	}
	return &Lease{f: f}, nil
}

func writeAt(f *os.File, s string) error {
	_, err := f.WriteAt([]byte(s+"\n"), 0)
	return err
}

// Release gives the lease back. The file stays: removing it would let two
// processes lock two files of one name.
func (l *Lease) Release() error {
	if l == nil || l.f == nil {
		return nil
	}
	err := errors.Join(l.f.Truncate(0), unlockFile(l.f), l.f.Close(), l.also.Release())
	l.f = nil
	return err
}

// Holder describes this process for HeldError.
func Holder(doing string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "this host"
	}
	return fmt.Sprintf("pid %d on %s since %s, %s", os.Getpid(), host, time.Now().UTC().Format("2006-01-02 15:04 UTC"), doing)
}

// LeaseBMC takes the one lease of a machine's BMC, and of the address that its network
// is to be set to.
func LeaseBMC(state string, run RunID, m Machine) (*Lease, error) {
	take := func(addr string) (*Lease, error) {
		return LeaseAddr(state, addr, m.Via, Holder(fmt.Sprintf("run %s, machine %s", run, m.Name)))
	}
	lease, err := take(m.BMC)
	if err != nil || m.movedAddr() == m.BMC {
		return lease, err
	}
	if lease.also, err = take(m.movedAddr()); err != nil {
		return nil, errors.Join(err, lease.Release())
	}
	return lease, nil
}

// LeaseAddr takes the one lease of the BMC at addr behind the bastion via. One BMC is one
// lease, with the usual ports of Redfish and IPMI and without. It holds among the processes
// of one state folder, also of several users and hosts where the folder is shared by a file
// system with flock; those of another state folder do not see it.
func LeaseAddr(state, addr, via, holder string) (*Lease, error) {
	if host, port, err := net.SplitHostPort(addr); err == nil && (port == "443" || port == "623") {
		addr = host
	}
	addr = strings.Trim(addr, "[]")
	return TakeLease(filepath.Join(state, "locks"), "BMC "+strings.ToLower(redfish.Config{Addr: addr, Via: via}.Key()), holder)
}

// LeaseRun takes the ownership of a run.
func LeaseRun(state string, run RunID) (*Lease, error) {
	return TakeLease(filepath.Join(state, "locks"), "run "+string(run), Holder("carrying run "+string(run)))
}
