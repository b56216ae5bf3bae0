package provision

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/rackproof/rackproof/redfish"
)

// Lease is the sole right to something: a run, or a BMC. The kernel gives it back
// when the process ends, however it ends.
type Lease struct {
	f    *os.File
	also []*Lease // that are given back with it
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
	f, err := os.OpenFile(filepath.Join(dir, lockName(what)), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", what, err)
	}
	return lockAs(f, what, holder)
}

func lockName(what string) string { return lockUnsafe.ReplaceAllString(what, "-") + ".lock" }

// lockAs locks f, and closes it where another has it.
func lockAs(f *os.File, what, holder string) (*Lease, error) {
	if err := lockFile(f); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(f, 1<<10))
		err = errors.Join(f.Close(), err)
		if errors.Is(err, errLocked) {
			return nil, &HeldError{What: what, Holder: plainWords(string(holder))}
		}
		return nil, fmt.Errorf("lock %s: %w", what, err)
	}
	if err := errors.Join(f.Truncate(0), writeAt(f, holder)); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", what, err), f.Close())
	}
	return &Lease{f: f}, nil
}

// plainWords is what another process wrote, as one line that does nothing to a terminal.
func plainWords(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return ' '
	}, s)), " ")
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
	err := errors.Join(l.f.Truncate(0), unlockFile(l.f), l.f.Close())
	for _, also := range l.also {
		err = errors.Join(err, also.Release())
	}
	l.f, l.also = nil, nil
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
// is to be set to. state and host are as for LeaseAddr.
func LeaseBMC(state, host string, run RunID, m Machine) (*Lease, error) {
	take := func(addr string) (*Lease, error) {
		return LeaseAddr(state, host, addr, m.Via, Holder(fmt.Sprintf("run %s, machine %s", run, m.Name)))
	}
	lease, err := take(m.BMC)
	if err != nil || m.movedAddr() == m.BMC {
		return lease, err
	}
	moved, err := take(m.movedAddr())
	if err != nil {
		return nil, errors.Join(err, lease.Release())
	}
	lease.also = append(lease.also, moved)
	return lease, nil
}

// LeaseAddr takes the one lease of the BMC at addr behind the bastion via. One BMC is one
// lease, with the usual ports of Redfish and IPMI and without. It holds among the processes
// of one state folder, also of several users and hosts where the folder is shared by a file
// system with flock, and where host is given (HostLocks) among all of this computer.
func LeaseAddr(state, host, addr, via, holder string) (*Lease, error) {
	if host, port, err := net.SplitHostPort(addr); err == nil && (port == "443" || port == "623") {
		addr = host
	}
	addr = strings.Trim(addr, "[]")
	what := "BMC " + strings.ToLower(redfish.Config{Addr: addr, Via: via}.Key())
	own, err := TakeLease(filepath.Join(state, "locks"), what, holder)
	if err != nil || host == "" {
		return own, err
	}
	all, err := takeHostLease(host, what, holder+", by "+Operator()+" with state folder "+state)
	if err != nil {
		return nil, errors.Join(err, own.Release())
	}
	own.also = append(own.also, all)
	return own, nil
}

// LeaseRun takes the ownership of a run.
func LeaseRun(state string, run RunID) (*Lease, error) {
	return TakeLease(filepath.Join(state, "locks"), "run "+string(run), Holder("carrying run "+string(run)))
}
