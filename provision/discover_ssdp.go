package provision

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/ipv4"
)

// redfishService is what Redfish services are searched by (DSP0266, "Discovery").
const redfishService = "urn:dmtf-org:service:redfish-rest:1"

// ssdpWait is how long services may take to answer: they choose a moment within MX
// seconds.
const (
	ssdpMX   = 2
	ssdpWait = (ssdpMX + 1) * time.Second
)

// ssdpGroups are where a search goes: IPv4, and IPv6 of the link.
var ssdpGroups = []netip.AddrPort{netip.MustParseAddrPort("239.255.255.250:1900"), netip.MustParseAddrPort("[ff02::c]:1900")}

// searchSSDP asks on an interface which Redfish services there are, by multicast. Only
// where the answer came from counts, and of what it says the port: it must not send us
// to another machine. The error is that of our own network.
func searchSSDP(ctx context.Context, on *net.Interface, group netip.AddrPort) ([]Sighting, error) {
	network := "udp6"
	if group.Addr().Is4() {
		network = "udp4"
	}
	conn, err := (&net.ListenConfig{}).ListenPacket(ctx, network, ":0")
	if err != nil {
		return nil, fmt.Errorf("SSDP on %s: %w", on.Name, err)
	}
	defer func() { _ = conn.Close() }()
	to := group
	switch {
	case !group.Addr().IsMulticast():
	case network == "udp4":
		if err := ipv4.NewPacketConn(conn).SetMulticastInterface(on); err != nil {
			return nil, fmt.Errorf("SSDP on %s: %w", on.Name, err)
		}
	default:
		to = netip.AddrPortFrom(group.Addr().WithZone(on.Name), group.Port())
	}
	question := ssdpQuestion(group)
	for range 2 { // datagrams get lost
		if _, err := conn.WriteTo(question, net.UDPAddrFromAddrPort(to)); err != nil {
			return nil, fmt.Errorf("SSDP on %s: %w", on.Name, err)
		}
	}
	var found []Sighting
	err = answers(ctx, conn, ssdpWait, func(from netip.Addr, b []byte) {
		if port, ok := parseSSDP(b); ok {
			found = append(found, Sighting{At: netip.AddrPortFrom(from, port), Source: "SSDP on " + on.Name})
		}
	})
	return found, err
}

func ssdpQuestion(group netip.AddrPort) []byte {
	return fmt.Appendf(nil, "M-SEARCH * HTTP/1.1\r\nHOST: %s\r\nMAN: \"ssdp:discover\"\r\nMX: %d\r\nST: %s\r\n\r\n", group, ssdpMX, redfishService)
}

// answers hands on the datagrams that come within a time.
func answers(ctx context.Context, conn net.PacketConn, wait time.Duration, take func(from netip.Addr, b []byte)) error {
	_ = conn.SetReadDeadline(time.Now().Add(wait))
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	b := make([]byte, 4096)
	for {
		n, from, err := conn.ReadFrom(b)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil { // the time is over
			return nil
		}
		if ip, ok := addrOf(from); ok {
			take(ip, b[:n])
		}
	}
}

// addrOf gives the address that a packet came from, with its zone.
func addrOf(from net.Addr) (netip.Addr, bool) {
	switch a := from.(type) {
	case *net.UDPAddr:
		return a.AddrPort().Addr().Unmap(), true
	case *net.IPAddr:
		ip, ok := netip.AddrFromSlice(a.IP)
		return ip.Unmap().WithZone(a.Zone), ok
	}
	return netip.Addr{}, false
}

// parseSSDP reads an answer to a search: the port of a Redfish service.
func parseSSDP(b []byte) (port uint16, ok bool) {
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(b)), nil)
	if err != nil {
		return 0, false
	}
	defer func() { _ = resp.Body.Close() }()
	kinds := []string{resp.Header.Get("ST"), resp.Header.Get("USN")}
	if resp.StatusCode != http.StatusOK || !slices.ContainsFunc(kinds, func(s string) bool { return strings.Contains(s, redfishService) }) {
		return 0, false
	}
	root, err := url.Parse(resp.Header.Get("AL"))
	if err != nil {
		return httpsPort, true
	}
	n, err := strconv.ParseUint(root.Port(), 10, 16)
	if err != nil || n == 0 || root.Scheme != "https" {
		return httpsPort, true
	}
	return uint16(n), true
}
