package provision

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/redfish"
)

// ParseLeases reads the lease file of a DHCP server, of dnsmasq, ISC dhcpd or Kea
// (memfile, CSV), as its content shows which; leases that ended before now are left
// out, and of several of an address the last counts. file names b in messages. Every
// mistake is told at once: the error is profiles.Problems.
func ParseLeases(file string, b []byte, now time.Time) ([]Sighting, error) {
	l := leaseReader{file: file, now: now, at: map[netip.Addr]int{}}
	switch lines := bytes.Split(b, []byte("\n")); {
	case isKea(lines):
		l.kea(lines)
	case isISC(lines):
		l.isc(lines)
	default:
		l.dnsmasq(lines)
	}
	if len(l.problems) > 0 {
		return nil, l.problems
	}
	var live []Sighting
	for _, s := range l.leases {
		if s.At.IsValid() {
			live = append(live, s)
		}
	}
	return live, nil
}

// leaseReader gathers leases and mistakes.
type leaseReader struct {
	file     string
	now      time.Time
	leases   []Sighting
	at       map[netip.Addr]int // where in leases
	problems profiles.Problems
}

func (l *leaseReader) problem(line int, format string, args ...any) {
	l.problems = append(l.problems, profiles.Problem{Pos: profiles.Position{File: l.file, Line: line, Column: 1}, Text: fmt.Sprintf(format, args...)})
}

// lease is one entry as its file has it.
type lease struct {
	addr, mac, host string
	ends            time.Time // zero: never
	gone            bool      // released, expired, declined
}

// take keeps an entry in place of an earlier one of its address.
func (l *leaseReader) take(line int, e lease) {
	addr, err := netip.ParseAddr(e.addr)
	if err != nil {
		l.problem(line, "%.60q is no IP address", e.addr)
		return
	}
	addr = addr.Unmap()
	s := Sighting{At: netip.AddrPortFrom(addr, httpsPort), MAC: redfish.CleanMAC(e.mac), Host: e.host, Source: fmt.Sprintf("lease %s:%d", l.file, line)}
	if e.gone || !e.ends.IsZero() && e.ends.Before(l.now) {
		s = Sighting{}
	}
	if i, known := l.at[addr]; known {
		l.leases[i] = s
		return
	}
	l.at[addr] = len(l.leases)
	l.leases = append(l.leases, s)
}

// shortest is the least number that dnsmasq's first column can have as a moment: one
// built for machines without a clock (HAVE_BROKEN_RTC) writes a length of time there.
const shortest = 1e9

// dnsmasq reads lines of "ends MAC address name client-id", and of "ends IAID address
// name DUID" behind a line with the server's DUID.
func (l *leaseReader) dnsmasq(lines [][]byte) {
	for i, text := range lines {
		f := strings.Fields(string(text))
		if len(f) == 0 || strings.HasPrefix(f[0], "#") || len(f) == 2 && f[0] == "duid" {
			continue
		}
		ends, err := strconv.ParseInt(f[0], 10, 64)
		if len(f) != 5 || err != nil {
			l.problem(i+1, "no lease: want dnsmasq's \"ends MAC address name client-id\", ISC dhcpd's lease blocks or Kea's CSV")
			continue
		}
		e := lease{addr: f[2], mac: f[1], host: starless(f[3])}
		if strings.Contains(e.addr, ":") {
			e.mac = duidMAC(f[4])
		}
		if ends >= shortest {
			e.ends = time.Unix(ends, 0)
		}
		l.take(i+1, e)
	}
}

// starless gives a name, which dnsmasq writes as a star where it has none.
func starless(name string) string { return strings.TrimPrefix(name, "*") }

// duidMAC finds the Ethernet address in a DHCPv6 identifier: kinds 1 (with a time)
// and 3 (alone) hold one (RFC 8415, 11.2 and 11.4), where a machine did not make up
// anything else.
func duidMAC(duid string) string {
	b, err := hex.DecodeString(strings.ReplaceAll(duid, ":", ""))
	if err != nil || len(b) < 4 || b[0] != 0 || b[2] != 0 || b[3] != 1 {
		return ""
	}
	switch {
	case b[1] == 1 && len(b) == 14:
		return redfish.CleanMAC(hex.EncodeToString(b[8:]))
	case b[1] == 3 && len(b) == 10:
		return redfish.CleanMAC(hex.EncodeToString(b[4:]))
	}
	return ""
}
