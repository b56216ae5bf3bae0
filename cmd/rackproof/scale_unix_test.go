//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// most is the most memory that a process had at once, in bytes.
func most(s *os.ProcessState) int64 {
	usage, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return usage.Maxrss
	}
	return usage.Maxrss * 1024
}
