package netboot

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Boots of machines whose BMC can only say "PXE". The DHCP server that is there
// hands out one address for all, http://US/pxe.ipxe, and which machine asks is told
// by what it says of itself. So the token does not come through the BMC, and proves
// nothing of BMC and host: who drives the boot must prove the pair in another way.

// pxePath is the fixed path that a DHCP server hands out.
const pxePath = "/pxe.ipxe"

// ExpectPXE opens a boot to the machine that says it has mac, or a UUID of uuids
// (both byte orders, where they are known), until it has told that it is up.
func (s *Server) ExpectPXE(token, mac string, uuids ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.kept.Tickets[token]
	mac = strings.ToLower(mac)
	if t == nil || t.MAC == mac && slices.Equal(t.UUIDs, uuids) {
		return nil
	}
	t.MAC, t.UUIDs = mac, uuids
	return s.save()
}

// pxe answers the caller with its boot script. A caller that says nothing of itself
// is sent back for it; one that no boot waits for goes on with its next device.
func (s *Server) pxe(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if !q.Has("mac") && !q.Has("uuid") {
		plain(w, fmt.Sprintf("#!ipxe\nchain --replace %s%s?%s\n", s.self(r), pxePath, whoAmI))
		return
	}
	t := s.expected(q["mac"], q.Get("uuid"))
	if t == nil {
		s.Log.Info("a machine that no boot waits for asked for one", "mac", q["mac"], "uuid", q.Get("uuid"), "from", r.RemoteAddr)
		plain(w, fmt.Sprintf(stranger, sayable(strings.Join(q["mac"], " ")), sayable(q.Get("uuid")), sayable(q.Get("serial"))))
		return
	}
	s.answerScript(w, r, t)
}

// whoAmI lets iPXE say what it knows of its machine. The NIC that boots is not
// always the first.
const whoAmI = "mac=${netX/mac}&mac=${net0/mac}&mac=${net1/mac}&mac=${net2/mac}&mac=${net3/mac}&uuid=${uuid}&serial=${serial:uristring}"

// stranger is what a machine shows on its screen that no boot waits for.
const stranger = `#!ipxe
echo
echo rackproof has no boot for this machine, or has booted it already.
echo MAC    %s
echo UUID   %s
echo Serial %s
echo It goes on with its next boot device. To test it, name this MAC in the batch.
sleep 3
exit
`

var unsayable = regexp.MustCompile(`[^A-Za-z0-9:. _-]`)

// sayable keeps a script whole whatever a caller says of itself.
func sayable(s string) string {
	if s = unsayable.ReplaceAllString(s, ""); s == "" {
		return "not told"
	}
	return s[:min(len(s), 120)]
}

func plain(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(text))
}

// expected is the last boot of the machine that has one of macs, else of the one
// with that UUID, if it is open.
func (s *Server) expected(macs []string, uuid string) *Ticket {
	s.mu.Lock()
	defer s.mu.Unlock()
	find := func(is func(*Ticket) bool) (newest *Ticket) {
		for _, t := range s.kept.Tickets {
			if is(t) && (newest == nil || t.Attempt > newest.Attempt) {
				newest = t
			}
		}
		return newest
	}
	t := find(func(t *Ticket) bool {
		return t.MAC != "" && slices.ContainsFunc(macs, func(m string) bool { return strings.EqualFold(m, t.MAC) })
	})
	if t == nil {
		t = find(func(t *Ticket) bool {
			return slices.ContainsFunc(t.UUIDs, func(u string) bool { return u != "" && strings.EqualFold(u, uuid) })
		})
	}
	if t == nil || t.Up != nil { // nor is an earlier attempt's boot open any more
		return nil
	}
	c := *t
	return &c
}
