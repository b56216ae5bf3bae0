package provision

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"
)

// errDiskFull is what Windows says of a full disk (ERROR_DISK_FULL); the number means
// something else elsewhere.
const errDiskFull = syscall.Errno(112)

// DiskTrouble says of an error of the state folder's disk what it is and what a person
// does about it; ok is false for every other error. What was written before stays: files
// are whole or not there, and a run goes on from what they say.
func DiskTrouble(err error) (what, do string, ok bool) {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), runtime.GOOS == "windows" && errors.Is(err, errDiskFull):
		return "the disk is full", "free space on the disk of the state folder, then run the same again: it goes on where it was", true
	case errors.Is(err, syscall.EROFS):
		return "the disk is read-only", "mount it for writing, or give another folder with --state DIR", true
	case errors.Is(err, syscall.EIO):
		return "the disk fails", "save the state folder, then look at the disk: dmesg, smartctl", true
	}
	return "", "", false
}

// brokenByDisk makes a BrokenError of what the disk of the state folder did: no machine is
// to blame for it, and trying again does not help.
func brokenByDisk(state string, err error) error {
	if _, ours := errors.AsType[*BrokenError](err); ours {
		return err
	}
	file := ""
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		file = path.Path
	} else if link, ok := errors.AsType[*os.LinkError](err); ok {
		file = link.New
	}
	what, do, ok := DiskTrouble(err)
	if errors.Is(err, fs.ErrPermission) {
		what, do, ok = "it may not be written", "make the state folder yours (chown, chmod 0700), then run the same again", true
	}
	if !ok || !strings.HasPrefix(file, state) {
		return err
	}
	return &BrokenError{Err: fmt.Errorf("%s: %w", what, err), Do: do}
}
