package provision

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"
)

// isKea recognises the CSV of Kea's memfile by its first column.
func isKea(lines [][]byte) bool { return bytes.HasPrefix(lines[0], []byte("address,")) }

// keaForever is a valid_lifetime without an end.
const keaForever = 1<<32 - 1

// kea reads the lease files of DHCPv4 and DHCPv6 by the names of their columns. Kea
// adds a line at each change: state 0 is a lease, with a lifetime of zero it was
// given back. A comma inside a field is written "&#x2c".
func (l *leaseReader) kea(lines [][]byte) {
	head := strings.Split(strings.TrimSpace(string(lines[0])), ",")
	for _, name := range []string{"valid_lifetime", "expire", "hostname", "state"} {
		if !slices.Contains(head, name) {
			l.problem(1, "Kea's leases have a column %s, here is none", name)
		}
	}
	if len(l.problems) > 0 {
		return
	}
	for i, raw := range lines[1:] {
		text := strings.TrimSpace(string(raw))
		if text == "" {
			continue
		}
		cells := strings.Split(text, ",")
		if len(cells) != len(head) {
			l.problem(i+2, "%d fields, and %d columns in the first line", len(cells), len(head))
			continue
		}
		row := map[string]string{}
		for n, name := range head {
			row[name] = cells[n]
		}
		l.keaRow(i+2, row)
	}
}

func (l *leaseReader) keaRow(line int, row map[string]string) {
	life, err := strconv.ParseInt(row["valid_lifetime"], 10, 64)
	ends, err2 := strconv.ParseInt(row["expire"], 10, 64)
	if err != nil || err2 != nil {
		l.problem(line, "valid_lifetime %.30q and expire %.30q: want seconds", row["valid_lifetime"], row["expire"])
		return
	}
	e := lease{addr: row["address"], mac: row["hwaddr"], host: row["hostname"], gone: row["state"] != "0" || life == 0}
	if e.mac == "" {
		e.mac = duidMAC(row["duid"])
	}
	if life != keaForever {
		e.ends = time.Unix(ends, 0)
	}
	l.take(line, e)
}
