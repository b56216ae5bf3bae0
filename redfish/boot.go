package redfish

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Boot is the boot override of the host.
type Boot struct {
	Target      string   `json:"target"`                  // None, Pxe, UefiHttp, Cd, Hdd …
	Enabled     string   `json:"enabled"`                 // Disabled, Once, Continuous
	Mode        string   `json:"mode,omitempty"`          // UEFI, Legacy, "" where not reported
	Modes       []string `json:"modes,omitempty"`         // modes as the BMC lists them; empty means not listed
	HTTPBootURI string   `json:"http_boot_uri,omitempty"` // for UefiHttp
	Allowed     []string `json:"allowed,omitempty"`       // targets as the BMC lists them; empty means not listed
	Supported   bool     `json:"supported"`               // false: the BMC has no override properties
	TakesURI    bool     `json:"takes_uri"`               // the BMC has an HttpBootUri to set
	Order       []string `json:"order,omitempty"`         // boot order of the BIOS, as the BMC shows it; empty means not shown
	Note        string   `json:"note,omitempty"`          // what could not be read, and is not known

	// Of one boot device instead of a kind of them.
	MAC  string `json:"mac,omitempty"`         // asked for: the network port with this address; never read
	Path string `json:"uefi_target,omitempty"` // UEFI device path, for UefiTarget
	Next string `json:"boot_next,omitempty"`   // reference of a boot option, for UefiBootNext
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

	paths   []string // that UefiTarget may take, where the BMC lists them
	options link
	next    bool // it has a BootNext to set
	path    bool // it has a UEFI path to set
	future  link // of the system's settings object, whether or not it has an override
}

func (d bootDoc) place(uri link, etag text) bootPlace {
	return bootPlace{
		uri: uri, etag: string(etag), boot: d.boot(), paths: d.Paths, options: d.Options,
		next: len(d.Next) > 0, path: len(d.Path) > 0,
	}
}

func (c *Client) bootPlace(ctx context.Context) (bootPlace, error) {
	host, err := c.host(ctx)
	if err != nil {
		return bootPlace{}, err
	}
	place := host.Boot.value.place(c.system, host.ETag)
	// A DGX H100 refuses an override on the system itself and lists its targets
	// only in the settings object; Lenovo's settings object holds no override.
	if object := host.Settings.value.Object; object != "" {
		var staged systemDoc
		switch _, err := c.get(ctx, object, &staged); {
		case err != nil && !isAbsent(err): // written to the system meanwhile, it would be in the wrong place
			return bootPlace{}, fmt.Errorf("read where the boot override is set: %w", err)
		case err == nil && staged.Boot.value.Target != nil:
			options := place.options
			place = staged.Boot.value.place(object, staged.ETag)
			place.options = link(firstOf(string(place.options), string(options)))
		}
		place.future = object
	}
	place.boot.Order = host.Boot.value.Order
	return place, nil
}

func (d bootDoc) boot() Boot {
	var uri, path, next text
	_, _, _ = uri.UnmarshalJSON(d.HTTP), path.UnmarshalJSON(d.Path), next.UnmarshalJSON(d.Next)
	b := Boot{
		Enabled: string(d.Enabled), Mode: string(d.Mode), Modes: d.Modes, HTTPBootURI: string(uri), Allowed: d.Allowed, TakesURI: len(d.HTTP) > 0,
		Path: path.clean(), Next: next.clean(),
	}
	if d.Target != nil {
		b.Target, b.Supported = string(*d.Target), true
	}
	return b
}

// Takes reports whether the host may be booted in that mode, "UEFI" or "Legacy". A BMC
// that lists no modes may take any.
func (b Boot) Takes(mode string) bool {
	return mode == "" || len(b.Modes) == 0 || slices.ContainsFunc(b.Modes, func(m string) bool { return strings.EqualFold(m, mode) })
}

// Is reports whether an override is the one that is wanted; an empty field of want asks
// for nothing.
func (b Boot) Is(want Boot) bool {
	if want.Enabled == overrideOff {
		return b.Enabled == overrideOff || b.Target == "None"
	}
	return strings.EqualFold(b.Target, want.Target) && strings.EqualFold(b.Enabled, want.Enabled) &&
		(want.Mode == "" || b.Mode == "" || strings.EqualFold(b.Mode, want.Mode)) &&
		(want.HTTPBootURI == "" || b.HTTPBootURI == want.HTTPBootURI) &&
		(want.Path == "" || b.Path == want.Path) && (want.Next == "" || b.Next == want.Next)
}
