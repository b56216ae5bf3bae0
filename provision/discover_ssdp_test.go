package provision

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const ssdpAnswer = "HTTP/1.1 200 OK\r\nCACHE-CONTROL:max-age=1800\r\nEXT:\r\nST:urn:dmtf-org:service:redfish-rest:1\r\n" +
	"USN: uuid:92384634-2938-2342-8820-489239905423::urn:dmtf-org:service:redfish-rest:1:0\r\nAL:https://10.0.12.7:8443/redfish/v1/\r\n\r\n"

func TestParseSSDP(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		port         uint16
		ok           bool
	}{
		{"with its port", ssdpAnswer, 8443, true},
		{"without", strings.ReplaceAll(ssdpAnswer, ":8443", ""), 443, true},
		{"a port of HTTP does not count", strings.ReplaceAll(ssdpAnswer, "https", "http"), 443, true},
		{"no address", strings.ReplaceAll(ssdpAnswer, "AL:", "X-AL:"), 443, true},
		{"a printer", strings.ReplaceAll(ssdpAnswer, "dmtf-org:service:redfish-rest", "schemas-upnp-org:device:Printer"), 0, false},
		{"a question", string(ssdpQuestion(ssdpGroups[0])), 0, false},
		{"refused", strings.Replace(ssdpAnswer, "200 OK", "400 Bad", 1), 0, false},
		{"noise", "\x00\x01", 0, false},
	} {
		if port, ok := parseSSDP([]byte(c.answer)); port != c.port || ok != c.ok {
			t.Errorf("%s: %d, %v; want %d, %v", c.name, port, ok, c.port, c.ok)
		}
	}
}

func FuzzSSDP(f *testing.F) {
	f.Add([]byte(ssdpAnswer))
	f.Add([]byte("HTTP/1.1 200 OK\r\nST: " + redfishService + "\r\nAL: https://[::1]:99999/\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if port, ok := parseSSDP(b); ok != (port != 0) {
			t.Errorf("%q: %d, %v", b, port, ok)
		}
	})
}

// TestSearchSSDP: a responder on loopback; where it points to does not count, where it
// is does.
func TestSearchSSDP(t *testing.T) {
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	asked := make(chan string, 8)
	go func() {
		b := make([]byte, 1024)
		for {
			n, from, err := conn.ReadFrom(b)
			if err != nil {
				return
			}
			asked <- string(b[:n])
			_, _ = conn.WriteTo([]byte(ssdpAnswer), from)
		}
	}()
	found, err := searchSSDP(t.Context(), &net.Interface{Name: "lo"}, netip.MustParseAddrPort(conn.LocalAddr().String()))
	if err != nil || len(found) == 0 {
		t.Fatalf("%v, %v", found, err)
	}
	for _, s := range found {
		if s.At.String() != "127.0.0.1:8443" || s.Source != "SSDP on lo" {
			t.Errorf("%+v", s)
		}
	}
	question := <-asked
	for _, line := range []string{"M-SEARCH * HTTP/1.1\r\n", "MAN: \"ssdp:discover\"\r\n", "ST: urn:dmtf-org:service:redfish-rest:1\r\n"} {
		if !strings.Contains(question, line) {
			t.Errorf("the question lacks %q:\n%s", line, question)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := searchSSDP(ctx, &net.Interface{Name: "lo"}, netip.MustParseAddrPort(conn.LocalAddr().String())); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestAskAllPace: not more addresses a second than stated, and not more at once.
func TestAskAllPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Search{Rate: 10, Parallel: 2}
		began := time.Now()
		var starts []time.Duration
		s.Progress = func(int, int) { starts = append(starts, time.Since(began).Round(time.Millisecond)) }
		s.askAll(t.Context(), make([]spot, 4), func(ctx context.Context, _ netip.AddrPort) answer {
			timer := time.NewTimer(time.Second)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
			return answer{}
		})
		want := []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 1100 * time.Millisecond, 1200 * time.Millisecond}
		for i := range want {
			if len(starts) != len(want) || starts[i] != want[i] {
				t.Fatalf("asked at %v, want %v", starts, want)
			}
		}
	})
}

func TestLinkLocal(t *testing.T) {
	if addr, ok := linkLocal("7c:c2:55:50:a8:ff", "eth1"); !ok || addr.String() != "fe80::7ec2:55ff:fe50:a8ff%eth1" {
		t.Errorf("%s, %v", addr, ok)
	}
	if _, ok := linkLocal("", "eth1"); ok {
		t.Error("an address without a MAC")
	}
}

func TestTargets(t *testing.T) {
	for _, c := range []struct {
		words       []string
		n           int
		first, last string
		err         string
	}{
		{words: []string{"10.0.12.7"}, n: 1, first: "10.0.12.7", last: "10.0.12.7"},
		{words: []string{"10.0.12.9/30", "10.0.13.7:8443"}, n: 3, first: "10.0.12.9", last: "10.0.13.7:8443"},
		{words: []string{"10.0.12.7/32"}, n: 1, first: "10.0.12.7", last: "10.0.12.7"},
		{words: []string{"10.0.12.6/31"}, n: 2, first: "10.0.12.6", last: "10.0.12.7"},
		{words: []string{"10.0.12.0/24"}, n: 254, first: "10.0.12.1", last: "10.0.12.254"},
		{words: []string{"255.255.255.0/24"}, n: 254, first: "255.255.255.1", last: "255.255.255.254"},
		{words: []string{"fe80::1%eth1", "[2001:db8::7]:8443"}, n: 2, first: "fe80::1%eth1", last: "[2001:db8::7]:8443"},
		{words: []string{"2001:db8::/126"}, n: 4, first: "2001:db8::", last: "2001:db8::3"},
		{words: []string{"10.0.0.0/8"}, err: "network 10.0.0.0/8 has more than 16384 addresses"},
		{words: []string{"2001:db8::/64"}, err: "has more than"},
		{words: []string{"r12u07"}, err: "neither an IP address nor a network"},
		{words: []string{"10.0.12.7:0"}, err: "neither"},
	} {
		list, err := ParseTargets(c.words)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v: %v", c.words, err)
			}
			continue
		}
		if err != nil || len(list) != c.n || bmcWords(list[0].At) != c.first || bmcWords(list[len(list)-1].At) != c.last {
			t.Errorf("%v: %d, %v", c.words, len(list), err)
		}
	}
	for word, want := range map[string]string{"7C-C2-55": "7c:c2:55", "7cc255": "7c:c2:55", "7c:c2": "", "7c:c2:55:00": "", "x": ""} {
		if got, err := ParseOUI(word); got != want || (err == nil) != (want != "") {
			t.Errorf("OUI %q: %q, %v", word, got, err)
		}
	}
	if !bytes.Contains(ssdpQuestion(ssdpGroups[1]), []byte("HOST: [ff02::c]:1900\r\n")) {
		t.Error("IPv6 group")
	}
}
