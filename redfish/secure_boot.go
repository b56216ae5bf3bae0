package redfish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// secureBootAttribute is how the switch of the SecureBoot resource stands among the
// BIOS attributes of a vendor that has it nowhere else: the registry of an iLO 5
// holds the state alone, read-only.
const secureBootAttribute = "SecureBoot.SecureBootEnable"

// secureBootTable grants the intent by the resource (DMTF SecureBoot 1.0: the switch
// takes effect at the next boot, SecureBootCurrentBoot is what is in force).
var secureBootTable = intentTable{rules: []intentRule{
	{intent: "secure-boot", attribute: secureBootAttribute, values: onOff(true, false)},
}}

// secureBoot is what the resource says.
type secureBoot struct {
	uri   link // "" where it is not the way
	etag  string
	setup bool // no platform key is enrolled, so it cannot be switched on
}

// readSecureBoot adds the switch to the attributes, where no rule of the vendor
// names one. A BMC that shows no attributes at all is not ready.
func (c *Client) readSecureBoot(ctx context.Context, uri link, place *biosPlace) error {
	own := func(t intentTable) bool {
		return slices.ContainsFunc(t.rules, func(r intentRule) bool { return r.intent == "secure-boot" })
	}
	if uri == "" || len(place.bios.Attributes) == 0 || slices.ContainsFunc(c.behaviour.intents(), own) {
		return nil
	}
	var doc struct {
		Enable  flag `json:"SecureBootEnable"`
		Current text `json:"SecureBootCurrentBoot"`
		Mode    text `json:"SecureBootMode"`
		ETag    text `json:"@odata.etag"`
	}
	a, err := c.get(ctx, uri, &doc)
	switch {
	case err != nil && isAbsent(err):
		return nil
	case err != nil:
		return fmt.Errorf("read the secure boot state: %w", err)
	case !doc.Enable.ok:
		return nil
	}
	place.secure = secureBoot{
		uri: uri, etag: firstOf(string(doc.ETag), a.header.Get("ETag")), setup: strings.EqualFold(string(doc.Mode), "SetupMode"),
	}
	now := doc.Enable.value
	if doc.Current != "" {
		now = strings.EqualFold(string(doc.Current), "Enabled")
	}
	place.bios.Attributes[secureBootAttribute] = now
	if doc.Enable.value != now {
		place.bios.Pending[secureBootAttribute] = doc.Enable.value
	}
	return nil
}

// refuses says why a switch to on cannot take effect; nil where it can.
func (s secureBoot) refuses(changes []BIOSChange) error {
	if i := secureBootChange(changes); i >= 0 && s.setup && equalValue(changes[i].Want, true) {
		return fmt.Errorf("secure boot: %w: no platform key is enrolled (SetupMode); restore the default keys on the BMC's or the setup's own page, then run again", ErrBadValue)
	}
	return nil
}

func secureBootChange(changes []BIOSChange) int {
	return slices.IndexFunc(changes, func(ch BIOSChange) bool { return ch.Attribute == secureBootAttribute })
}

// stageSecureBoot sends the switch, reads it back, and returns the changes that are
// left for the settings object.
func (c *Client) stageSecureBoot(ctx context.Context, place biosPlace, changes []BIOSChange) ([]BIOSChange, error) {
	i := secureBootChange(changes)
	if i < 0 {
		return changes, nil
	}
	want := changes[i].Want
	rest := slices.Delete(slices.Clone(changes), i, i+1)
	if place.willBoot(want) {
		return rest, nil
	}
	_, sent := c.patchAnswer(ctx, place.secure.uri, place.secure.etag, map[string]any{"SecureBootEnable": want})
	if isOwn(sent) {
		return nil, sent
	}
	after, err := c.biosPlace(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the secure boot switch back: %w", errors.Join(sent, err))
	}
	if !after.willBoot(want) {
		return nil, errors.Join(sent, fmt.Errorf("BMC %s: the secure boot switch does not read %v after it was sent", c.cfg.Addr, want))
	}
	return rest, nil
}

// willBoot reports whether the next boot has the wanted state.
func (p biosPlace) willBoot(want any) bool {
	next, waits := p.bios.Pending[secureBootAttribute]
	if !waits {
		next = p.bios.Attributes[secureBootAttribute]
	}
	return equalValue(next, want)
}
