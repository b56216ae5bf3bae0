package redfish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// boot: what the override takes, and how a URI and a single port are booted from.
func (k *card) boot(ctx context.Context) {
	place, err := k.c.bootPlace(ctx)
	if err != nil {
		k.failed("boot", "override", k.c.system, err)
		return
	}
	k.yesNo("boot", "override", place.uri, fact(place.boot.Supported))
	k.say("boot", "targets", place.uri, place.boot.Allowed...)
	k.bootURI(ctx, place)
	var ways []string
	if len(place.paths) > 0 {
		ways = append(ways, fmt.Sprintf("UefiTarget (%d listed)", len(place.paths)))
	}
	if place.next && place.options != "" {
		ways = append(ways, "UefiBootNext")
	}
	if ways == nil {
		if names := k.portByBIOS(ctx); len(names) > 0 {
			k.say("boot", "one device", k.host.Bios, "BIOS "+strings.Join(names, ", "))
			return
		}
	}
	k.say("boot", "one device", place.uri, ways...)
}

// mostPorts bounds the ports that are tried, each for some reads.
const mostPorts = 4

// portByBIOS are the BIOS attributes that choose a network port to boot from, found with
// the host's own ports.
func (k *card) portByBIOS(ctx context.Context) []string {
	macs := k.c.hostMACs(ctx, k.host.Ethernet, &gaps{})
	for _, mac := range macs[:min(len(macs), mostPorts)] {
		if plan, err := k.c.PlanBoot(ctx, Boot{Target: "Pxe", MAC: mac}); err == nil && len(plan.BIOS) > 0 {
			return slices.Sorted(maps.Keys(plan.BIOS))
		}
	}
	return nil
}

// bootURI finds how a URI to boot from is set, without setting one.
func (k *card) bootURI(ctx context.Context, place bootPlace) {
	const uri = "http://192.0.2.1/boot.efi" // TEST-NET: reached by nobody
	plan, err := k.c.PlanBoot(ctx, Boot{Target: "UefiHttp", HTTPBootURI: uri})
	switch {
	case errors.Is(err, ErrUnsupported):
		k.unknown("boot", "URI", place.uri, "no HttpBootUri, and no BIOS attribute is known for it")
		return
	case err != nil:
		k.failed("boot", "URI", place.uri, err)
		return
	}
	for _, ch := range plan.Changes {
		if ch.Want == uri {
			k.say("boot", "URI", k.host.Bios, "BIOS "+ch.Attribute)
			return
		}
	}
	k.say("boot", "URI", place.uri, "HttpBootUri")
}

// power: the resets, and whether one cuts the power.
func (k *card) power(ctx context.Context) {
	act := k.host.Actions.value.Reset
	source := k.c.system
	if len(act.value.Allowed) == 0 && act.value.Info != "" {
		source = act.value.Info
	}
	allowed, err := k.c.resets(ctx, k.host)
	switch {
	case err != nil:
		k.failed("power", "resets", source, err)
	case len(act.value.Allowed) == 0 && act.value.Info == "":
		k.say("power", "resets", source) // what the client would try was not told by the BMC
	default:
		k.say("power", "resets", source, allowed...)
	}
	switch reset, err := k.c.acReset(ctx, k.host); {
	case err == nil:
		k.say("power", "AC cycle", link(reset.target), reset.kind)
	case errors.Is(err, ErrUnsupported):
		k.unknown("power", "AC cycle", source, "none that is known")
	default:
		k.failed("power", "AC cycle", source, err)
	}
}

// media: each virtual drive with what it takes and how.
func (k *card) media(ctx context.Context) {
	slots, err := k.c.Media(ctx)
	if err != nil {
		source := k.c.system
		if at, err := k.c.mediaLinks(ctx, &gaps{}); err == nil && len(at) > 0 {
			source = at[0]
		}
		k.failed("media", "drives", source, err)
		return
	}
	for _, s := range slots {
		kinds := strings.Join(s.Types, ", ")
		if kinds == "" {
			kinds = "kinds " + notReported
		}
		k.say("media", s.ID, link(s.URI), kinds, "by "+map[string]string{styleAction: "InsertMedia", stylePatch: "PATCH"}[s.Style])
	}
}

// bios: the attributes, their registry, and where they are set.
func (k *card) bios(ctx context.Context) {
	place, err := k.c.biosPlace(ctx)
	if err != nil {
		k.failed("bios", "attributes", k.host.Bios, err)
		return
	}
	uri := k.host.Bios
	k.say("bios", "attributes", uri, count(len(place.bios.Attributes)))
	k.say("bios", "registry", uri, place.bios.Registry)
	if place.bios.Registry != "" {
		if reg := k.c.registryOf(ctx, place.bios.Registry, place.bios.Attributes); len(reg.entries) > 0 {
			k.say("bios", "registry entries", reg.from, count(len(reg.entries)))
		} else {
			k.unknown("bios", "registry entries", k.c.root.Regs, "its registry cannot be read; values are typed by those in force")
		}
	}
	if place.bios.ReadOnly {
		k.unknown("bios", "settings object", uri, "none is named, and none found where others have it")
		return
	}
	k.say("bios", "settings object", uri, string(place.settings))
	k.say("bios", "apply times", uri, place.bios.ApplyTimes...)
}

// count is a number of things, "" for none.
func count(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
