package redfish

import (
	"context"
	"strings"
)

// maker is who built a machine, or wrote the firmware of its BMC.
type maker struct {
	name  string
	words []string // that begin the texts by which they show themselves, in lower case
}

// makers in the order of a tie. Who built the system says most: many boards carry
// the same firmware, and each single text is wrong somewhere. A SYS-821GE has no
// Vendor at its root at all, a DGX H100 says "AMI" there, a GB300 of Supermicro has
// OpenBMC inside (FIELD-QUIRKS 14).
var makers = []maker{
	{"dell", []string{"dell", "poweredge", "system.embedded", "integrated dell"}},
	{"hpe", []string{"hpe", "hewlett", "proliant", "synergy"}},
	{"lenovo", []string{"lenovo", "thinksystem", "thinkedge"}},
	{"nvidia", []string{"nvidia", "dgx", "gb200 nvl", "gb nvl", "p3809", "bluefield", "https://www.mellanox"}},
	{"supermicro", []string{"supermicro", "super micro", "smci", "sys-", "ssg-", "ars-"}},
	{"gigabyte", []string{"gigabyte", "giga computing"}},
	{"asrock", []string{"asrock"}},
	{"quanta", []string{"quanta", "qct", "quantagrid"}},
	{"intel", []string{"intel"}},
	{"openbmc", []string{"openbmc"}},
	{"ami", []string{"ami", "american megatrends"}},
}

// makerOf finds whose word begins a text.
func makerOf(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	for _, m := range makers {
		for _, w := range m.words {
			rest, ok := strings.CutPrefix(text, w)
			// "ami" is not the beginning of "Amity".
			if ok && (rest == "" || len(w) > 3 || !strings.ContainsAny(rest[:1], "abcdefghijklmnopqrstuvwxyz")) {
				return m.name
			}
		}
	}
	return ""
}

// signals are what a BMC shows of its makers.
type signals struct {
	manufacturer, model, system  string   // of the host
	rootVendor, product          string   // of the service root
	rootOEM, hostOEM, managerOEM []string // whose extensions there are
	managers                     []string // manufacturer and model of the managers
}

// weigh gives the maker whose signals weigh most, "" for one nobody met.
func (s signals) weigh() string {
	const (
		built    = 6 // Manufacturer of the host
		named    = 3 // its model and the Id of its system: hard to get wrong, often left out
		claimed  = 2 // Vendor and Product of the root: often the firmware's author
		extended = 1 // Oem, and what the manager says of itself
	)
	score := map[string]int{}
	vote := func(weight int, texts ...string) {
		for _, t := range texts {
			score[makerOf(t)] += weight
		}
	}
	vote(built, s.manufacturer)
	vote(named, s.model, s.system)
	vote(claimed, s.rootVendor, s.product)
	vote(extended, s.rootOEM...)
	vote(extended, s.hostOEM...)
	vote(extended, s.managerOEM...)
	vote(extended, s.managers...)
	best := ""
	score[""] = 0
	for _, m := range makers {
		if score[m.name] > score[best] {
			best = m.name
		}
	}
	return best
}

// firmware gives who wrote the BMC's code, where that tells more than who built the
// machine.
func (s signals) firmware() string {
	for _, m := range s.managers {
		if makerOf(m) == "openbmc" {
			return "openbmc"
		}
	}
	for _, texts := range [][]string{{s.rootVendor}, s.rootOEM, s.hostOEM, s.managerOEM} {
		for _, t := range texts {
			if makerOf(t) == "ami" {
				return "ami"
			}
		}
	}
	return ""
}

// behaviour maps to what the BMC does. Where nothing is known to differ, and for a
// maker nobody met, the base serves.
func (s signals) behaviour(vendor string) behaviour {
	firmware := s.firmware()
	switch {
	case firmware == "openbmc" && (vendor == "nvidia" || makerOf(s.product) == "nvidia"):
		return tray{}
	case firmware == "openbmc":
		return openbmc{}
	}
	switch vendor {
	case "dell":
		return dell{}
	case "hpe":
		return hpe{}
	case "lenovo":
		return lenovo{}
	case "nvidia":
		return nvidia{}
	case "supermicro":
		return supermicro{}
	}
	if firmware == "ami" {
		return ami{}
	}
	return base{}
}

// detect weighs what the root, the host and its managers show.
func (c *Client) detect(ctx context.Context, host systemDoc) (vendor string, does behaviour) {
	s := signals{
		manufacturer: string(host.Manufacturer), model: string(host.Model), system: c.system.id(),
		rootVendor: string(c.root.Vendor), product: string(c.root.Product),
		rootOEM: keysThat(c.root.Oem.value, anyKey), hostOEM: keysThat(host.Oem.value, anyKey),
	}
	for _, m := range each[managerDoc](ctx, c, host.Links.value.ManagedBy, &gaps{}) {
		if m != nil {
			s.managers = append(s.managers, string(m.Manufacturer), string(m.Model))
			s.managerOEM = append(s.managerOEM, keysThat(m.Oem.value, anyKey)...)
		}
	}
	vendor = s.weigh()
	return vendor, s.behaviour(vendor)
}

func anyKey(string) bool { return true }
