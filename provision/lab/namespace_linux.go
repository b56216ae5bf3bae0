package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// isolate makes cmd the first process of namespaces of its own, out of reach of
// the terminal's signals.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		Setsid:     true,
	}
}

// errNotAlone is returned by settle outside of the lab's namespaces.
var errNotAlone = errors.New("not the first process of a PID namespace; `rackproof-lab up` starts the supervisor")

// settle moves the first process in: /proc shows what is inside from here on,
// and no mount is seen outside. It returns this process' id as the host knows
// it.
func settle() (int, error) {
	if os.Getpid() != 1 {
		return 0, errNotAlone
	}
	self, err := os.Readlink("/proc/self") // the old /proc still counts as the host does
	if err != nil {
		return 0, fmt.Errorf("enter the lab: %w", err)
	}
	pid, err := strconv.Atoi(self)
	if err != nil {
		return 0, fmt.Errorf("enter the lab: /proc/self is %q", self)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return 0, fmt.Errorf("enter the lab: make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return 0, fmt.Errorf("enter the lab: mount /proc: %w", err)
	}
	return pid, nil
}

// enterNetwork replaces this process by argv in the network namespace of pid. It
// returns only if that is not possible.
func enterNetwork(pid int, argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return fmt.Errorf("run %s: %w", argv[0], err)
	}
	runtime.LockOSThread() // the thread that changes its namespace is the one that goes on
	ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return fmt.Errorf("enter the lab's network: %w", err)
	}
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter the lab's network: %w", err)
	}
	return fmt.Errorf("run %s: %w", path, syscall.Exec(path, argv, os.Environ()))
}

// peerPID is the id of the process that listens at the other end.
func peerPID(c syscall.RawConn) (int, error) {
	var cred *unix.Ucred
	var err error
	if e := c.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); e != nil {
		return 0, e
	}
	if err != nil {
		return 0, err
	}
	return int(cred.Pid), nil
}

// waitEnd waits until a process that is not our child has ended, and reports
// whether it has.
func waitEnd(pid int, limit time.Duration) (bool, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("wait for process %d: %w", pid, err)
	}
	defer func() { _ = unix.Close(fd) }()
	for end := time.Now().Add(limit); ; {
		left := time.Until(end)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(max(left.Milliseconds(), 0)))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return false, fmt.Errorf("wait for process %d: %w", pid, err)
		default:
			return n > 0, nil
		}
	}
}
