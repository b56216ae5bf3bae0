package redfish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// broken words a failure below HTTP for a person.
func (t *transport) broken(ctx context.Context, c call, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("BMC %s: %s %s: %w", t.addr, c.method, c.uri, context.Cause(ctx))
	}
	if local, ok := errors.AsType[*localError](err); ok {
		return local
	}
	_, unsent := errors.AsType[*unsentError](err)
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	if errors.Is(err, ErrPinMismatch) {
		return err
	}
	if long, ok := errors.AsType[*tooLongError](err); ok {
		return fmt.Errorf("BMC %s: %w", t.addr, long)
	}
	hop, _ := errors.AsType[*HopError](err)
	return &lostError{
		error:  fmt.Errorf("%w: %s", ErrUnreachable, t.explain(err)),
		silent: errors.Is(err, context.DeadlineExceeded), hop: hop, unsent: unsent,
	}
}

func (t *transport) explain(err error) string {
	text := t.record.literal(err.Error())
	if hop, ok := errors.AsType[*HopError](err); ok {
		return fmt.Sprintf("%s; nothing is known of BMC %s behind it", t.record.literal(hop.Error()), t.addr)
	}
	if t.via != "" {
		return fmt.Sprintf("bastion %s ok; %s", t.via, t.explainBMC(err, text))
	}
	return t.explainBMC(err, text)
}

func (t *transport) explainBMC(err error, text string) string {
	var op *net.OpError
	switch {
	case errors.As(err, &op) && op.Op == "dial" && op.Timeout():
		return fmt.Sprintf("BMC %s takes no connection, it is silent: switched off, or not this VLAN", t.addr)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("BMC %s silent for %s; if it is restarting, wait and ask again", t.addr, t.timeout)
	case strings.Contains(strings.ToLower(text), "connection refused"):
		return fmt.Sprintf("BMC %s refused the connection: switched off, or not this VLAN", t.addr)
	case oldTLS(text):
		return fmt.Sprintf("BMC %s speaks only an outdated TLS (%s): update its firmware, or allow that for this BMC alone with `tls: {legacy: true}` or --tls-legacy", t.addr, text)
	case strings.Contains(text, "negative serial"):
		return fmt.Sprintf("BMC %s has a certificate with a negative serial number (%s): give it a new one, or run with GODEBUG=x509negativeserial=1 (rackproof has that built in)", t.addr, text)
	case strings.Contains(text, "failed to parse certificate"): // before any pin is asked
		return fmt.Sprintf("BMC %s has a certificate that cannot be read (%s): give it a new one; a pin does not help", t.addr, text)
	case strings.Contains(text, "x509"), strings.Contains(text, "certificate"):
		return fmt.Sprintf("BMC %s has a certificate that is not trusted (%s): give it one of your authority, or pin it with `tls: {mode: pin}`", t.addr, text)
	case strings.Contains(text, "no such host"):
		return fmt.Sprintf("BMC name %s is not known here: check the batch file and the DNS", t.addr)
	}
	return fmt.Sprintf("BMC %s: %s; check cable, VLAN and bastion", t.addr, text)
}

// lostError says that no answer came: an act may or may not have happened.
type lostError struct {
	error
	silent bool // for the whole time of a request, not cut short
	unsent bool // no connection was made: there is no effect
	hop    *HopError
}

func (e *lostError) Unwrap() []error {
	if e.hop == nil {
		return []error{e.error}
	}
	return []error{e.error, e.hop}
}

// localError is a failure of this side, such as a disk that is full: it says nothing of
// the BMC.
type localError struct{ error }

func (e *localError) Unwrap() error { return e.error }

// localFile tells failures of reading a file from those of sending it.
type localFile struct{ io.ReadCloser }

func (f localFile) Read(b []byte) (int, error) {
	n, err := f.ReadCloser.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &localError{fmt.Errorf("read the file that is sent: %w", err)}
	}
	return n, err
}

// unsentError is a request for which no connection was made.
type unsentError struct{ error }

func (e *unsentError) Unwrap() error { return e.error }

func isLost(err error) bool {
	_, ok := errors.AsType[*lostError](err)
	return ok
}

// uncertain reports whether an act may have happened, or be under way, although its
// answer is an error: none came, or the server or a proxy before it gave up.
func uncertain(err error) bool {
	if lost, ok := errors.AsType[*lostError](err); ok {
		return !lost.unsent
	}
	return statusOf(err) >= http.StatusInternalServerError && statusOf(err) != http.StatusNotImplemented && !said(err, notYet)
}

// isOwn reports that the BMC did not fail: the error is neither a lost answer nor a
// refusal, but of this side, such as a context that ended.
func isOwn(err error) bool { return err != nil && !isLost(err) && statusOf(err) == 0 }

// isHop reports that the way ended before the BMC.
func isHop(err error) bool {
	_, ok := errors.AsType[*HopError](err)
	return ok
}

// isSilent reports whether the BMC had its whole time and said nothing.
func isSilent(err error) bool {
	lost, ok := errors.AsType[*lostError](err)
	return ok && lost.silent
}
