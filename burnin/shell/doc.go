// Package shell holds the ways to run a command on a node: over SSH, on this
// machine, and as a replay of what was recorded.
//
// All of them keep the same contract (burnin.Shell): a command runs through
// /bin/sh with LC_ALL=C and the sbin folders on PATH; it has a deadline, after
// which it is left behind, because a process that hangs in the kernel cannot be
// ended and must not hang us; its two streams are kept apart and are bounded. How
// the command ended is data; an error is only about the way to it.
package shell
