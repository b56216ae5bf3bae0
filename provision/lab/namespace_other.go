//go:build !linux

package lab

import (
	"errors"
	"os/exec"
	"syscall"
	"time"
)

// errNotAlone says that there are no namespaces to be alone in.
var errNotAlone = errors.New("the lab runs on Linux only")

func isolate(*exec.Cmd) {}

func settle() (int, error) { return 0, errNotAlone }

func enterNetwork(int, []string) error { return errNotAlone }

func peerPID(syscall.RawConn) (int, error) { return 0, errNotAlone }

func waitEnd(int, time.Duration) (bool, error) { return false, errNotAlone }
