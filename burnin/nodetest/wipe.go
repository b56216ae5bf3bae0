package nodetest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// wipeLength is how long erasing a disk takes.
const wipeLength = 2 * time.Second

var wipeOf = regexp.MustCompile(`(?m)^serial='?([^'\n]*)'?$`)

// wipes is the serial number of the disk that u erases; ok is false where u is another load.
func (u *unit) wipes() (serial string, ok bool) {
	m := wipeOf.FindStringSubmatch(u.command)
	if m == nil || u.kind != "load" || !strings.HasPrefix(u.name, "wipe-") {
		return "", false
	}
	return m[1], true
}

// wipe is what erasing a disk has printed by now; a drive here has the sanitize command.
func (s *system) wipe(u *unit, serial string, now time.Time) string {
	i := slices.IndexFunc(s.M.Drives, func(d Drive) bool { return d.Serial == serial })
	if i < 0 {
		return "#wipe refused no disk of this serial number is on the host\n" + endLine(1)
	}
	d, stamp := s.M.Drives[i], func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	out := fmt.Sprintf("#wipe disk %s %d %s\n#wipe can oacs=23 fna=4 sanicap=2 namespaces=1\n#wipe planted 64 %s\n#wipe method sanitize-block\n#wipe begun %s\n",
		d.Name, d.Bytes, d.Model, stamp(u.start), stamp(u.start))
	out += "#wipe progress 50\n" // what was printed stays
	if now.Before(u.end()) || u.end().Before(u.start.Add(u.length)) {
		return out
	}
	return out + "#wipe status 257\n#wipe looked 64 left=0 zero=64\n#wipe done " + stamp(u.end()) + "\n" + endLine(0)
}
