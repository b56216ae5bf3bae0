package provision

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/redfish"
)

// Discovered is one BMC, with what could be told of it before a login. What could not
// be told is "", 0 or nil.
type Discovered struct {
	Addr string   `json:"addr"`           // as a batch has it: without port 443
	Also []string `json:"also,omitempty"` // further addresses of the same BMC
	Name string   `json:"name"`           // this and the place by the user's list alone
	Rack string   `json:"rack"`
	U    int      `json:"u"`

	Vendor   string `json:"vendor"`   // who built the machine
	Model    string `json:"model"`    // of the machine
	Serial   string `json:"serial"`   // service tag or system serial, as the BMC or its factory name shows it
	MAC      string `json:"bmc_mac"`  // aa:bb:cc:dd:ee:ff
	HostName string `json:"hostname"` // of the BMC
	Software string `json:"bmc_software"`
	Firmware string `json:"bmc_firmware"`

	Redfish string `json:"redfish"` // version of the service
	Closed  bool   `json:"closed"`  // it wants a login for everything; it has Redfish all the same
	IPMI    *bool  `json:"ipmi"`    // over LAN; nil: nothing answered, which proves nothing
	SHA256  string `json:"certificate_sha256"`
	Legacy  bool   `json:"tls_legacy"` // outdated TLS alone

	Sources []string `json:"found_by"`
	Odd     []string `json:"odd"` // what does not fit together

	at netip.AddrPort
}

// HasRedfish reports whether its Redfish service answered.
func (d Discovered) HasRedfish() bool { return d.Redfish != "" || d.Closed }

// Where is the place as people say it, or "".
func (d Discovered) Where() string { return place(d.Rack, d.U) }

func (d *Discovered) odd(format string, args ...any) {
	d.Odd = append(d.Odd, fmt.Sprintf(format, args...))
}

// describe makes one BMC of what an address said and what is said of it.
func (s Search) describe(p spot, a answer) Discovered {
	g := a.greeting
	d := Discovered{
		Addr: bmcWords(p.at), at: p.at, Sources: p.sources, Odd: []string{},
		Vendor: g.Vendor, Model: g.Model, Serial: g.Serial, HostName: or(g.HostName, p.host), Software: g.Software, Firmware: g.Firmware,
		Redfish: g.Redfish, Closed: g.Closed, SHA256: g.SHA256, Legacy: g.Legacy,
	}
	switch a.ping {
	case redfish.Silent:
	case redfish.IPMIPresent:
		d.IPMI = new(true)
	case redfish.RMCPPresent, redfish.PortClosed:
		d.IPMI = new(false)
	}
	if vendor, serial := redfish.FactoryName(d.HostName); serial != "" {
		d.Vendor, d.Serial = or(d.Vendor, vendor), or(d.Serial, serial)
	}
	d.tellMAC(p, g.MAC)
	if a.err != nil {
		d.odd("IPMI answers, Redfish does not: %v", a.err)
	}
	if s.Pins != nil && g.SHA256 != "" {
		key := redfish.Config{Addr: p.at.String()}.Key()
		if pin, ok := s.Pins.Pin(key); ok && pin != g.SHA256 {
			d.odd("another certificate than the one that was pinned (%.16s…): board, certificate or machine was replaced", pin)
		}
	}
	return d
}

// tellMAC takes the MAC that the BMC tells, else the one on the wire, else that of its
// lease, and says where they differ.
func (d *Discovered) tellMAC(p spot, told string) {
	d.MAC = or(told, p.seen)
	if told != "" && p.seen != "" && told != p.seen {
		d.odd("MAC %s by itself, %s on the wire: a shared port, or something answers for it", told, p.seen)
	}
	for _, mac := range p.macs {
		d.MAC = or(d.MAC, mac)
		if mac != d.MAC && mac != p.seen {
			d.odd("MAC %s by %s, and it has %s: the address went to another machine", mac, strings.Join(p.sources, ", "), d.MAC)
		}
	}
}

// join makes one of several addresses of a BMC, names all by the user's list, and
// tells what of that list is missing.
func (s Search) join(found *Found) {
	found.BMCs = sameBMC(found.BMCs)
	fits := make([][]int, len(s.Labels)) // BMCs, by label
	for i := range found.BMCs {
		d := &found.BMCs[i]
		switch labels := s.labelsOf(*d); len(labels) {
		case 0:
		case 1:
			fits[labels[0]] = append(fits[labels[0]], i)
		default:
			a, b := s.Labels[labels[0]], s.Labels[labels[1]]
			d.odd("its MAC is that of %s, its serial that of %s", a.words(), b.words())
			for _, l := range labels { // neither is missing
				fits[l] = append(fits[l], -1)
			}
		}
	}
	found.Missing = nil
	for l, label := range s.Labels {
		switch at := fits[l]; {
		case len(at) == 0:
			found.Missing = append(found.Missing, label)
		case len(at) == 1 && at[0] >= 0:
			found.BMCs[at[0]].name(label)
		default:
			for _, i := range at {
				if i >= 0 {
					found.BMCs[i].odd("%s fits more than one BMC", label.words())
				}
			}
		}
	}
	sharedCertificates(found.BMCs)
	slices.SortStableFunc(found.BMCs, func(a, b Discovered) int {
		return cmp.Or(cmp.Compare(a.Rack, b.Rack), cmp.Compare(b.U, a.U), cmp.Compare(a.Name, b.Name), a.at.Compare(b.at))
	})
	slices.SortStableFunc(found.Odd, func(a, b Oddity) int { return cmp.Compare(a.Addr, b.Addr) })
}

func (d *Discovered) name(l Label) {
	d.Name, d.Rack, d.U = l.Name, l.Rack, l.U
	if redfish.CleanMAC(l.Serial) == "" { // else it is one of the two, nobody knows which
		d.Serial, d.MAC = or(d.Serial, l.Serial), or(d.MAC, l.MAC)
	}
}

// words name a line of the list for a message.
func (l Label) words() string {
	return fmt.Sprintf("%s (%s:%d)", or(or(l.Name, l.MAC), l.Serial), l.Pos.File, l.Pos.Line)
}

// labelsOf are the lines that speak of a BMC, that with its MAC first: none, one, or
// two that contradict each other.
func (s Search) labelsOf(d Discovered) []int {
	var at []int
	for _, fits := range []func(Label) bool{
		func(l Label) bool { return l.MAC != "" && l.MAC == d.MAC },
		func(l Label) bool { return l.Serial != "" && strings.EqualFold(l.Serial, d.Serial) },
	} {
		if i := slices.IndexFunc(s.Labels, fits); i >= 0 && !slices.Contains(at, i) {
			at = append(at, i)
		}
	}
	return at
}

// sameBMC makes one of those with the same MAC and the same certificate. IPv4 stands
// before IPv6, and that before what is valid on one link alone.
func sameBMC(list []Discovered) []Discovered {
	rank := func(d Discovered) int {
		switch {
		case d.at.Addr().Is4():
			return 0
		case d.at.Addr().IsLinkLocalUnicast():
			return 2
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b Discovered) int { return cmp.Or(rank(a)-rank(b), a.at.Compare(b.at)) })
	var out []Discovered
	for _, d := range list {
		i := slices.IndexFunc(out, func(o Discovered) bool {
			return d.MAC != "" && o.MAC == d.MAC && d.SHA256 == o.SHA256 && (d.SHA256 != "" || d.at.Addr().Is4() != o.at.Addr().Is4())
		})
		if i < 0 {
			out = append(out, d)
			continue
		}
		out[i].merge(d)
	}
	return out
}

// merge takes over what another address of the same BMC told.
func (d *Discovered) merge(o Discovered) {
	d.Also = append(d.Also, o.Addr)
	d.HostName, d.Serial = or(d.HostName, o.HostName), or(d.Serial, o.Serial)
	if d.IPMI == nil || o.IPMI != nil && *o.IPMI {
		d.IPMI = o.IPMI
	}
	d.Sources, d.Odd = with(d.Sources, o.Sources), with(d.Odd, o.Odd)
}

// with is a list and what of another it lacks.
func with(list, more []string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// sharedCertificates notes what proves nothing: one that a maker put into many BMCs.
func sharedCertificates(list []Discovered) {
	first := map[string]int{}
	for i := range list {
		d := &list[i]
		j, known := first[d.SHA256]
		if d.SHA256 == "" || !known {
			first[d.SHA256] = i
			continue
		}
		d.odd("the certificate of %s: a pin does not tell the two apart, have them make their own", list[j].Addr)
	}
}
