package redfish

import (
	"context"
	"strings"
	"time"
)

// jobs: where long work is followed.
func (k *card) jobs(ctx context.Context) {
	var service struct {
		Enabled flag `json:"ServiceEnabled"`
		Tasks   link `json:"Tasks"`
		Jobs    link `json:"Jobs"`
	}
	if k.read(ctx, "jobs", "task service", k.c.root.Tasks, &service) {
		k.yesNo("jobs", "task service", k.c.root.Tasks, service.Enabled)
	}
	service.Enabled = flag{}
	if k.read(ctx, "jobs", "job service", k.c.root.Jobs, &service) {
		k.yesNo("jobs", "job service", k.c.root.Jobs, service.Enabled)
	}
}

// update: how firmware gets in.
func (k *card) update(ctx context.Context) {
	uri := k.c.root.Update
	ways, err := k.c.UpdateWays(ctx)
	if err != nil {
		k.failed("update", "ways", uri, err)
		return
	}
	var list []string
	if ways.Fetches {
		list = append(list, "SimpleUpdate")
	}
	if ways.Push {
		list = append(list, "multipart push")
	}
	k.say("update", "ways", uri, list...)
	if ways.Fetches {
		k.say("update", "fetches by", uri, ways.Pull...)
		k.say("update", "apply times", uri, ways.ApplyTimes...)
	}
	if ways.Push {
		k.amount("update", "largest image", uri, number{value: float64(ways.MaxBytes), ok: ways.MaxBytes > 0}, "bytes")
	}
	k.say("update", "targets", uri, count(len(ways.Targets)))
}

// licence: what is installed; never a key.
func (k *card) licence(ctx context.Context) {
	names, source, err := k.c.behaviour.licences(ctx, k)
	switch {
	case err != nil:
		k.failed("licence", "installed", source, err)
	case source == "":
		k.say("licence", "installed", serviceRoot)
	case len(names) == 0:
		k.say("licence", "installed", source, "none")
	default:
		k.say("licence", "installed", source, names...)
	}
}

// clock: what time the BMC has, and who sets it.
func (k *card) clock(ctx context.Context) {
	source := k.c.system
	if len(k.managerURIs) > 0 {
		source = k.managerURIs[0]
	}
	at, skew, err := k.c.Clock(ctx)
	if err != nil {
		k.failed("clock", "time", source, err)
	} else {
		k.say("clock", "time", source, at.UTC().Format(time.RFC3339))
		k.say("clock", "ahead of ours", source, skew.Round(time.Second).String())
	}
	for i, m := range k.managers {
		var doc protocolsDoc
		if m == nil || m.Protocols == "" || !k.read(ctx, "clock", "NTP", m.Protocols, &doc) {
			continue
		}
		ntp := doc.NTP.value
		name := k.of("NTP", i)
		k.yesNo("clock", name, m.Protocols, ntp.On)
		if ntp.On.value {
			k.say("clock", name+" servers", m.Protocols, ntp.Servers...)
		}
	}
}

// events: whether they are pushed to us, or must be asked for.
func (k *card) events(ctx context.Context) {
	var doc struct {
		Enabled flag  `json:"ServiceEnabled"`
		Stream  text  `json:"ServerSentEventUri"`
		Formats words `json:"EventFormatTypes"`
		Types   words `json:"EventTypesForSubscription"`
		Subs    link  `json:"Subscriptions"`
	}
	uri := k.c.root.Events
	if !k.read(ctx, "events", "service", uri, &doc) {
		return
	}
	k.yesNo("events", "service", uri, doc.Enabled)
	k.say("events", "server-sent events", uri, string(doc.Stream))
	k.say("events", "subscriptions", uri, string(doc.Subs))
	k.say("events", "formats", uri, append(doc.Formats, doc.Types...)...)
}

// accounts: what bounds passwords and logins.
func (k *card) accounts(ctx context.Context) {
	var doc struct {
		Min     number `json:"MinPasswordLength"`
		Max     number `json:"MaxPasswordLength"`
		Lockout number `json:"AccountLockoutThreshold"`
		Hold    number `json:"AccountLockoutDuration"`
	}
	uri := k.c.root.Accounts
	if k.read(ctx, "accounts", "password length", uri, &doc) {
		k.amount("accounts", "shortest password", uri, doc.Min, "characters")
		k.amount("accounts", "longest password", uri, doc.Max, "characters")
		if doc.Lockout.ok && doc.Lockout.value == 0 {
			k.say("accounts", "locks after", uri, "never")
		} else {
			k.amount("accounts", "locks after", uri, doc.Lockout, "refused logins")
			k.amount("accounts", "locked for", uri, doc.Hold, "s")
		}
	}
	var sessions struct {
		Timeout number `json:"SessionTimeout"`
	}
	if k.read(ctx, "accounts", "session timeout", k.c.root.Service, &sessions) {
		k.amount("accounts", "session timeout", k.c.root.Service, sessions.Timeout, "s")
	}
	offers := k.c.root.Offers.value.Expand
	k.say("queries", "$expand", serviceRoot, strings.Join(expandWords(offers.ok, offers.value.NoLinks, offers.value.All), ", "))
}

func expandWords(ok bool, noLinks, all flag) []string {
	switch {
	case !ok:
		return nil
	case !noLinks.value && !all.value:
		return []string{"no"}
	}
	var list []string
	if noLinks.value {
		list = append(list, "members")
	}
	if all.value {
		list = append(list, "all")
	}
	return list
}
