package redfish

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Card is what one model of machine with one firmware can do for us, as its BMC tells
// it.
type Card struct {
	Vendor      string       `json:"vendor"` // as Client.Vendor
	Model       string       `json:"model"`
	BMCFirmware string       `json:"bmc_firmware"`
	BIOSVersion string       `json:"bios_version"`
	Lines       []Capability `json:"capabilities"`
}

// Capability is one line of a card.
type Capability struct {
	Topic  string   `json:"topic"` // boot, power, media, bios, jobs, update, console, protocols, licence, clock, events, readings, logs, accounts, queries
	Name   string   `json:"name"`
	Value  []string `json:"value"`         // in the BMC's words, or yes and no; null: not known
	Why    string   `json:"why,omitempty"` // it is not known
	Source string   `json:"source"`        // URI of the resource that says it, or that was asked
}

// Known reports whether the BMC tells it. Not known is neither yes nor no.
func (p Capability) Known() bool { return p.Value != nil }

// Capabilities reads the card. It changes nothing; what cannot be read, and what the
// BMC leaves out, stands there as not known.
func (c *Client) Capabilities(ctx context.Context) (Card, error) {
	host, err := c.host(ctx)
	if err != nil {
		return Card{}, err
	}
	var unread gaps
	k := &card{c: c, host: host, managerURIs: host.Links.value.ManagedBy}
	k.managers = each[managerDoc](ctx, c, k.managerURIs, &unread)
	unread.log(ctx, c)
	out := Card{Vendor: c.vendor, Model: host.Model.clean(), BIOSVersion: host.BIOS.clean()}
	for _, m := range k.managers {
		if m != nil {
			out.BMCFirmware = firstOf(out.BMCFirmware, m.Firmware.clean())
		}
	}
	for _, topic := range []func(context.Context){
		k.boot, k.power, k.media, k.bios, k.jobs, k.update, k.console, k.protocols, k.licence, k.clock, k.events, k.readings, k.logs, k.accounts,
	} {
		if topic(ctx); k.lost != nil { // it would be asked, and waited for, for each line
			return Card{}, k.lost
		}
	}
	out.Lines = k.lines
	return out, ctx.Err()
}

// card gathers the lines.
type card struct {
	c           *Client
	host        systemDoc
	managers    []*managerDoc // nil where not read
	managerURIs links
	lines       []Capability
	lost        error // the BMC answers no more
}

const notReported = "not reported"

// say adds what the BMC tells; none of it is told is not known.
func (k *card) say(topic, name string, source link, values ...string) {
	var told []string
	for _, v := range values {
		if v = strings.TrimSpace(v); v != "" && !slices.Contains(told, v) {
			told = append(told, v)
		}
	}
	line := Capability{Topic: topic, Name: name, Value: told, Source: string(source)}
	if told == nil {
		line.Why = notReported
	}
	k.lines = append(k.lines, line)
}

// failed adds what could not be read.
func (k *card) failed(topic, name string, source link, err error) {
	if isLost(err) {
		k.lost = err
	}
	k.unknown(topic, name, source, strings.TrimPrefix(err.Error(), fmt.Sprintf("BMC %s: ", k.c.cfg.Addr)))
}

// unknown adds what is not known, and why.
func (k *card) unknown(topic, name string, source link, why string) {
	k.lines = append(k.lines, Capability{Topic: topic, Name: name, Why: why, Source: string(source)})
}

// yesNo adds what the BMC says is so or not.
func (k *card) yesNo(topic, name string, source link, f flag) {
	k.say(topic, name, source, f.words())
}

// amount adds a number with its unit.
func (k *card) amount(topic, name string, source link, n number, unit string) {
	value := ""
	if v := n.whole(); v != nil {
		value = strings.TrimSpace(strconv.FormatInt(*v, 10) + " " + unit)
	}
	k.say(topic, name, source, value)
}

// read reads a resource for a topic; where it cannot, that stands on the card.
func (k *card) read(ctx context.Context, topic, name string, uri link, into any) bool {
	if uri == "" {
		k.say(topic, name, serviceRoot)
		return false
	}
	if _, err := k.c.get(ctx, uri, into); err != nil {
		k.failed(topic, name, uri, err)
		return false
	}
	return true
}

// words are yes and no, "" where not said.
func (f flag) words() string {
	switch {
	case !f.ok:
		return ""
	case f.value:
		return "yes"
	}
	return "no"
}

// fact is a flag for what is seen to be there, or not.
func fact(is bool) flag { return flag{value: is, ok: true} }
