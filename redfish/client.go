package redfish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
)

// Client is an open session with one BMC. It is safe for concurrent use; what
// changes the BMC goes alone. Close it always.
type Client struct {
	cfg    Config
	trust  *trust
	record *recorder
	t      *transport

	root       rootDoc
	system     link  // the one host system
	baseboards links // accelerator baseboards beside it, never acted on
	vendor     string
	behaviour  behaviour
	registries registryCache
	plan       plan // of readings that are repeated
	bell       bell
	hostKeys   clientPins // of SSH, where no store keeps them

	closing sync.Once
	closed  error
}

// Open logs in once, finds out whose BMC it is and chooses exactly one host
// system. After an error there is nothing to close. Errors wrap ErrUnreachable,
// ErrPinMismatch, ErrAuth, ErrPasswordChange, ErrSessionLimit or
// ErrAmbiguousSystem.
func Open(ctx context.Context, cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	c, err := newClient(cfg)
	if err != nil {
		return nil, err
	}
	if err := c.open(ctx); err != nil {
		if closing := c.Close(); closing != nil {
			cfg.Log.WarnContext(ctx, "log out", "bmc", cfg.Addr, "err", closing)
		}
		return nil, err
	}
	return c, nil
}

// newClient makes a client that has not asked for anything.
func newClient(cfg Config) (*Client, error) {
	c := &Client{cfg: cfg, trust: &trust{cfg: cfg.TLS, addr: cfg.Addr, key: cfg.Key()}, record: newRecorder(cfg.Password)}
	var err error
	if c.t, err = newTransport(cfg, c.trust, c.record); err != nil {
		return nil, err
	}
	c.t.session = &session{
		t: c.t, user: cfg.User, password: cfg.Password, refusals: cfg.Refusals, store: cfg.Sessions, collection: defaultSessions, probe: defaultSessions,
	}
	return c, nil
}

const serviceRoot = "/redfish/v1/"

// readRoot reads the service root, which is open to all; a BMC that asks for a login
// even there (closed) is asked again after it.
func (c *Client) readRoot(ctx context.Context) (closed bool, err error) {
	_, err = c.get(ctx, serviceRoot, &c.root)
	closed = statusOf(err) == http.StatusUnauthorized || statusOf(err) == http.StatusForbidden || errors.Is(err, ErrAuth)
	if err != nil && !closed {
		return false, err
	}
	if sessions := c.root.Links.value.Sessions; sessions != "" {
		c.t.session.collection = string(sessions)
	}
	switch { // a BMC without sessions may have no list of them either
	case closed:
		c.t.session.probe = serviceRoot
	case c.root.Systems != "":
		c.t.session.probe = string(c.root.Systems)
	}
	return closed, nil
}

func (c *Client) open(ctx context.Context) error {
	closed, err := c.readRoot(ctx)
	if err != nil {
		return err
	}
	if err := c.t.session.open(ctx); err != nil {
		return err
	}
	if closed {
		if _, err := c.get(ctx, serviceRoot, &c.root); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("BMC %s: %w", c.cfg.Addr, context.Cause(ctx))
	}
	if c.sweep(ctx) > 0 && c.t.session.onBasic() { // there is room for ours now
		if err := c.t.session.open(ctx); err != nil {
			return err
		}
	}
	system, err := c.chooseSystem(ctx)
	if err != nil {
		return err
	}
	c.vendor, c.behaviour = c.detect(ctx, system)
	return nil
}

// Close deletes the session, with a deadline of its own so that it also works
// after ctx was cancelled. It is safe to call more than once.
func (c *Client) Close() error {
	c.closing.Do(func() {
		c.bell.close()
		c.closed = c.t.session.close()
		c.t.reads.CloseIdleConnections()
	})
	return c.closed
}

// Vendor is who built the machine, as docs/vendors.md names them ("dell", "nvidia"
// …), or "" where nothing is known and the base behaviour serves.
func (c *Client) Vendor() string { return c.vendor }

// Fingerprint is the SHA-256 of the certificate that the BMC showed, in
// lower-case hex.
func (c *Client) Fingerprint() string { return c.trust.fingerprint() }

// Insecure reports that the certificate was not checked; a report says so.
func (c *Client) Insecure() bool { return c.cfg.TLS.Mode == Insecure }

// System is the link of the host system that this client acts on.
func (c *Client) System() string { return string(c.system) }

// Recorded gives the bodies of everything read so far, keyed by URI, without
// passwords, tokens and other secrets. A body that was no JSON is kept as
// {"unparsed": text}.
func (c *Client) Recorded() map[string]json.RawMessage { return c.record.all() }

// Forget drops what was recorded, so that Recorded gives what is read from now on:
// the evidence of one reading.
func (c *Client) Forget() { c.record.forget() }

// host reads the host system.
func (c *Client) host(ctx context.Context) (systemDoc, error) {
	var doc systemDoc
	_, err := c.get(ctx, c.system, &doc)
	return doc, err
}
