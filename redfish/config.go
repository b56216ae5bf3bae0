package redfish

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"time"
)

// Config says how to reach one BMC. Only Addr, User and Password are needed;
// every other zero value is a sane default.
type Config struct {
	Addr     string // host or host:port; the default port is 443, for OpenIPMI 623
	User     string
	Password string // already resolved; never logged, never in an error
	TLS      TLS
	// Refusals remembers refused logins beyond this Client, so that a BMC's
	// lockout is not reached by asking again. nil remembers none.
	Refusals RefusalStore
	// Sessions remembers open sessions beyond this process, so that those of one
	// that was killed are closed. nil remembers none.
	Sessions SessionStore
	// System is the Id of the ComputerSystem to act on where a BMC has several
	// hosts. Empty means: decide, and refuse with ErrAmbiguousSystem when there
	// is more than one candidate.
	System string
	Log    *slog.Logger // nil discards
	// Dial replaces the TCP dial, for a BMC behind a bastion; requests still name the
	// BMC as Addr does. It gets Addr with its port, and says with a *HopError that the
	// way ended before the BMC. Proxy variables of the environment never apply.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	Via  string // the bastion that Dial goes through, for messages; "" = none

	// IPMITool makes OpenIPMI talk by way of the program ipmitool, for a BMC that
	// does not get on with our own session.
	IPMITool bool

	Timeout time.Duration // of one request with its answer; 0 means 60 s
	Readers int           // reads in flight at once; 0 means 4, falls to 1 when the BMC shows strain
	Poll    time.Duration // between two looks at a power state or a job; 0 means 3 s

	EventIdle time.Duration // of a stream of events, comments included, before it counts as dead; 0 means 2 min

	GracefulWait time.Duration // for an operating system to shut down; 0 means 3 min
	PowerWait    time.Duration // for a forced power change to show; 0 means 2 min
}

// TLSMode chooses how the certificate of a BMC is trusted.
type TLSMode string

// The zero TLSMode is Pin.
const (
	Pin      TLSMode = "pin"      // trust on first use, refuse a change
	CA       TLSMode = "ca"       // verify against TLS.CAFile (or the system's roots)
	Insecure TLSMode = "insecure" // accept anything; the report says so
)

// TLS says how to trust a BMC's certificate.
type TLS struct {
	Mode   TLSMode
	CAFile string   // PEM, for CA
	Pins   PinStore // for Pin; nil pins for the life of this Client only
	// Legacy also takes TLS 1.0 and 1.1 and the key exchange by RSA alone, which
	// old firmware knows nothing beside. It is for one BMC, never for all.
	Legacy bool
}

// Key is what stores keep a BMC by: its address with its port, and behind a bastion the
// bastion before it, since private addresses are given again at every site.
func (c Config) Key() string {
	if c.Via == "" {
		return c.Addr
	}
	return c.Via + "/" + c.Addr
}

// PinStore keeps the SHA-256 of BMC certificates, in lower-case hex of the DER
// bytes. The key is [Config.Key]; the owner of
// the store binds a pin to the BMC itself once its identity is known.
type PinStore interface {
	Pin(key string) (sha256 string, ok bool)
	SetPin(key, sha256 string) error
	// Known reports whether sha256 is the certificate of a BMC whose identity is
	// known: a BMC keeps its pin when its address changes.
	Known(sha256 string) bool
}

// RefusalStore keeps refused logins for as long as a BMC may count them. addr is
// [Config.Key].
type RefusalStore interface {
	Refused(addr, user, password string) (until time.Time, ok bool)
	Refuse(addr, user, password string) error
}

const (
	defaultTimeout = 60 * time.Second
	defaultReaders = 4
	defaultPoll    = 3 * time.Second

	defaultGracefulWait = 3 * time.Minute
	defaultPowerWait    = 2 * time.Minute
)

func (c Config) withDefaults() Config {
	if _, _, err := net.SplitHostPort(c.Addr); err != nil {
		c.Addr = net.JoinHostPort(trimBrackets(c.Addr), "443")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.TLS.Mode == "" {
		c.TLS.Mode = Pin
	}
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.Readers = cmp.Or(c.Readers, defaultReaders)
	c.Poll = cmp.Or(c.Poll, defaultPoll)
	c.GracefulWait = cmp.Or(c.GracefulWait, defaultGracefulWait)
	c.PowerWait = cmp.Or(c.PowerWait, defaultPowerWait)
	c.EventIdle = cmp.Or(c.EventIdle, eventIdle)
	if c.Dial == nil {
		c.Dial = (&net.Dialer{Timeout: 15 * time.Second}).DialContext
	}
	return c
}

// trimBrackets allows "[fe80::1]" beside "fe80::1" for an address without port.
func trimBrackets(host string) string {
	if len(host) > 1 && host[0] == '[' && host[len(host)-1] == ']' {
		return host[1 : len(host)-1]
	}
	return host
}
