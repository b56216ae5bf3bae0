package redfish

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Network is how a BMC's own port is set up.
type Network struct {
	URI      string   `json:"uri"`
	MAC      string   `json:"mac"`
	DHCP     *bool    `json:"dhcp"` // nil: not said
	Address  string   `json:"address"`
	Mask     string   `json:"mask"`
	Gateway  string   `json:"gateway"`
	VLAN     *int     `json:"vlan"` // 0: none; nil: not said
	DNS      []string `json:"dns"`  // those set on it; where there are none, those in use
	HostName string   `json:"host_name"`
	NTP      []string `json:"ntp"`    // in use; empty: off, or not said
	Socket   string   `json:"socket"` // "Dedicated", or how it is shared, in the vendor's words; "": not said
}

// NetworkWish is what a BMC's port is to be. What is left out stays as it is.
type NetworkWish struct {
	DHCP     *bool        `json:"dhcp,omitempty"`
	Address  netip.Prefix `json:"address,omitzero"` // address with its prefix: 10.0.12.7/24
	Gateway  netip.Addr   `json:"gateway,omitzero"`
	VLAN     *int         `json:"vlan,omitempty"` // 0 = none
	DNS      []netip.Addr `json:"dns,omitempty"`
	HostName string       `json:"host_name,omitempty"`
	NTP      []string     `json:"ntp,omitempty"`
	Clock    bool         `json:"clock,omitempty"` // set it to ours where no NTP does
	// Dedicated is the socket that the BMC shares with no port of the host; false leaves
	// it as it is.
	Dedicated bool `json:"dedicated,omitempty"`
}

// NetworkChange is one thing that differs.
type NetworkChange struct {
	What string `json:"what"`
	Now  string `json:"now"`
	Want string `json:"want"`
}

type portNetDoc struct {
	ETag text  `json:"@odata.etag"`
	MAC  text  `json:"MACAddress"`
	Host *text `json:"HostName"`
	DHCP maybe[struct {
		Enabled flag `json:"DHCPEnabled"`
	}] `json:"DHCPv4"`
	Now    list[addressDoc]  `json:"IPv4Addresses"`
	Static *list[addressDoc] `json:"IPv4StaticAddresses"` // nil where addresses are set in the list above
	VLAN   maybe[struct {
		On flag   `json:"VLANEnable"`
		ID number `json:"VLANId"`
	}] `json:"VLAN"`
	DNS       words  `json:"NameServers"`
	StaticDNS *words `json:"StaticNameServers"`
}

type addressDoc struct {
	Address text `json:"Address"`
	Mask    text `json:"SubnetMask"`
	Gateway text `json:"Gateway"`
	Origin  text `json:"AddressOrigin"`
}

type protocolsDoc struct {
	ETag text `json:"@odata.etag"`
	NTP  maybe[struct {
		On      flag  `json:"ProtocolEnabled"`
		Servers words `json:"NTPServers"`
	}] `json:"NTP"`
}

// netPlace is one look at the BMC's own port.
type netPlace struct {
	manager, port, protocols link
	doc                      portNetDoc
	ntp                      protocolsDoc
	socket                   socketMode
	network                  Network
}

// Network reads how the BMC's own port is set up: the one with the address that we came
// to, else the one that is up and no wire to the host.
func (c *Client) Network(ctx context.Context) (Network, error) {
	place, err := c.netPlace(ctx)
	return place.network, err
}

func (c *Client) netPlace(ctx context.Context) (netPlace, error) {
	host, err := c.host(ctx)
	if err != nil {
		return netPlace{}, err
	}
	var unread gaps
	managers := host.Links.value.ManagedBy
	for i, m := range each[managerDoc](ctx, c, managers, &unread) {
		if m == nil || m.Ethernet == "" {
			continue
		}
		port := c.ownPort(ctx, m.Ethernet, &unread)
		if port == "" {
			continue
		}
		return c.readPort(ctx, netPlace{manager: managers[i], port: port, protocols: m.Protocols})
	}
	if len(unread.list) > 0 {
		return netPlace{}, fmt.Errorf("BMC %s: its network: %s", c.cfg.Addr, unread.list[0])
	}
	return netPlace{}, fmt.Errorf("BMC %s: %w: it shows no network port of its own", c.cfg.Addr, ErrUnsupported)
}

// readPort fills in what was found. What cannot be read for the moment is an error: an
// NTP that seems to be off would have the clock set beside it.
func (c *Client) readPort(ctx context.Context, p netPlace) (netPlace, error) {
	if _, err := c.get(ctx, p.port, &p.doc); err != nil {
		return p, err
	}
	if p.protocols != "" {
		if _, err := c.get(ctx, p.protocols, &p.ntp); err != nil && !isAbsent(err) {
			return p, fmt.Errorf("whether NTP keeps its clock: %w", err)
		}
	}
	var err error
	if p.socket, err = c.behaviour.socket(ctx, c, p.port, p.manager); err != nil && !isAbsent(err) {
		return p, fmt.Errorf("which socket it uses: %w", err)
	}
	p.network = p.read()
	return p, nil
}

func (p netPlace) read() Network {
	d := p.doc
	n := Network{Socket: p.socket.now, URI: string(p.port), MAC: CleanMAC(string(d.MAC)), DHCP: d.DHCP.value.Enabled.pointer(), DNS: realAddresses(d.DNS)}
	if d.StaticDNS != nil && len(realAddresses(*d.StaticDNS)) > 0 { // the list above also shows those that DHCP gave
		n.DNS = realAddresses(*d.StaticDNS)
	}
	for _, a := range d.Now {
		if ip, err := netip.ParseAddr(string(a.Address)); err == nil && !ip.IsUnspecified() {
			n.Address, n.Mask, n.Gateway = string(a.Address), string(a.Mask), realAddress(string(a.Gateway))
			if n.DHCP == nil && a.Origin != "" { // iDRAC9 tells it there alone
				dhcp := a.Origin == "DHCP"
				n.DHCP = &dhcp
			}
			break
		}
	}
	if d.Host != nil {
		n.HostName = d.Host.clean()
	}
	if on := d.VLAN.value.On; on.ok {
		id := 0
		if v := d.VLAN.value.ID.positive(); on.value && v != nil {
			id = int(*v)
		}
		n.VLAN = &id
	}
	if p.ntp.NTP.value.On.value {
		n.NTP = trimmed(p.ntp.NTP.value.Servers)
	}
	return n
}

func trimmed(list []string) []string {
	var out []string
	for _, s := range list {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// realAddresses drops what stands for none: 0.0.0.0, ::, "(null)".
func realAddresses(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return realAddress(s) == "" })
}

func realAddress(s string) string {
	ip, err := netip.ParseAddr(strings.TrimSpace(s))
	if err != nil || ip.IsUnspecified() {
		return ""
	}
	return ip.String()
}

// Changes lists what differs from the wish, what may cut the connection last.
func (n Network) Changes(w NetworkWish) []NetworkChange {
	var out []NetworkChange
	add := func(what, now, want string) {
		if now != want {
			out = append(out, NetworkChange{What: what, Now: now, Want: want})
		}
	}
	if w.HostName != "" {
		add("host name", n.HostName, w.HostName)
	}
	if len(w.NTP) > 0 {
		add("NTP", strings.Join(n.NTP, " "), strings.Join(w.NTP, " "))
	}
	if len(w.DNS) > 0 {
		add("DNS", strings.Join(n.DNS, " "), joined(w.DNS))
	}
	if w.Dedicated {
		add("socket", firstOf(n.Socket, "not said"), dedicatedPort)
	}
	if w.DHCP != nil {
		add("DHCP", switchWord(n.DHCP), switchWord(w.DHCP))
	}
	if w.Address.IsValid() {
		add("address", n.prefix(), w.Address.String())
	}
	if w.Gateway.IsValid() {
		add("gateway", n.Gateway, w.Gateway.String())
	}
	if w.VLAN != nil {
		add("VLAN", vlanWord(n.VLAN), vlanWord(w.VLAN))
	}
	return out
}

func switchWord(b *bool) string {
	switch {
	case b == nil:
		return "not said"
	case *b:
		return "on"
	}
	return "off"
}

func vlanWord(id *int) string {
	switch {
	case id == nil:
		return "not said"
	case *id == 0:
		return "none"
	}
	return fmt.Sprint(*id)
}

// prefix is the address in the form of a wish, "10.0.12.7/24".
func (n Network) prefix() string {
	ip, err := netip.ParseAddr(n.Address)
	mask, maskErr := netip.ParseAddr(n.Mask)
	if err != nil || maskErr != nil || !mask.Is4() {
		return n.Address
	}
	bits := 0
	for _, b := range mask.As4() {
		for ; b&0x80 != 0; b <<= 1 {
			bits++
		}
	}
	return netip.PrefixFrom(ip, bits).String()
}

func joined(list []netip.Addr) string {
	var words []string
	for _, a := range list {
		words = append(words, a.String())
	}
	return strings.Join(words, " ")
}

// ClockTolerance is how far a BMC's clock may be from ours before it is set: reading it
// takes a moment, and many tell whole seconds.
const ClockTolerance = 5 * time.Second
