package redfish

import (
	"context"
	"fmt"
	"strings"
)

// of names a line of one of several managers.
func (k *card) of(name string, manager int) string {
	if len(k.managerURIs) < 2 {
		return name
	}
	return name + " of " + k.managerURIs[manager].id()
}

// console: the serial console, the screen and the shell, by which ways.
func (k *card) console(ctx context.Context) {
	if k.host.Console.ok {
		k.say("console", "serial", k.c.system, k.host.Console.value.words()...)
	}
	for i, m := range k.managers {
		uri := k.managerURIs[i]
		if m == nil {
			k.unknown("console", k.of("serial", i), uri, "the manager cannot be read")
			continue
		}
		if m.Console.ok || !k.host.Console.ok {
			k.say("console", k.of("serial by the manager", i), uri, m.Console.value.words()...)
		}
		k.bitRates(ctx, i, m.Serials)
		k.say("console", k.of("shell", i), uri, m.Shell.value.words()...)
		k.say("console", k.of("screen", i), uri, m.Screen.value.words()...)
	}
}

// words are the ways into a console that is on, or that it is off.
func (d consoleDoc) words() []string {
	var list []string
	if d.On.ok && !d.On.value {
		return []string{"off"}
	}
	list = append(list, d.Types...)
	if ssh := d.SSH.value; ssh.On.value {
		way := "SSH"
		if port := ssh.Port.positive(); port != nil {
			way += fmt.Sprintf(" port %d", *port)
		}
		if command := ssh.Command.clean(); command != "" {
			way += ": " + command
		}
		list = append(list, way)
	}
	if d.IPMI.value.On.value {
		list = append(list, "IPMI")
	}
	if list == nil && d.On.value {
		return []string{"on, ways " + notReported}
	}
	return list
}

// bitRates: how fast the serial line is that the console shows.
func (k *card) bitRates(ctx context.Context, manager int, uri link) {
	if uri == "" {
		return
	}
	var unread gaps
	docs, uris := resources[struct {
		Enabled flag `json:"InterfaceEnabled"`
		Rate    text `json:"BitRate"`
	}](ctx, k.c, uri, &unread)
	for i, d := range docs {
		if d != nil {
			rate := string(d.Rate)
			if rate != "" {
				rate += " bit/s"
			}
			k.say("console", k.of("serial line "+uris[i].id(), manager), uris[i], map[string]string{"no": "off"}[d.Enabled.words()], rate)
		}
	}
	for _, why := range unread.list {
		k.unknown("console", k.of("serial line", manager), uri, why)
	}
}

// listed are the protocols that decide how we get in, in the order of the card.
var listed = []string{"HTTPS", "IPMI", "SSH", "SSDP", "VirtualMedia", "KVMIP", "SNMP", "Telnet"}

// protocols: which services of the managers listen, IPMI over LAN above all.
func (k *card) protocols(ctx context.Context) {
	for i, m := range k.managers {
		if m == nil {
			k.unknown("protocols", k.of("IPMI over LAN", i), k.managerURIs[i], "the manager cannot be read")
			continue
		}
		doc := map[string]maybe[struct {
			Enabled flag   `json:"ProtocolEnabled"`
			Port    number `json:"Port"`
		}]{}
		if m.Protocols == "" {
			k.say("protocols", k.of("IPMI over LAN", i), k.managerURIs[i])
			continue
		}
		if !k.read(ctx, "protocols", k.of("IPMI over LAN", i), m.Protocols, &doc) {
			continue
		}
		for _, name := range listed {
			p := doc[name]
			if !p.ok && name != "IPMI" { // a service that the BMC does not know
				continue
			}
			state := strings.NewReplacer("yes", "on", "no", "off").Replace(p.value.Enabled.words())
			if port := p.value.Port.positive(); port != nil && state == "on" {
				state += fmt.Sprintf(", port %d", *port)
			}
			k.say("protocols", k.of(strings.Replace(name, "IPMI", "IPMI over LAN", 1), i), m.Protocols, state)
		}
	}
}
