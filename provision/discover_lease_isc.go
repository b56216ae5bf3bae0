package provision

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// isISC recognises the lease file of ISC dhcpd, which begins with comments and
// settings of the server.
func isISC(lines [][]byte) bool {
	for _, text := range lines {
		text = bytes.TrimSpace(text)
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		for _, word := range []string{"lease ", "ia-na ", "ia-ta ", "ia-pd ", "server-duid ", "authoring-byte-order ", "default-duid ", "failover peer "} {
			if bytes.HasPrefix(text, []byte(word)) {
				return true
			}
		}
		return false
	}
	return false
}

// isc reads "lease ADDRESS { … }" blocks, with a statement a line as dhcpd writes
// them. What stands in blocks inside or elsewhere does not count.
func (l *leaseReader) isc(lines [][]byte) {
	var e lease
	began, depth := 0, 0
	for i, raw := range lines {
		text := strings.TrimSpace(string(raw))
		switch {
		case text == "" || text[0] == '#':
		case text == "}":
			depth--
			if depth == 0 && e.addr != "" {
				l.take(began, e)
				e = lease{}
			}
			if depth < 0 {
				l.problem(i+1, "a block ends that did not begin")
				return
			}
		case strings.HasSuffix(text, "{"):
			if depth == 0 {
				began, e = i+1, lease{addr: l.iscAddress(i+1, text)}
			}
			depth++
		case depth == 1 && e.addr != "":
			l.iscStatement(i+1, &e, strings.Fields(strings.TrimSuffix(text, ";")))
		}
	}
	if depth > 0 {
		l.problem(began, "this block does not end: the file is cut off, copy it again")
	}
}

// iscAddress gives the address of a block of a lease, "" for another block.
func (l *leaseReader) iscAddress(line int, head string) string {
	f := strings.Fields(head)
	switch {
	case f[0] == "lease" && len(f) == 3:
		return f[1]
	case strings.HasPrefix(f[0], "ia-"):
		l.problem(line, "DHCPv6 leases of ISC dhcpd are not read: give the interface with --interface, or the addresses")
	}
	return ""
}

func (l *leaseReader) iscStatement(line int, e *lease, f []string) {
	switch {
	case len(f) < 2:
	case f[0] == "ends":
		ends, ok := iscTime(f[1:])
		if !ok {
			l.problem(line, "ends %.60q: want a weekday, a date and a time, \"never\" or \"epoch SECONDS\"", strings.Join(f[1:], " "))
		}
		e.ends = ends
	case f[0] == "binding" && f[1] == "state" && len(f) == 3:
		e.gone = f[2] != "active"
	case f[0] == "hardware" && f[1] == "ethernet" && len(f) == 3:
		e.mac = f[2]
	case f[0] == "client-hostname":
		e.host = strings.Trim(strings.Join(f[1:], " "), `"`)
	}
}

// iscTime reads "4 2026/11/26 22:00:00" (UTC), "never" and "epoch 1795708800" with a
// comment behind it (dhcpd.leases(5)).
func iscTime(f []string) (time.Time, bool) {
	switch {
	case f[0] == "never":
		return time.Time{}, true
	case f[0] == "epoch" && len(f) > 1:
		seconds, err := strconv.ParseInt(strings.TrimSuffix(f[1], ";"), 10, 64)
		return time.Unix(seconds, 0), err == nil
	case len(f) >= 3:
		at, err := time.Parse("2006/01/02 15:04:05", f[1]+" "+f[2])
		return at, err == nil
	}
	return time.Time{}, false
}
