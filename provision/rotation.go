package provision

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/rackproof/rackproof/redfish"
)

// Rotation gives a BMC a new password, write-ahead: it is in the user's store before
// it is set, and proven by a login before the old one is let go. One that was cut is
// taken up by running it again: the new password is tried, then the old, once each.
type Rotation struct {
	Config  redfish.Config // with the password in force
	Store   PasswordStore
	Secrets *Secrets // learns the new password; may be nil
	// Password is the new one; "" = one is made.
	Password string
	// OpenIPMI logs in over IPMI; nil = redfish.OpenIPMI.
	OpenIPMI func(context.Context, redfish.Config) (io.Closer, error)
}

// Rotated says what a rotation came to.
type Rotated struct {
	Resumed  bool     `json:"resumed"`  // the new password was made by one that was cut
	Verified []string `json:"verified"` // protocols over which it was proven: redfish, ipmi
	Note     string   `json:"note,omitempty"`
}

// Run carries the rotation out. Without an error the new password is in force, proven
// over Redfish, and where IPMI is on and answers also there.
func (r Rotation) Run(ctx context.Context) (Rotated, error) {
	waiting, resumed, err := r.Store.Waiting(ctx)
	if err != nil {
		return Rotated{}, err
	}
	if !resumed {
		return r.begin(ctx)
	}
	r.hide(waiting)
	out, refused, err := r.prove(ctx, waiting, r.Config.Refusals)
	out.Resumed = true
	if !refused {
		return out, err
	}
	c, err := r.open(ctx, r.Config.Password, r.Config.Refusals)
	switch {
	case errors.Is(err, redfish.ErrAuth):
		return out, r.neither(err)
	case err != nil && !errors.Is(err, redfish.ErrPasswordChange):
		return out, err
	}
	out, err = r.set(ctx, c, waiting)
	out.Resumed = true
	return out, err
}

// begin makes a password and writes it before anything else.
func (r Rotation) begin(ctx context.Context) (Rotated, error) {
	c, err := r.open(ctx, r.Config.Password, r.Config.Refusals)
	rules := redfish.PasswordRules{IPMI: true} // nothing more is told before the first change
	switch {
	case err == nil:
		if rules, err = c.PasswordRules(ctx); err != nil {
			return Rotated{}, errors.Join(err, c.Close())
		}
	case !errors.Is(err, redfish.ErrPasswordChange):
		return Rotated{}, err
	}
	password, err := r.password(rules)
	if err == nil {
		r.hide(password)
		err = r.Store.Write(ctx, password)
	}
	if err != nil {
		return Rotated{}, errors.Join(fmt.Errorf("nothing was changed: %w", err), closeBMC(c))
	}
	return r.set(ctx, c, password)
}

// password is the one that is given, where the BMC can take it, or a new one.
func (r Rotation) password(rules redfish.PasswordRules) (string, error) {
	if r.Password == "" {
		return NewPassword(rules)
	}
	return r.Password, checkPasswordLength(len(r.Password), rules)
}

func closeBMC(c *redfish.Client) error {
	if c == nil {
		return nil
	}
	return c.Close()
}

// set gives the BMC the password that is in the store. c is nil where the BMC wants a
// new password before anything else.
func (r Rotation) set(ctx context.Context, c *redfish.Client, password string) (Rotated, error) {
	var sent error
	if c == nil {
		sent = redfish.ChangeFirstPassword(ctx, r.Config, password)
	} else {
		sent = errors.Join(c.SetPassword(ctx, password), c.Close())
	}
	if errors.Is(sent, redfish.ErrBadValue) || errors.Is(sent, redfish.ErrUnsupported) {
		return Rotated{}, errors.Join(sent, r.Store.Settle(ctx, r.Config.Password))
	}
	// Whatever the answer said or did not say: the login tells. A refusal from before
	// the change does not count any more.
	out, refused, err := r.prove(ctx, password, nil)
	if !refused {
		return out, err
	}
	old, oldErr := r.open(ctx, r.Config.Password, r.Config.Refusals)
	if oldErr != nil && !errors.Is(oldErr, redfish.ErrPasswordChange) {
		return out, r.neither(errors.Join(sent, oldErr))
	}
	if sent == nil {
		sent = errors.New("it answered that it took the new one")
	}
	return out, errors.Join(fmt.Errorf("BMC %s kept the old password: %w", r.Config.Addr, sent), closeBMC(old), r.Store.Settle(ctx, r.Config.Password))
}

// prove logs in with the new password over both protocols, and settles the store;
// refused says that the BMC did not take it.
func (r Rotation) prove(ctx context.Context, password string, refusals redfish.RefusalStore) (out Rotated, refused bool, err error) {
	c, err := r.open(ctx, password, refusals)
	if err != nil {
		return out, errors.Is(err, redfish.ErrAuth), err
	}
	if kept, ok := r.Config.Refusals.(*Refusals); ok { // from before it was set
		if err := kept.Taken(r.Config.Key(), r.Config.User, password); err != nil {
			return out, false, errors.Join(err, c.Close())
		}
	}
	out = Rotated{Verified: []string{"redfish"}}
	rules, rulesErr := c.PasswordRules(ctx)
	err = errors.Join(c.Close(), r.Store.Settle(ctx, password))
	if err == nil && (rulesErr != nil || rules.IPMI) {
		out, err = r.proveIPMI(ctx, out, password)
	}
	return out, false, err
}

// ipmiPatience is how long a BMC may take to answer over IPMI before that counts as
// not reachable.
const ipmiPatience = 30 * time.Second

func (r Rotation) proveIPMI(ctx context.Context, out Rotated, password string) (Rotated, error) {
	if r.Config.Dial != nil {
		out.Note = "not proven over IPMI, which does not go through the bastion"
		return out, nil
	}
	cfg := r.Config
	if host, _, err := net.SplitHostPort(cfg.Addr); err == nil {
		cfg.Addr = host
	}
	cfg.Password, cfg.Refusals = password, nil
	limited, cancel := context.WithTimeout(ctx, ipmiPatience)
	defer cancel()
	open := r.OpenIPMI
	if open == nil {
		open = func(ctx context.Context, cfg redfish.Config) (io.Closer, error) { return redfish.OpenIPMI(ctx, cfg) }
	}
	over, err := open(limited, cfg)
	switch {
	case err == nil:
		out.Verified = append(out.Verified, "ipmi")
		return out, over.Close()
	case errors.Is(err, redfish.ErrAuth):
		return out, fmt.Errorf("the new password is in force and in the store, and IPMI does not take it: %w", err)
	}
	out.Note = "not proven over IPMI, which does not answer: " + err.Error()
	return out, nil
}

func (r Rotation) open(ctx context.Context, password string, refusals redfish.RefusalStore) (*redfish.Client, error) {
	cfg := r.Config
	cfg.Password, cfg.Refusals = password, refusals
	return redfish.Open(ctx, cfg)
}

func (r Rotation) hide(password string) {
	if r.Secrets != nil {
		r.Secrets.Add(password)
	}
}

// neither: both passwords stay where they are, for a person to sort out.
func (r Rotation) neither(err error) error {
	return fmt.Errorf("BMC %s takes neither the new nor the old password (each was tried once, I stop here): somebody changed it meanwhile, or the account is locked for a while; both are still kept: %w", r.Config.Addr, err)
}
