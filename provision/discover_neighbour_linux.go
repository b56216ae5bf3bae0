package provision

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rackproof/rackproof/redfish"
)

// neighbours reads the kernel's table of neighbours, IPv4 and IPv6: who answered on
// the wire, and with which MAC. Only those on the named interfaces are given, on all
// where none is named. It sends nothing on the wire.
func neighbours(interfaces []string) ([]Sighting, error) {
	table, err := syscall.NetlinkRIB(syscall.RTM_GETNEIGH, syscall.AF_UNSPEC)
	if err != nil {
		return nil, fmt.Errorf("neighbour table: %w", err)
	}
	names := map[int]string{}
	list, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("neighbour table: %w", err)
	}
	for _, i := range list {
		if len(interfaces) == 0 || slices.Contains(interfaces, i.Name) {
			names[i.Index] = i.Name
		}
	}
	return parseNeighbours(table, names)
}

// neighbourHead is the length of a message's fixed part, struct ndmsg.
const neighbourHead = 12

// parseNeighbours reads netlink messages; names are those of the interfaces wanted, by
// index.
func parseNeighbours(table []byte, names map[int]string) ([]Sighting, error) {
	messages, err := syscall.ParseNetlinkMessage(table)
	if err != nil {
		return nil, fmt.Errorf("neighbour table: %w", err)
	}
	var found []Sighting
	for _, m := range messages {
		if m.Header.Type != syscall.RTM_NEWNEIGH || len(m.Data) < neighbourHead {
			continue
		}
		name, wanted := names[int(int32(binary.NativeEndian.Uint32(m.Data[4:])))]
		state := binary.NativeEndian.Uint16(m.Data[8:])
		// A machine that did not answer is listed too.
		if !wanted || state&(unix.NUD_INCOMPLETE|unix.NUD_FAILED|unix.NUD_NOARP) != 0 {
			continue
		}
		addr, mac := neighbourOf(m.Data[neighbourHead:])
		if !addr.IsValid() || addr.IsMulticast() || mac == "" {
			continue
		}
		if addr.IsLinkLocalUnicast() && addr.Is6() {
			addr = addr.WithZone(name)
		}
		found = append(found, Sighting{At: netip.AddrPortFrom(addr, httpsPort), MAC: mac, Source: "neighbour on " + name})
	}
	return found, nil
}

// neighbourOf finds address and MAC among the attributes of an entry.
func neighbourOf(b []byte) (addr netip.Addr, mac string) {
	for len(b) >= syscall.SizeofRtAttr {
		length, kind := int(binary.NativeEndian.Uint16(b)), binary.NativeEndian.Uint16(b[2:])
		if length < syscall.SizeofRtAttr || length > len(b) {
			return addr, mac
		}
		value := b[syscall.SizeofRtAttr:length]
		switch kind {
		case unix.NDA_DST:
			addr, _ = netip.AddrFromSlice(value)
			addr = addr.Unmap()
		case unix.NDA_LLADDR:
			mac = redfish.CleanMAC(net.HardwareAddr(value).String())
		}
		b = b[min(len(b), (length+3)&^3):]
	}
	return addr, mac
}
