package provision

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// HostLocks is the folder in which all rackproofs of this computer lease BMCs, whoever runs
// them and whatever their state folders are. It is "" where no folder is open to all users:
// leases then hold within one state folder. Containers, services with a /tmp of their own
// and processes in another network namespace do not see it.
func HostLocks() string {
	if runtime.GOOS == "windows" {
		if dir := os.Getenv("ProgramData"); dir != "" {
			return filepath.Join(dir, "rackproof", "locks")
		}
		return ""
	}
	// Not TMPDIR, which may be one user's own. What is old is swept from /tmp, from /run not.
	for _, dir := range []string{"/run/lock", "/tmp"} {
		if info, err := os.Stat(dir); err == nil && openToAll(info) {
			return filepath.Join(dir, "rackproof")
		}
	}
	return ""
}

// openToAll reports a folder in which everybody may make files and nobody may remove those of
// others.
func openToAll(info fs.FileInfo) bool {
	return info.IsDir() && info.Mode()&fs.ModeSticky != 0 && info.Mode().Perm()&0o002 != 0
}

// takeHostLease is TakeLease among users who need not trust each other: whatever they put into
// dir, no file outside it is touched.
func takeHostLease(dir, what, holder string) (*Lease, error) {
	help := func(err error) error {
		return fmt.Errorf("lock %s among the users of this computer: %w; %s must be a folder with mode 1777", what, err, dir)
	}
	if err := makeHostLocks(dir); err != nil {
		return nil, help(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, help(err)
	}
	defer func() { _ = root.Close() }()
	f, err := openHostLock(root, hostLockName(what))
	if err != nil {
		return nil, help(err)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, help(errors.Join(err, fmt.Errorf("%s is no plain file", f.Name()), f.Close()))
	}
	return lockAs(f, what, holder)
}

// hostLockName is the file of a lock among users. Where the kernel has several networks, one
// address in two of them is two BMCs.
func hostLockName(what string) string {
	network, err := os.Readlink("/proc/self/ns/net")
	if err != nil { // not Linux: there is one
		return lockName(what)
	}
	return lockName(what + " in " + network)
}

func makeHostLocks(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o777); err != nil { //nolint:gosec // for every user of this computer
			return err
		}
		if runtime.GOOS != "windows" {
			if err := os.Chmod(dir, 0o777|fs.ModeSticky); err != nil { //nolint:gosec // likewise; the umask took it away
				return err
			}
		}
		info, err = os.Lstat(dir)
	}
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", dir)
	}
	return nil
}

// openHostLock opens a lock file for every user. One that is there is opened as it is: some
// kernels refuse to "create" what another user owns.
func openHostLock(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDWR, 0)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	f, err = root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) { // another was faster
		return root.OpenFile(name, os.O_RDWR, 0)
	}
	if err == nil && runtime.GOOS != "windows" {
		if err := f.Chmod(0o666); err != nil { //nolint:gosec // likewise
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, err
}
