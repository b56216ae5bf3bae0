package provision

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/rackproof/rackproof/redfish"
)

// bmcNetwork reads what a BMC's own port is to be. A machine's keys lie over those of
// the defaults.
func (l *loader) bmcNetwork(to **redfish.NetworkWish) func(ast.Node) {
	return func(n ast.Node) {
		w := redfish.NetworkWish{}
		if *to != nil {
			w = **to
		}
		l.fields(n, "bmc_network", field{
			"address": l.prefix(&w.Address), "gateway": l.address(&w.Gateway), "dns": l.addresses(&w.DNS),
			"host_name": l.host(&w.HostName), "ntp": l.hosts(&w.NTP), "clock": l.yes(&w.Clock), "dedicated": l.yes(&w.Dedicated),
			"dhcp": func(n ast.Node) { w.DHCP = new(bool); l.yes(w.DHCP)(n) },
			"vlan": func(n ast.Node) { w.VLAN = new(int); l.integer(w.VLAN, 0)(n) },
		})
		*to = &w
	}
}

// checkNetwork looks at the whole of it, since a machine's address goes with the gateway
// of the defaults. A static address switches DHCP off.
func (l *loader) checkNetwork(m *Machine, row rowInfo) {
	if m.Network == nil {
		return
	}
	w, pos := *m.Network, row.at("bmc_network")
	switch {
	case m.Login.Protocol.IPMI():
		l.add(pos, "%s: bmc_network is set over Redfish alone: use bmc.protocol redfish, or leave it out", m.Name)
	case w.DHCP != nil && *w.DHCP && w.Address.IsValid():
		l.add(pos, "%s: bmc_network: an address or dhcp: true, not both", m.Name)
	case w.VLAN != nil && *w.VLAN > 4094:
		l.add(pos, "%s: bmc_network: vlan %d: 1 to 4094, or 0 for none", m.Name, *w.VLAN)
	case w.Address.IsValid() && w.Address.Masked().Addr() == w.Address.Addr():
		l.add(pos, "%s: bmc_network: %s is the network, not an address in it", m.Name, w.Address)
	case w.Address.IsValid() && w.Gateway.IsValid() && !w.Address.Contains(w.Gateway):
		l.add(pos, "%s: bmc_network: gateway %s is not in the network of %s", m.Name, w.Gateway, w.Address)
	}
	if w.Address.IsValid() && w.DHCP == nil {
		w.DHCP = new(bool)
	}
	m.Network = &w
}

// freeAddresses reports a BMC that is to have the address of another one.
func (l *loader) freeAddresses() {
	key := func(m Machine, addr string) string {
		return strings.ToLower(redfish.Config{Addr: hostPort(addr, 443), Via: m.Via}.Key())
	}
	taken := map[string]string{}
	for _, m := range l.batch.Machines {
		taken[key(m, m.BMC)] = m.Name
	}
	for i, m := range l.batch.Machines {
		if m.movedAddr() == m.BMC {
			continue
		}
		to := key(m, m.movedAddr())
		if other, ok := taken[to]; ok && other != m.Name {
			l.add(l.rows[i].at("bmc_network"), "%s: bmc_network: %s is the address of %s", m.Name, m.movedAddr(), other)
		}
		taken[to] = m.Name
	}
}

func (r *reader) prefix(to *netip.Prefix) func(ast.Node) {
	return func(n ast.Node) {
		var text string
		r.str(&text)(n)
		p, err := parsePrefix(text)
		if err != nil {
			r.problem(n, "%v", err)
			return
		}
		*to = p
	}
}

func parsePrefix(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil || !p.Addr().Is4() || p.Bits() < 8 || p.Bits() > 30 {
		return p, fmt.Errorf("%q: want an IPv4 address with its prefix length, such as 10.0.12.7/24", text)
	}
	return p, nil
}

// setNetworkColumn takes what a machine list says of a BMC's network, over the defaults.
func setNetworkColumn(m *Machine, column, cell string) (err error) {
	w := redfish.NetworkWish{}
	if m.Network != nil {
		w = *m.Network
	}
	if column == columnBMCName {
		w.HostName, err = cell, checkAddress(cell)
	} else {
		w.Address, err = parsePrefix(cell)
	}
	m.Network = &w
	return err
}

// Columns of a machine list for what differs between the BMCs of a batch.
const (
	columnBMCAddress = "bmc_network.address"
	columnBMCName    = "bmc_network.host_name"
)

func (r *reader) address(to *netip.Addr) func(ast.Node) {
	return func(n ast.Node) {
		var text string
		r.str(&text)(n)
		a, err := netip.ParseAddr(text)
		if err != nil {
			r.problem(n, "%s is no IP address", quoteNode(n))
			return
		}
		*to = a
	}
}

func (r *reader) host(to *string) func(ast.Node) {
	return func(n ast.Node) {
		r.str(to)(n)
		if err := checkAddress(*to); err != nil {
			r.problem(n, "%s: %v", quoteNode(n), err)
		}
	}
}

func (r *reader) addresses(to *[]netip.Addr) func(ast.Node) {
	return func(n ast.Node) {
		*to = nil
		for _, item := range items(n) {
			var a netip.Addr
			r.address(&a)(item)
			*to = append(*to, a)
		}
	}
}

func (r *reader) hosts(to *[]string) func(ast.Node) {
	return func(n ast.Node) {
		*to = nil
		for _, item := range items(n) {
			var text string
			r.host(&text)(item)
			*to = append(*to, text)
		}
	}
}

// words reads a list of words.
func (r *reader) words(to *[]string) func(ast.Node) {
	return func(n ast.Node) {
		*to = nil
		for _, item := range items(n) {
			var text string
			r.str(&text)(item)
			*to = append(*to, text)
		}
	}
}

// items are those of a list, or the one value that stands for a list of one.
func items(n ast.Node) []ast.Node {
	if list, ok := n.(*ast.SequenceNode); ok {
		return list.Values
	}
	return []ast.Node{n}
}
