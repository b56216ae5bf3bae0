package provision

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv6"
)

// allNodes reaches everything on a link that speaks IPv6, whether or not it got an
// address from anybody.
var allNodes = netip.MustParseAddr("ff02::1")

const echoWait = 2 * time.Second

// pingAllNodes finds what has an IPv6 address of its own on the link of an interface,
// by one echo request to all. It needs the right to send one: without, the error says
// how to get it, and who is in the table of neighbours is found all the same.
func pingAllNodes(ctx context.Context, on *net.Interface) ([]Sighting, error) {
	conn, err := icmp.ListenPacket("udp6", "::") // what net.ipv4.ping_group_range allows
	datagrams := err == nil
	if err != nil {
		conn, err = icmp.ListenPacket("ip6:ipv6-icmp", "::")
	}
	if err != nil {
		return nil, fmt.Errorf("IPv6 echo on %s: %w; allow it with net.ipv4.ping_group_range, or run as root", on.Name, err)
	}
	defer func() { _ = conn.Close() }()
	echo := icmp.Message{Type: ipv6.ICMPTypeEchoRequest, Body: &icmp.Echo{ID: 0x7270, Seq: 1, Data: []byte("rackproof")}}
	b, err := echo.Marshal(nil) // the kernel fills in the checksum
	if err != nil {
		return nil, err
	}
	var to net.Addr = &net.IPAddr{IP: allNodes.AsSlice(), Zone: on.Name}
	if datagrams {
		to = &net.UDPAddr{IP: allNodes.AsSlice(), Zone: on.Name}
	}
	if _, err := conn.WriteTo(b, to); err != nil {
		return nil, fmt.Errorf("IPv6 echo on %s: %w", on.Name, err)
	}
	var found []Sighting
	err = answers(ctx, conn, echoWait, func(from netip.Addr, b []byte) {
		m, err := icmp.ParseMessage(ipv6.ICMPTypeEchoReply.Protocol(), b)
		if err == nil && m.Type == ipv6.ICMPTypeEchoReply && from.IsLinkLocalUnicast() {
			found = append(found, Sighting{At: netip.AddrPortFrom(from, httpsPort), Source: "IPv6 link-local on " + on.Name})
		}
	})
	return found, err
}

// linkLocal is the address that a machine gives itself on a link from its MAC (RFC
// 4291, appendix A), where it does not make one up: with it a BMC is reached that
// nobody gave an address.
func linkLocal(mac, zone string) (netip.Addr, bool) {
	m, err := net.ParseMAC(mac)
	if err != nil || len(m) != 6 {
		return netip.Addr{}, false
	}
	return netip.AddrFrom16([16]byte{0xfe, 0x80, 8: m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]}).WithZone(zone), true
}
