package redfish

import (
	"context"
	"regexp"
	"slices"
	"strings"
)

// macText finds Ethernet addresses in the caption or the path of a boot option:
// "… - 94:6D:AE:91:FB:22 (PXE IPv4)", "…X550 - 7CC255793F8E", "…/MAC(5CFF35FE04B1,0x1)/…".
var macText = regexp.MustCompile(`(?i)\b(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}\b|\b[0-9a-f]{12}\b`)

// mentions reports whether a text names the Ethernet address.
func mentions(text, mac string) bool {
	return slices.ContainsFunc(macText.FindAllString(text, -1), func(s string) bool { return CleanMAC(s) == mac })
}

// bootPort turns a network port into what the BMC's override can name: a UEFI path
// that it lists (iLO5, gofish #455), or an entry of the boot order. ok is false
// where it can name none.
func (c *Client) bootPort(ctx context.Context, place bootPlace, want Boot) (Boot, bool) {
	mac := CleanMAC(want.MAC)
	over := strings.EqualFold(want.Target, "UefiHttp")
	offers := func(target string) bool {
		return len(place.boot.Allowed) == 0 || slices.Contains(place.boot.Allowed, target)
	}
	var paths []string
	for _, p := range place.paths {
		if mentions(p, mac) && over == strings.Contains(p, "/Uri(") {
			paths = append(paths, p)
		}
	}
	if !place.boot.Takes("UEFI") {
		return want, false
	}
	if i := preferIPv4(paths); i >= 0 && offers("UefiTarget") {
		want.Target, want.Path = "UefiTarget", paths[i]
		return want, true
	}
	option, ok := c.portOption(ctx, place, mac, over)
	switch {
	case !ok:
	case place.next && offers("UefiBootNext") && option.Reference != "":
		want.Target, want.Next = "UefiBootNext", string(option.Reference)
		return want, true
	case place.path && offers("UefiTarget") && option.Path != "":
		want.Target, want.Path = "UefiTarget", string(option.Path)
		return want, true
	}
	return want, false
}

// portOption is the entry of the boot order for a port: over HTTP, or by PXE.
func (c *Client) portOption(ctx context.Context, place bootPlace, mac string, over bool) (optionDoc, bool) {
	var fit []optionDoc
	var captions []string
	var unread gaps
	options, _ := resources[optionDoc](ctx, c, place.options, &unread)
	unread.log(ctx, c)
	for _, o := range options {
		if o == nil {
			continue
		}
		text := string(o.Name) + " " + string(o.Path)
		if mentions(text, mac) && over == (strings.Contains(text, "HTTP") || strings.Contains(text, "/Uri(")) {
			fit, captions = append(fit, *o), append(captions, text)
		}
	}
	if i := preferIPv4(captions); i >= 0 {
		return fit[i], true
	}
	return optionDoc{}, false
}

// preferIPv4 picks one of several options of a port, -1 where there is none.
func preferIPv4(options []string) int {
	if i := slices.IndexFunc(options, func(s string) bool { return strings.Contains(s, "IPv4") }); i >= 0 {
		return i
	}
	return min(len(options), 1) - 1
}

// portFunction finds the Id of the network function that has the address, by which
// a vendor's BIOS names its ports.
func (c *Client) portFunction(ctx context.Context, mac string) string {
	mac = CleanMAC(mac)
	var unread gaps
	defer unread.log(ctx, c)
	for _, ch := range c.chassis(ctx, &unread) {
		if ch == nil {
			continue
		}
		adapters, _ := resources[adapterDoc](ctx, c, ch.Adapters, &unread)
		for _, a := range adapters {
			if a == nil {
				continue
			}
			functions, uris := resources[portDoc](ctx, c, a.Functions, &unread)
			for i, f := range functions {
				if f != nil && slices.Contains(f.macs(), mac) {
					return uris[i].id()
				}
			}
		}
	}
	return ""
}
