package provision

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/rackproof/rackproof/redfish"
)

// httpsPort is where BMCs answer.
const httpsPort = 443

// mostAddresses bounds a stated network: a /18. More is not looked through politely,
// and an IPv6 network not at all.
const mostAddresses = 1 << 14

// ParseTargets reads addresses, with or without a port, and networks: 10.0.12.7,
// 10.0.12.7:8443, fe80::1%eth1, 10.0.12.0/24. Of a network, every address that a
// machine can have is one.
func ParseTargets(words []string) ([]Sighting, error) {
	var all []Sighting
	for _, word := range words {
		if net, err := netip.ParsePrefix(word); err == nil {
			list, err := addressesOf(net)
			if err != nil {
				return nil, err
			}
			all = append(all, list...)
			continue
		}
		at, err := parseAddrPort(word)
		if err != nil {
			return nil, err
		}
		all = append(all, Sighting{At: at, Source: "stated"})
	}
	return all, nil
}

func parseAddrPort(word string) (netip.AddrPort, error) {
	if addr, err := netip.ParseAddr(strings.Trim(word, "[]")); err == nil {
		return netip.AddrPortFrom(addr.Unmap(), httpsPort), nil
	}
	at, err := netip.ParseAddrPort(word)
	if err != nil || at.Port() == 0 {
		return netip.AddrPort{}, fmt.Errorf("%.60q is neither an IP address nor a network such as 10.0.12.0/24", word)
	}
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port()), nil
}

func addressesOf(net netip.Prefix) ([]Sighting, error) {
	net = net.Masked()
	bits := net.Addr().BitLen() - net.Bits()
	if bits > 20 || 1<<bits > mostAddresses {
		return nil, fmt.Errorf("network %s has more than %d addresses: name the part where the BMCs are, or find them with --leases or --interface", net, mostAddresses)
	}
	source := "network " + net.String()
	var list []Sighting
	for addr := net.Addr(); net.Contains(addr); addr = addr.Next() {
		list = append(list, Sighting{At: netip.AddrPortFrom(addr, httpsPort), Source: source})
	}
	if net.Addr().Is4() && bits > 1 { // the first is the network's own, the last is everybody's
		list = list[1 : len(list)-1]
	}
	return list, nil
}

// ParseOUI reads the beginning of a MAC by which its maker is known, however it is
// written, as aa:bb:cc.
func ParseOUI(word string) (string, error) {
	digits := strings.NewReplacer(":", "", "-", "", ".", "").Replace(word)
	mac := redfish.CleanMAC(digits + "000001")
	if len(digits) != 6 || mac == "" {
		return "", fmt.Errorf("%.40q is no OUI: write the first half of a MAC, such as 7c:c2:55", word)
	}
	return mac[:len("aa:bb:cc")], nil
}

// bmcWords is an address as a batch has it: without the port that is everybody's.
func bmcWords(at netip.AddrPort) string {
	if at.Port() == httpsPort {
		return at.Addr().String()
	}
	if at.Addr().Is4() {
		return at.String()
	}
	return "[" + at.Addr().String() + "]:" + strconv.Itoa(int(at.Port()))
}
