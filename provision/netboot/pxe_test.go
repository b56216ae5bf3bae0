package netboot

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestPXEFindsTheMachine by what it says of itself, and by nothing else.
func TestPXEFindsTheMachine(t *testing.T) {
	s := start(t, filepath.Join(t.TempDir(), "netboot.json"), "")
	tokens := map[string]string{}
	for _, m := range []struct {
		name    string
		attempt int
		mac     string
		uuids   []string
	}{
		{"m1", 1, "52:54:00:77:00:01", nil},
		{"m1", 2, "52:54:00:77:00:01", nil},
		{"m2", 1, "", []string{"4c4c4544-0000-2010-8020-000000000002", "44454c4c-0000-1020-8020-000000000002"}},
		{"m3", 1, "", nil}, // boots in another way
	} {
		ticket, err := s.Ticket(m.name, m.attempt, Simulated, "")
		if err != nil {
			t.Fatal(err)
		}
		if m.mac != "" || m.uuids != nil {
			if err := s.ExpectPXE(ticket.Token, m.mac, m.uuids...); err != nil {
				t.Fatal(err)
			}
		}
		tokens[m.name+"/"+strconv.Itoa(m.attempt)] = ticket.Token
	}
	base := "http://127.0.0.1:" + strconv.Itoa(s.Port()) + pxePath
	ask := func(q url.Values) string {
		t.Helper()
		code, script := get(t, base+"?"+q.Encode())
		if code != http.StatusOK || !strings.HasPrefix(script, "#!ipxe\n") {
			t.Fatalf("%d: %q", code, script)
		}
		return script
	}
	for name, test := range map[string]struct {
		q    url.Values
		want string // "" = none
	}{
		"by MAC":                      {url.Values{"mac": {"52:54:00:77:00:01"}}, "m1/2"},
		"by the MAC of a second NIC":  {url.Values{"mac": {"52:54:00:99:00:01", "52:54:00:77:00:01"}, "uuid": {"x"}}, "m1/2"},
		"by UUID":                     {url.Values{"mac": {""}, "uuid": {"4C4C4544-0000-2010-8020-000000000002"}}, "m2/1"},
		"by UUID, other byte order":   {url.Values{"mac": {""}, "uuid": {"44454c4c-0000-1020-8020-000000000002"}}, "m2/1"},
		"a machine of no batch":       {url.Values{"mac": {"52:54:00:99:00:01"}, "uuid": {"u"}, "serial": {"S\nboot http://x"}}, ""},
		"one that says it is nothing": {url.Values{"mac": {""}, "uuid": {""}}, ""},
	} {
		script := ask(test.q)
		if test.want == "" {
			if !strings.HasSuffix(script, "\nexit\n") || strings.Contains(script, "kernel ") || strings.Contains(script, "\nboot") {
				t.Errorf("%s: %q", name, script)
			}
			continue
		}
		if !strings.Contains(script, "rackproof.token="+tokens[test.want]+" ") {
			t.Errorf("%s: not the boot of %s: %q", name, test.want, script)
		}
	}
	if now, _ := s.Find("m1", 2); now.Fetched.IsZero() {
		t.Error("the boot is not noted")
	}
	if now, _ := s.Find("m1", 1); !now.Fetched.IsZero() {
		t.Error("an earlier attempt's boot is noted")
	}
	// A machine that is up and starts again by itself is not led here again.
	post(t, "http://127.0.0.1:"+strconv.Itoa(s.Port())+"/b/"+tokens["m1/2"]+"/up", `{"uuid":"u"}`, http.StatusNoContent)
	if script := ask(url.Values{"mac": {"52:54:00:77:00:01"}}); !strings.HasSuffix(script, "\nexit\n") {
		t.Errorf("a machine that is up: %q", script)
	}
}

// TestPXEAsksWhoIsThere: what a DHCP server hands out names no machine.
func TestPXEAsksWhoIsThere(t *testing.T) {
	s := start(t, filepath.Join(t.TempDir(), "netboot.json"), "")
	base := "http://127.0.0.1:" + strconv.Itoa(s.Port()) + pxePath
	code, script := get(t, base)
	if want := "#!ipxe\nchain --replace " + base + "?mac=${netX/mac}&"; code != http.StatusOK || !strings.HasPrefix(script, want) {
		t.Errorf("%d: %q, want %q…", code, script, want)
	}
}
