package redfish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"
)

// ipmiPort is where BMCs listen for RMCP.
const ipmiPort = "623"

// IPMI is an open session with one BMC that has no Redfish, or is driven without
// it. It offers what Client offers, as far as IPMI has it; what it lacks wraps
// ErrUnsupported. It is safe for concurrent use; commands go one after the other.
// Close it always.
type IPMI struct {
	cfg    Config
	record *recorder
	turn   chan struct{} // holds one token: whose turn it is to talk
	link   ipmiLink      // guarded by turn
	guid   string        // of the system, "" where it has none
	mac    string        // of the BMC, read only where there is no GUID
	sdrs   *sdrCache
	log    selCache
	boot   bootMemory

	closing sync.Once
	closed  error
}

// OpenIPMI logs in over IPMI 2.0 (RMCP+, UDP 623 unless Addr has a port), with
// cipher suite 17, else 3; weaker ones are never used. The password is never sent,
// and may have 20 bytes. System and TLS of cfg do not apply. After an error there is
// nothing to close. Errors wrap ErrUnreachable, ErrAuth, ErrSessionLimit,
// ErrUnsupported or ErrBadValue.
func OpenIPMI(ctx context.Context, cfg Config) (*IPMI, error) {
	cfg = cfg.withIPMIDefaults()
	c := &IPMI{cfg: cfg, record: newRecorder(cfg.Password), turn: make(chan struct{}, 1), sdrs: &sdrCache{}}
	if err := checkIPMILogin(cfg); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("BMC %s: %w", cfg.Addr, context.Cause(ctx))
	}
	link, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	c.link = link
	if err := c.greet(ctx); err != nil {
		if closing := c.Close(); closing != nil {
			cfg.Log.WarnContext(ctx, "log out", "bmc", cfg.Addr, "err", closing)
		}
		return nil, err
	}
	return c, nil
}

func (c Config) withIPMIDefaults() Config {
	if _, _, err := net.SplitHostPort(c.Addr); err != nil {
		c.Addr = net.JoinHostPort(trimBrackets(c.Addr), ipmiPort)
	}
	return c.withDefaults()
}

// checkIPMILogin refuses before anything is sent what IPMI cannot carry: a longer
// password would be cut, and refused as wrong.
func checkIPMILogin(cfg Config) error {
	switch {
	case len(cfg.Password) > ipmiPasswordMax:
		return fmt.Errorf("BMC %s: %w: the password has %d bytes, and IPMI 2.0 takes %d (IPMI 1.5: 16); set a shorter one, or use Redfish", cfg.Addr, ErrBadValue, len(cfg.Password), ipmiPasswordMax)
	case len(cfg.User) > ipmiUserMax:
		return fmt.Errorf("BMC %s: %w: user name %q has %d bytes, and IPMI takes %d", cfg.Addr, ErrBadValue, cfg.User, len(cfg.User), ipmiUserMax)
	}
	return nil
}

// dial opens a link and logs in, unless the BMC refused this password a moment ago.
func (c *IPMI) dial(ctx context.Context) (ipmiLink, error) {
	cfg := c.cfg
	if cfg.Refusals != nil {
		if until, ok := cfg.Refusals.Refused(cfg.Addr, cfg.User, cfg.Password); ok {
			return nil, fmt.Errorf("BMC %s: %w for user %q with this password a moment ago; it is not asked again before %s, lest it lock the account. Check 0/O and 1/I on the tag, correct the password reference",
				cfg.Addr, ErrAuth, cfg.User, until.Local().Format("15:04:05"))
		}
	}
	var link ipmiLink
	var err error
	if cfg.IPMITool {
		link, err = openIPMITool(ctx, cfg)
	} else {
		link, err = openIPMISession(ctx, cfg)
	}
	if errors.Is(err, errIPMILogin) {
		return nil, c.refuse()
	}
	return link, err
}

func openIPMISession(ctx context.Context, cfg Config) (ipmiLink, error) {
	s, err := dialIPMI(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := s.login(ctx); err != nil {
		if closing := s.close(); closing != nil {
			cfg.Log.WarnContext(ctx, "log out", "bmc", cfg.Addr, "err", closing)
		}
		return nil, err
	}
	s.remember()
	return s, nil
}

func (c *IPMI) refuse() error {
	if c.cfg.Refusals != nil {
		if err := c.cfg.Refusals.Refuse(c.cfg.Addr, c.cfg.User, c.cfg.Password); err != nil {
			c.cfg.Log.Warn("a refused login is not remembered", "bmc", c.cfg.Addr, "err", err)
		}
	}
	hint := ""
	if len(c.cfg.Password) > 16 {
		hint = "; this password is longer than 16 bytes, and some BMCs keep no more for IPMI"
	}
	return fmt.Errorf("BMC %s: %w over IPMI for user %q (one try, I stop here: BMCs lock after few). Check 0/O and 1/I on the tag%s", c.cfg.Addr, ErrAuth, c.cfg.User, hint)
}

// greet learns whose BMC it is, before anything is done with it.
func (c *IPMI) greet(ctx context.Context) error {
	guid, err := c.systemGUID(ctx)
	if err != nil {
		return err
	}
	c.guid = guid
	c.sweep(ctx)
	if guid == "" {
		if c.mac, err = c.ownMAC(ctx); err != nil && codeOf(err) == 0 {
			return err
		}
	}
	c.keep("session", map[string]any{"transport": c.Transport()})
	return nil
}

// command sends one command in its turn. A session that the BMC has forgotten is
// opened anew; what only asks is then asked again, what acts is not.
func (c *IPMI) command(ctx context.Context, cmd ipmiCommand) ([]byte, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("BMC %s: %s: %w", c.cfg.Addr, cmd.name, context.Cause(ctx))
	}
	if s, ok := c.link.(*ipmiSession); ok && s.stale() {
		if err := c.renew(ctx); err != nil {
			return nil, err
		}
	}
	const tries = 3
	renewed := false
	for try := 1; ; try++ {
		data, err := c.once(ctx, cmd)
		forgotten := isLost(err) && !cmd.once && !renewed
		if try == tries || ctx.Err() != nil || !forgotten && !passing(err) {
			return data, err
		}
		if forgotten {
			renewed = true
			err = c.renew(ctx)
		} else {
			err = pause(ctx, time.Duration(try)*c.cfg.Poll/3)
		}
		if err != nil {
			return nil, fmt.Errorf("BMC %s: %s: %w", c.cfg.Addr, cmd.name, err)
		}
	}
}

// once sends a command and tells the log.
func (c *IPMI) once(ctx context.Context, cmd ipmiCommand) ([]byte, error) {
	if cmd.once {
		c.cfg.Log.InfoContext(ctx, "ipmi act", "bmc", c.cfg.Addr, "command", cmd.name, "data", fmt.Sprintf("%x", cmd.data))
	}
	start := time.Now()
	data, err := c.link.send(ctx, cmd)
	c.cfg.Log.DebugContext(ctx, "ipmi", "bmc", c.cfg.Addr, "command", cmd.name, "took", time.Since(start).Round(time.Millisecond), "err", err)
	if cmd.once && codeOf(err) == codeTimeout {
		// In words alone: its code would read as a refusal.
		return nil, &lostError{error: errors.New(err.Error() + "; whether it happened is not known")}
	}
	return data, err
}

// renew logs in again. The old session ends by itself.
func (c *IPMI) renew(ctx context.Context) error {
	old := c.link
	link, err := c.dial(ctx)
	if err != nil {
		return err
	}
	c.cfg.Log.InfoContext(ctx, "ipmi session opened anew", "bmc", c.cfg.Addr)
	c.link = link
	if s, ok := old.(*ipmiSession); ok {
		s.forget()
	}
	return old.close()
}

// Close ends the session, with a deadline of its own so that it also works after ctx
// was cancelled. It is safe to call more than once.
func (c *IPMI) Close() error {
	c.closing.Do(func() {
		c.turn <- struct{}{}
		c.closed = c.link.close()
		<-c.turn
	})
	return c.closed
}

// Fingerprint tells this BMC from another: "guid:" with the system's UUID, else
// "mac:" with the BMC's own address, else "". IPMI shows no certificate; both sides
// prove in the handshake that they know the password.
func (c *IPMI) Fingerprint() string {
	switch {
	case c.guid != "":
		return "guid:" + c.guid
	case c.mac != "":
		return "mac:" + c.mac
	}
	return ""
}

// Insecure is false: there is no certificate to check. A report says what protects
// the session instead: Transport.
func (c *IPMI) Insecure() bool { return false }

// Transport says in words how the session is protected.
func (c *IPMI) Transport() string {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	switch link := c.link.(type) {
	case *ipmiSession:
		link.mu.Lock()
		defer link.mu.Unlock()
		level := "administrator"
		if link.privilege == types.PrivilegeLevelOperator {
			level = "operator"
		}
		return fmt.Sprintf("IPMI: not encrypted by TLS, cipher suite %d, privilege %s", link.keys.suite.id, level)
	case *ipmiTool:
		return fmt.Sprintf("IPMI by ipmitool: not encrypted by TLS, cipher suite %s", link.suite)
	}
	return "IPMI: not encrypted by TLS"
}

// Recorded gives what was read so far, raw bytes in hex beside what they mean, keyed
// by "ipmi:/" and what it is of.
func (c *IPMI) Recorded() map[string]json.RawMessage { return c.record.all() }

// Forget drops what was recorded, so that Recorded gives what is read from now on:
// the evidence of one reading.
func (c *IPMI) Forget() { c.record.forget() }

func (c *IPMI) keep(key string, doc any) {
	b, err := json.Marshal(doc)
	if err != nil {
		c.cfg.Log.Warn("evidence not kept", "bmc", c.cfg.Addr, "key", key, "err", err)
		return
	}
	c.record.keep("ipmi:/"+key, b)
}
