package redfish

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// PasswordRules are what a BMC takes for a password, as far as it says.
type PasswordRules struct {
	Min  int  `json:"min"`          // characters; 0 = not said
	Max  int  `json:"max"`          // characters; 0 = not said
	IPMI bool `json:"ipmi_enabled"` // it also answers IPMI over LAN, which takes 20 bytes, 1.5 only 16
}

// PasswordRules reads them. IPMI is assumed to be on where the BMC does not say.
func (c *Client) PasswordRules(ctx context.Context) (PasswordRules, error) {
	var doc struct {
		Min number `json:"MinPasswordLength"`
		Max number `json:"MaxPasswordLength"`
	}
	if c.root.Accounts == "" {
		return PasswordRules{}, fmt.Errorf("BMC %s: %w: no account service", c.cfg.Addr, ErrUnsupported)
	}
	if _, err := c.get(ctx, c.root.Accounts, &doc); err != nil {
		return PasswordRules{}, err
	}
	ipmi, err := c.ipmiEnabled(ctx)
	if err != nil {
		return PasswordRules{}, err
	}
	return PasswordRules{Min: atLeastZero(doc.Min), Max: atLeastZero(doc.Max), IPMI: ipmi}, nil
}

func atLeastZero(n number) int {
	if v := n.positive(); v != nil {
		return int(*v)
	}
	return 0
}

func (c *Client) ipmiEnabled(ctx context.Context) (bool, error) {
	host, err := c.host(ctx)
	if err != nil {
		return true, err
	}
	enabled, said := false, false
	for _, m := range each[managerDoc](ctx, c, host.Links.value.ManagedBy, &gaps{}) {
		if m == nil {
			continue
		}
		ipmi, err := c.ipmiProtocol(ctx, m.Protocols)
		if err != nil || !ipmi.On.ok {
			continue
		}
		said, enabled = true, enabled || ipmi.On.value
	}
	return enabled || !said, nil
}

// SetPassword gives the account of this client a new password, which the client uses
// from then on. The new one must be in a safe place before: a lost answer (then the
// error wraps ErrUnreachable) leaves open which of the two counts, and only a login
// tells. A password that the BMC does not take wraps ErrBadValue.
func (c *Client) SetPassword(ctx context.Context, password string) error {
	account, etag, err := c.account(ctx)
	if err != nil {
		return err
	}
	return c.writePassword(ctx, account, etag, password)
}

func (c *Client) writePassword(ctx context.Context, account link, etag, password string) error {
	c.record.hide(password)
	_, err := c.patchAnswer(ctx, account, etag, map[string]string{"Password": password})
	if err != nil {
		if said(err, notTaken) {
			return fmt.Errorf("BMC %s: the password is not taken: %w (%w)", c.cfg.Addr, ErrBadValue, err)
		}
		return fmt.Errorf("BMC %s: set the password: %w", c.cfg.Addr, err)
	}
	c.t.session.newPassword(password)
	return nil
}

// newPassword is for the logins to come.
func (s *session) newPassword(password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.password = password
}

// account finds the account that this client is logged in with.
func (c *Client) account(ctx context.Context) (uri link, etag string, err error) {
	var service struct {
		Accounts link `json:"Accounts"`
	}
	if _, err := c.get(ctx, c.root.Accounts, &service); err != nil {
		return "", "", fmt.Errorf("find the account: %w", err)
	}
	uris, err := c.members(ctx, service.Accounts)
	if err != nil {
		return "", "", fmt.Errorf("find the account: %w", err)
	}
	for _, l := range uris {
		var doc struct {
			User text `json:"UserName"`
			ETag text `json:"@odata.etag"`
		}
		a, err := c.get(ctx, l, &doc)
		if err != nil {
			continue // iDRAC lists sixteen, and not all may be read
		}
		if string(doc.User) == c.cfg.User {
			return l, firstOf(string(doc.ETag), a.header.Get("ETag")), nil
		}
	}
	return "", "", fmt.Errorf("BMC %s: %w: user %q is in none of its %d accounts; it may come from a directory server", c.cfg.Addr, ErrUnsupported, c.cfg.User, len(uris))
}

// ChangeFirstPassword sets the password of an account that may do nothing before it
// has a new one (ErrPasswordChange of Open). cfg holds the password of the tag. It
// logs out again; Open takes the new password then.
func ChangeFirstPassword(ctx context.Context, cfg Config, password string) (err error) {
	cfg = cfg.withDefaults()
	c, err := newClient(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	c.record.hide(password)
	if _, err := c.readRoot(ctx); err != nil {
		return err
	}
	opened := c.t.session.open(ctx)
	if opened != nil && !errors.Is(opened, ErrPasswordChange) {
		return opened
	}
	account := link(c.t.session.dueAccount(opened))
	if account == "" { // the message did not name it
		var etag string
		if account, etag, err = c.account(ctx); err == nil {
			return c.writePassword(ctx, account, etag, password)
		}
		return fmt.Errorf("%w; set it once in its web page", err)
	}
	return c.writePassword(ctx, account, "", password)
}

// dueAccount is the account whose password is to be changed, as a BMC names it: the
// argument of PasswordChangeRequired (DSP8011). The session that was refused for it
// is good for the change.
func (s *session) dueAccount(opened error) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if opened != nil && s.token == "" {
		s.basic = true
	}
	if se, ok := errors.AsType[*StatusError](opened); ok {
		s.due = append(s.due, se.args...)
	}
	for _, arg := range s.due {
		if strings.HasPrefix(arg, "/") {
			return arg
		}
	}
	return ""
}
