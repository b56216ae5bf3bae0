package redfish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Boot is the boot override of the host.
type Boot struct {
	Target      string   `json:"target"`                  // None, Pxe, UefiHttp, Cd, Hdd …
	Enabled     string   `json:"enabled"`                 // Disabled, Once, Continuous
	Mode        string   `json:"mode,omitempty"`          // UEFI, Legacy, "" where not reported
	HTTPBootURI string   `json:"http_boot_uri,omitempty"` // for UefiHttp
	Allowed     []string `json:"allowed,omitempty"`       // targets as the BMC lists them; empty means not listed
	Supported   bool     `json:"supported"`               // false: the BMC has no override properties
	TakesURI    bool     `json:"takes_uri"`               // the BMC has an HttpBootUri to set
	Note        string   `json:"note,omitempty"`          // what could not be read, and is not known
}

// overrideOff is how an override reads that is used up or not set.
const overrideOff = "Disabled"

// Boot reads the override. Where the BMC keeps what is to come in a settings
// object (AMI, iDRAC10), that is what the next boot will use and what is given.
// Supported is false where there is no override; that is no error.
func (c *Client) Boot(ctx context.Context) (Boot, error) {
	place, err := c.bootPlace(ctx)
	return place.boot, err
}

// bootPlace is where an override is written, and how it reads there.
type bootPlace struct {
	uri  link
	etag string
	boot Boot
}

func (c *Client) bootPlace(ctx context.Context) (bootPlace, error) {
	host, err := c.host(ctx)
	if err != nil {
		return bootPlace{}, err
	}
	place := bootPlace{uri: c.system, etag: string(host.ETag), boot: host.Boot.value.boot()}
	// A DGX H100 refuses an override on the system itself and lists its targets
	// only in the settings object; Lenovo's settings object holds no override.
	if object := host.Settings.value.Object; object != "" {
		var staged systemDoc
		if _, err := c.get(ctx, object, &staged); err == nil && staged.Boot.value.Target != nil {
			place = bootPlace{uri: object, etag: string(staged.ETag), boot: staged.Boot.value.boot()}
		}
	}
	return place, nil
}

func (d bootDoc) boot() Boot {
	var uri text
	_ = uri.UnmarshalJSON(d.HTTP)
	b := Boot{Enabled: string(d.Enabled), Mode: string(d.Mode), HTTPBootURI: string(uri), Allowed: d.Allowed, TakesURI: len(d.HTTP) > 0}
	if d.Target != nil {
		b.Target, b.Supported = string(*d.Target), true
	}
	return b
}

// same compares what want asks for; an empty field of want asks for nothing.
func (b Boot) same(want Boot) bool {
	if want.Enabled == overrideOff {
		return b.Enabled == overrideOff || b.Target == "None"
	}
	return strings.EqualFold(b.Target, want.Target) && strings.EqualFold(b.Enabled, want.Enabled) &&
		(want.Mode == "" || b.Mode == "" || strings.EqualFold(b.Mode, want.Mode)) &&
		(want.HTTPBootURI == "" || b.HTTPBootURI == want.HTTPBootURI)
}

// discAliases are the words for a virtual CD, of which a BMC knows one or two.
var discAliases = []string{"Cd", "UsbCd", "UefiUsbCd", "CD/DVD"}

// SetBoot sets the override, sends only what differs, and reads it back: a BMC
// may answer 200 and apply nothing, or 400 and apply it. It wraps ErrUnsupported
// where the BMC has no override, ErrBadValue where it lists its targets and the
// wanted one is not among them.
func (c *Client) SetBoot(ctx context.Context, want Boot) error {
	place, err := c.bootPlace(ctx)
	if err != nil {
		return err
	}
	if !place.boot.Supported {
		return fmt.Errorf("BMC %s: %w: no boot override; use the BIOS boot order or virtual media", c.cfg.Addr, ErrUnsupported)
	}
	if want.HTTPBootURI != "" && !place.boot.TakesURI {
		// iDRAC and Supermicro keep the URI among their BIOS attributes.
		return fmt.Errorf("BMC %s: %w: no HttpBootUri; set the URI in the BIOS, or boot with Pxe", c.cfg.Addr, ErrUnsupported)
	}
	if want.Enabled == "" {
		want.Enabled = "Once"
	}
	if want.Target, err = place.boot.target(want); err != nil {
		return fmt.Errorf("BMC %s: %w", c.cfg.Addr, err)
	}
	if place.boot.same(want) {
		return nil
	}
	if err := c.tryBoot(ctx, place, want); err != nil {
		return fmt.Errorf("BMC %s: boot override %s was not taken: %w; set it by hand or use virtual media", c.cfg.Addr, want, err)
	}
	return nil
}

// tryBoot sends one form after the other until the override reads as wanted.
func (c *Client) tryBoot(ctx context.Context, place bootPlace, want Boot) error {
	var last error
	for _, body := range c.bootBodies(place.boot, want) {
		a, sent := c.patchAnswer(ctx, place.uri, place.etag, map[string]any{"Boot": body})
		if sent != nil && statusOf(sent) == 0 && !isLost(sent) {
			return sent
		}
		set, err := c.readBack(ctx, a, func() (ok bool, err error) {
			place, err = c.bootPlace(ctx)
			return place.boot.same(want), err
		})
		if err != nil {
			return fmt.Errorf("read it back: %w", errors.Join(sent, err))
		}
		if set {
			return nil
		}
		last = fmt.Errorf("accepted, but it reads %s", place.boot)
		if sent != nil {
			last = fmt.Errorf("%w, and it reads %s", sent, place.boot)
		}
		if errors.Is(sent, ErrAuth) {
			break
		}
	}
	return last
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

// target finds the BMC's word for the wanted target. No list does not mean that
// nothing is allowed.
func (b Boot) target(want Boot) (string, error) {
	if want.Enabled == overrideOff {
		return "None", nil
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
	if want.HTTPBootURI != "" && want.HTTPBootURI != now.HTTPBootURI {
		least["HttpBootUri"] = want.HTTPBootURI
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
