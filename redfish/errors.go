package redfish

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Sentinels on which a caller decides; use errors.Is. Each comes wrapped with
// the BMC's address and with what a person can do next.
var (
	ErrUnsupported     = errors.New("this BMC does not offer it")
	ErrAuth            = errors.New("BMC refused the login")
	ErrPasswordChange  = errors.New("BMC wants a new password before anything else")
	ErrSessionLimit    = errors.New("BMC has no free session")
	ErrAmbiguousSystem = errors.New("not exactly one host system")
	ErrPinMismatch     = errors.New("BMC certificate is not the pinned one")
	ErrUnreachable     = errors.New("BMC does not answer")
	ErrNoRedfish       = errors.New("no Redfish service")
	ErrJobFailed       = errors.New("BMC job failed")
	ErrBadValue        = errors.New("value is not allowed")
	ErrLicence         = errors.New("BMC wants a licence for it")
	ErrLockdown        = errors.New("BMC is locked down")
)

// HopError says that the way to a BMC ended at a bastion before it: nothing is known of
// the BMC.
type HopError struct {
	Hop string
	Err error
}

func (e *HopError) Error() string { return fmt.Sprintf("bastion %s: %v", e.Hop, e.Err) }

// Unwrap gives the cause.
func (e *HopError) Unwrap() error { return e.Err }

// StatusError is an HTTP answer that is no success, with what the BMC said
// about it.
type StatusError struct {
	Method, URI string
	Status      int
	MessageIDs  []string // as sent, such as "Base.1.12.PropertyUnknown"
	Messages    []string // texts of the BMC, redacted

	args []string // of all messages
}

func (e *StatusError) Error() string {
	s := fmt.Sprintf("%s %s: %d %s", e.Method, e.URI, e.Status, http.StatusText(e.Status))
	if len(e.Messages) > 0 {
		s += ": " + strings.Join(e.Messages, "; ")
	} else if len(e.MessageIDs) > 0 {
		s += ": " + strings.Join(e.MessageIDs, "; ")
	}
	return s
}

// has reports whether the BMC named one of the given messages. A MessageId is
// "Registry.1.2.Key"; versions move, so only the key is compared.
func (e *StatusError) has(keys ...string) bool {
	for _, id := range e.MessageIDs {
		key := id[strings.LastIndexByte(id, '.')+1:]
		if slices.ContainsFunc(keys, func(k string) bool { return strings.EqualFold(k, key) }) {
			return true
		}
	}
	return false
}

// licence names the licence that is missing, with a colon before it, where the BMC
// does: Supermicro gives "DCMS " as the argument.
func (e *StatusError) licence() string {
	for _, arg := range e.args {
		if arg = strings.TrimSpace(arg); arg != "" && !strings.Contains(arg, "/") {
			return ", " + arg
		}
	}
	return ""
}

// statusOf gives the HTTP status inside err, or 0.
func statusOf(err error) int {
	if se, ok := errors.AsType[*StatusError](err); ok {
		return se.Status
	}
	return 0
}

// isAbsent reports that the BMC says it has no such resource. Every other failure may
// pass: what could not be read is not therefore missing.
func isAbsent(err error) bool {
	switch statusOf(err) {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone:
		return true
	}
	return false
}

func saidMessage(err error, keys ...string) bool {
	se, ok := errors.AsType[*StatusError](err)
	return ok && se.has(keys...)
}
