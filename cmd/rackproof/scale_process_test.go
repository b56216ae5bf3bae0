package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"syscall"
	"time"
)

// Variables that make this test binary something else, or let it tell more.
const (
	asHall     = "RACKPROOF_TEST_HALL"     // the process of a hall, as JSON says
	leftBehind = "RACKPROOF_TEST_LEFT"     // file for the goroutines that are left when the program has ended
	profilesIn = "RACKPROOF_TEST_PROFILES" // folder for CPU and memory profiles, for a person
)

// mainAndLeft is main, and says afterwards which goroutines it has left behind.
func mainAndLeft(file string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	_, profiled := profiledIn(os.Getenv(profilesIn))
	before := runtime.NumGoroutine()
	code := Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	profiled()
	var stacks []byte
	if !endsAt(before, 10*time.Second) {
		stacks = make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
	}
	if err := os.WriteFile(file, stacks, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailed
	}
	return code
}

// endsAt reports whether no more than n goroutines are there within patience: those of
// closed connections take a moment to see it.
func endsAt(n int, patience time.Duration) bool {
	for end := time.After(patience); ; {
		if runtime.NumGoroutine() <= n {
			return true
		}
		select {
		case <-end:
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// profiledIn writes profiles of this process into a folder, where one is given.
func profiledIn(dir string) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	if dir == "" {
		return ctx, cancel
	}
	path := func(kind string) string { return filepath.Join(dir, fmt.Sprintf("%s-%d.pprof", kind, os.Getpid())) }
	f, err := os.Create(path("cpu"))
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return ctx, func() {
		cancel()
		pprof.StopCPUProfile()
		_ = f.Close()
		if heap, err := os.Create(path("heap")); err == nil {
			_ = pprof.Lookup("allocs").WriteTo(heap, 0)
			_ = heap.Close()
		}
	}
}
