package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
)

// Reasons why a node cannot be reached, for callers that decide by them.
var (
	ErrHostKey = errors.New("host key not accepted")
	ErrAuth    = errors.New("login refused")
	ErrSilent  = errors.New("no answer")
	ErrLost    = errors.New("connection lost")
	// ErrForbidden is a jump host that opens no connections to others.
	ErrForbidden = errors.New("forwarding refused")
)

// ConfigError is what is wrong on our side, before the host is even asked: an
// address, a key file, the ssh config.
type ConfigError struct{ Err error }

// Error is that of the cause.
func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// Error says what happened, to which host, and what to do next.
type Error struct {
	Host string // as a person knows it: user@host:port, with the hop it is behind
	What string
	Next string
	Err  error // one of the sentinels above or the cause; errors.Is sees both
}

// Error is one sentence and the next step.
func (e *Error) Error() string {
	s := e.Host + ": " + e.What
	if e.Next != "" {
		s += ". " + e.Next
	}
	return s
}

// Unwrap gives the sentinel and the cause.
func (e *Error) Unwrap() error { return e.Err }

func fault(host string, sentinel, cause error, what, next string) *Error {
	err := sentinel
	if cause != nil {
		err = errors.Join(sentinel, cause)
	}
	return &Error{Host: host, What: what, Next: next, Err: err}
}

// explainDial puts a failed TCP connection into words.
func explainDial(host string, err error, took string) error {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return fault(host, ErrSilent, err, "the name is not known to DNS", "Check the spelling, or use the address.")
	case errors.Is(err, syscall.ECONNREFUSED):
		return fault(host, ErrSilent, err, "the host answers, but nothing listens on its SSH port",
			"It may still be booting: try again in a minute, or check the port.")
	case isTimeout(err):
		return fault(host, ErrSilent, err, "silent for "+took, "Switched off, still booting, or not on this network: look at its console or BMC.")
	case errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH):
		return fault(host, ErrSilent, err, "no route to it from here", "Check the VLAN and the address, or name a jump host.")
	}
	return fault(host, ErrSilent, err, "cannot connect: "+err.Error(), "Check the address and the cable.")
}

// explainHandshake puts a failed SSH handshake into words. A host key error has
// its words already.
func explainHandshake(host, user string, err error, tried []string, took string) error {
	var known *Error
	switch {
	case errors.As(err, &known):
		known.Host = host
		return known
	case strings.Contains(err.Error(), "unable to authenticate"):
		what := "refused the login of " + user
		if len(tried) == 0 {
			return fault(host, ErrAuth, err, what+": there was no key to offer", "Name one with --key, or load it with ssh-add.")
		}
		return fault(host, ErrAuth, err, what+" with "+strings.Join(tried, ", "),
			"Check the user, and that the public key is in its authorized_keys.")
	case isTimeout(err):
		return fault(host, ErrSilent, err, "the port is open, but the SSH handshake did not end within "+took,
			"The host is overloaded, half booted, or a firewall is in between: look at its console.")
	case strings.Contains(err.Error(), "no common algorithm"):
		return fault(host, ErrSilent, err, "no algorithm in common: "+err.Error(),
			"The server is very old, or its host key is of another type than the pinned one.")
	case isGone(err):
		return fault(host, ErrSilent, err, "hung up during the SSH handshake",
			"Too many connections at once (MaxStartups), or not an SSH server: try again in a minute.")
	}
	return fault(host, ErrSilent, err, "SSH handshake failed: "+err.Error(), "Try `ssh -v` to the same host to see more.")
}

func lost(host string, cause error, why string) error {
	return fault(host, ErrLost, cause, why, "Its loads end by themselves; the same command again picks the run up.")
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}

func isGone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed)
}

func tookWords(seconds float64) string { return fmt.Sprintf("%.0f s", max(seconds, 1)) }
