package redfish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// discAliases are the words for a virtual CD, of which a BMC knows one or two.
var discAliases = []string{"Cd", "UsbCd", "UefiUsbCd", "CD/DVD"}

// SetBoot sets the override, sends only what differs, and reads it back: a BMC
// may answer 200 and apply nothing, or 400 and apply it. It wraps ErrUnsupported
// where the BMC has no override, or has what is wanted among its BIOS attributes
// and they are not in force (PlanBoot names them); ErrBadValue where it lists its
// targets and the wanted one is not among them.
func (c *Client) SetBoot(ctx context.Context, want Boot) error {
	plan, place, err := c.planBoot(ctx, want)
	if err != nil {
		return err
	}
	if len(plan.Changes) > 0 && place.boot.TakesURI && want.HTTPBootURI != "" && want.MAC == "" {
		taken, err := c.probeURI(ctx, place, want)
		if taken || err != nil {
			return err
		}
	}
	if len(plan.Changes) > 0 {
		return fmt.Errorf("BMC %s: %w in its override: %s; the BIOS must have %s first", c.cfg.Addr, ErrUnsupported, plan.Why, plan.Changes[0].Attribute)
	}
	want = plan.Override
	if place.boot.Is(want) {
		return nil
	}
	if err := c.tryBoot(ctx, place, want); err != nil {
		advice := "set it by hand or use virtual media"
		if saidMessage(err, "UnsupportedOperation") { // iLO6 1.58 and 1.72 to Pxe (libredfish #76)
			advice = "it takes no such target in this state: name the network port by its MAC, boot from a URI, or set it over IPMI"
		}
		return fmt.Errorf("BMC %s: boot override %s was not taken: %w; %s", c.cfg.Addr, want, err, advice)
	}
	return nil
}

// probeURI tries the override where it shows an HttpBootUri and others of its make
// refuse that: a refusal changes nothing, and one that takes it needs no BIOS setting.
func (c *Client) probeURI(ctx context.Context, place bootPlace, want Boot) (taken bool, err error) {
	want.Enabled = firstOf(want.Enabled, "Once")
	if want.Target, err = place.boot.target(want); err != nil {
		return false, fmt.Errorf("BMC %s: %w", c.cfg.Addr, err)
	}
	err = c.tryBoot(ctx, place, want)
	switch {
	case err == nil:
		return true, nil
	case isOwn(err), isLost(err), isFinal(err):
		return false, fmt.Errorf("BMC %s: boot override %s: %w", c.cfg.Addr, want, err)
	}
	c.cfg.Log.InfoContext(ctx, "the boot override takes no URI", "bmc", c.cfg.Addr, "err", err)
	return false, nil
}

// tryBoot sends one form after the other until the override reads as wanted: in
// the order of bootBodies, and where the BMC names another place for it (ASRock on
// AMI: OperationSupportedInFutureStateURI, Redfish-Tacklebox #144), there.
func (c *Client) tryBoot(ctx context.Context, place bootPlace, want Boot) error {
	bodies := c.bootBodies(place.boot, want)
	elsewhere, err := c.bootLadder(ctx, place, want, bodies)
	if elsewhere == "" {
		return err
	}
	c.cfg.Log.InfoContext(ctx, "the boot override is set elsewhere", "bmc", c.cfg.Addr, "uri", elsewhere)
	place.uri, place.etag = elsewhere, ""
	_, err = c.bootLadder(ctx, place, want, bodies)
	return err
}

// bootLadder returns the place that a refusal names, if one does.
func (c *Client) bootLadder(ctx context.Context, place bootPlace, want Boot, bodies []map[string]any) (elsewhere link, last error) {
	uri, order := place.uri, place.boot.Order
	for i, body := range bodies {
		a, sent := c.patchAnswer(ctx, uri, place.etag, map[string]any{"Boot": body})
		if isOwn(sent) {
			return "", sent
		}
		if to := place.futureState(sent); to != "" && to != uri {
			return to, sent
		}
		set, err := c.readBack(ctx, a, func() (ok bool, err error) {
			place, err = c.bootPlace(ctx)
			if err != nil || uri == place.uri || place.boot.Is(want) {
				return place.boot.Is(want), err
			}
			staged, err := c.stagedBoot(ctx, uri)
			return staged.Is(want), err
		})
		if err != nil {
			return "", fmt.Errorf("read it back: %w", errors.Join(sent, err))
		}
		if set {
			c.warnOrder(ctx, order, place.boot.Order)
			return "", nil
		}
		last = fmt.Errorf("accepted, but it reads %s", place.boot)
		if sent != nil {
			last = fmt.Errorf("%w, and it reads %s", sent, place.boot)
		}
		if isFinal(sent) {
			break
		}
		if i+1 < len(bodies) {
			c.cfg.Log.InfoContext(ctx, "boot override not taken, the next form is tried", "bmc", c.cfg.Addr, "err", last)
		}
	}
	return "", last
}

// warnOrder tells of a boot order that came out of setting an override as another: an
// XE9680 lost entries of its own so (iDRAC-Redfish-Scripting #319).
func (c *Client) warnOrder(ctx context.Context, before, after []string) {
	if len(before) > 0 && len(after) > 0 && !slices.Equal(before, after) {
		c.cfg.Log.WarnContext(ctx, "the boot order changed when the boot override was set: check it before the next start",
			"bmc", c.cfg.Addr, "before", before, "after", after)
	}
}

// isFinal tells a refusal that another form of the same request meets too.
func isFinal(err error) bool {
	return errors.Is(err, ErrAuth) || errors.Is(err, ErrLockdown) || errors.Is(err, ErrLicence)
}

// futureState is the resource that a refusal points to, "" where it does not.
func (p bootPlace) futureState(err error) link {
	se, ok := errors.AsType[*StatusError](err)
	if !ok || !se.has("OperationSupportedInFutureStateURI") {
		return ""
	}
	for _, arg := range se.args {
		if strings.HasPrefix(arg, "/redfish/") {
			return link(arg)
		}
	}
	if p.future != "" {
		return p.future
	}
	return link(strings.TrimRight(string(p.uri), "/") + "/SD") // where AMI has it
}

// stagedBoot reads the override of a resource that is not linked as its place.
func (c *Client) stagedBoot(ctx context.Context, uri link) (Boot, error) {
	var doc systemDoc
	if _, err := c.get(ctx, uri, &doc); err != nil && !isAbsent(err) {
		return Boot{}, err
	}
	return doc.Boot.value.boot(), nil
}

func (b Boot) String() string {
	s := b.Target + "/" + b.Enabled
	if b.Mode != "" {
		s += "/" + b.Mode
	}
	return s
}

func cmpError(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// target finds the BMC's word for the wanted target, and checks that its mode is offered.
// No list does not mean that nothing is allowed.
func (b Boot) target(want Boot) (string, error) {
	if want.Enabled == overrideOff {
		return "None", nil
	}
	if !b.Takes(want.Mode) {
		return "", fmt.Errorf("%w: boot mode %s; this machine boots by %s", ErrBadValue, want.Mode, strings.Join(b.Modes, ", "))
	}
	names := []string{want.Target}
	if slices.Contains(discAliases, want.Target) {
		names = append(names, discAliases...)
	}
	for _, name := range names {
		for _, a := range b.Allowed {
			if strings.EqualFold(a, name) {
				return a, nil
			}
		}
	}
	if len(b.Allowed) > 0 || want.Target == "" {
		return "", fmt.Errorf("%w: boot target %q; this BMC offers %s", ErrBadValue, want.Target, strings.Join(b.Allowed, ", "))
	}
	return want.Target, nil
}

// bootBodies are the forms to try: BMCs differ on whether the mode must be sent
// (Supermicro falls back to Legacy without it) or must not (iLO5 calls it
// read-only). First only what differs.
func (c *Client) bootBodies(now, want Boot) []map[string]any {
	least := map[string]any{"BootSourceOverrideEnabled": want.Enabled, "BootSourceOverrideTarget": want.Target}
	// An empty HttpBootUri that nobody asked for makes an iLO refuse even Pxe
	// (gofish #507).
	if want.HTTPBootURI != "" && want.HTTPBootURI != now.HTTPBootURI {
		least["HttpBootUri"] = want.HTTPBootURI
	}
	if want.Path != "" {
		least["UefiTargetBootSourceOverride"] = want.Path
	}
	if want.Next != "" {
		least["BootNext"] = want.Next
	}
	mode := firstOf(want.Mode, now.Mode)
	if mode == "" {
		return []map[string]any{least}
	}
	full := maps.Clone(least)
	full["BootSourceOverrideMode"] = mode
	differs := want.Mode != "" && !strings.EqualFold(want.Mode, now.Mode)
	switch {
	case differs && now.Mode != "":
		return []map[string]any{full}
	case differs || c.behaviour.bootMode():
		return []map[string]any{full, least}
	}
	return []map[string]any{least, full}
}
