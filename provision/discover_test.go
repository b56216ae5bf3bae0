package provision

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// serveTree serves a captured tree, or skips where the captures are not at hand.
func serveTree(t *testing.T, name string) *redfishtest.BMC {
	t.Helper()
	return serveTreeAs(t, name, redfishtest.Options{})
}

func serveTreeAs(t *testing.T, name string, opts redfishtest.Options) *redfishtest.BMC {
	t.Helper()
	path := filepath.Join("..", "..", "shared", "redfish", name+".tar.gz")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("captured trees are not at hand: %v", err)
	}
	tree, err := redfishtest.LoadTarGz(path)
	if err != nil {
		t.Fatal(err)
	}
	opts.Tree = tree
	bmc, err := redfishtest.Start(context.WithoutCancel(t.Context()), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bmc.Close() })
	return bmc
}

// TestDiscover: all captured machines, a web server and a closed port. Who is named is
// on the user's list, nobody was logged in to, and what comes out is a batch.
func TestDiscover(t *testing.T) {
	at := map[string]*redfishtest.BMC{}
	var words []string
	for _, name := range []string{"dell", "hpe", "lenovo", "nvidia_viking", "supermicro"} {
		at[name] = serveTree(t, name)
		words = append(words, at[name].Addr())
	}
	web := httptest.NewTLSServer(http.NotFoundHandler())
	defer web.Close()
	starting := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer starting.Close()
	closed, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	targets, err := ParseTargets(append(words, web.Listener.Addr().String(), starting.Listener.Addr().String(), closed.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	leases, err := ParseLeases("leases", []byte("0 08:8f:c3:a5:8a:6f 127.0.0.1 XCC-7Z23-J105958B *\n"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	leases[0].At = netip.MustParseAddrPort(at["lenovo"].Addr()) // a lease names no port
	labels, err := ParseLabels("macs", []byte("F54P1G3 r12u03 R12 3\nMXQ302099S r12u05 R12 5\n088fc3a58a6f r12u07 R12 7\n7cc25550a8ff r12u09 R12 9\n7c:c2:55:00:00:11 r12u11 R12 11\n"))
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	found, err := Discover(t.Context(), Search{
		Sightings: append(targets, leases...), Labels: labels, Rate: 1000, Progress: func(n, of int) { asked = max(asked, n*100+of) },
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range found.BMCs {
		got = append(got, strings.Join([]string{d.Name, d.Where(), d.Vendor, d.Model, d.Serial, d.MAC, d.HostName, d.Software, strings.Join(d.Odd, "; ")}, "|"))
		if d.SHA256 == "" || !d.HasRedfish() || d.IPMI != nil {
			t.Errorf("%s: certificate %q, Redfish %q, IPMI %v", d.Addr, d.SHA256, d.Redfish, d.IPMI)
		}
	}
	want := []string{
		"|||||||ami|", // a DGX tells nothing of itself
		"r12u09|R12 U09|supermicro|||7c:c2:55:50:a8:ff|||",
		"r12u07|R12 U07|lenovo||J105958B|08:8f:c3:a5:8a:6f|XCC-7Z23-J105958B||",
		"r12u05|R12 U05|hpe|ProLiant DL385 Gen10 Plus v2|MXQ302099S||ILOMXQ302099S||",
		"r12u03|R12 U03|dell||F54P1G3|b0:7b:25:d6:51:82|||",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if found.Asked != 8 || asked != 808 || len(found.Missing) != 1 || found.Missing[0].Name != "r12u11" {
		t.Errorf("asked %d (%d), missing %v", found.Asked, asked, found.Missing)
	}
	if len(found.Odd) != 1 || found.Odd[0].Addr != starting.Listener.Addr().String() || !strings.Contains(found.Odd[0].What, "503") {
		t.Errorf("odd: %v", found.Odd)
	}
	for name, bmc := range at {
		if n := bmc.Requests(); len(n) != 1 || bmc.OpenSessions() != 0 || bmc.Unauthorized() != 0 {
			t.Errorf("%s was asked %v", name, n)
		}
	}
	loadsFound(t, found, at["dell"])
}

// loadsFound puts what was found into a batch file.
func loadsFound(t *testing.T, found Found, dell *redfishtest.BMC) {
	t.Helper()
	text := string(found.BatchYAML())
	batch, err := parse(t, "name: po4711\nprofile: hgx-h100-8\n"+text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	m, ok := batch.Find("r12u03")
	if len(batch.Machines) != 4 || !ok || m.BMC != dell.Addr() || m.Serial != "F54P1G3" || m.Rack != "R12" || m.U != 3 || m.MAC != "" || m.Login.SHA256 != dell.CertSHA256() {
		t.Errorf("%d machines, %+v of\n%s", len(batch.Machines), m, text)
	}
	if !strings.Contains(text, "# not named: - {bmc: {addr: \"127.0.0.1:") || !strings.Contains(text, "# not found: r12u11 (macs:5)\n") {
		t.Errorf("fragment\n%s", text)
	}
}

// answered is a BMC for the tests of joining.
func answered(addr, mac, cert, serial string) Discovered {
	at := netip.MustParseAddrPort(addr)
	return Discovered{Addr: bmcWords(at), at: at, MAC: mac, SHA256: cert, Serial: serial, Redfish: "1.11.0", Sources: []string{addr}}
}

func TestJoin(t *testing.T) {
	const mac, mac2 = "7c:c2:55:00:00:07", "7c:c2:55:00:00:08"
	for _, c := range []struct {
		name   string
		bmcs   []Discovered
		labels string
		want   []string // address+further ones|name|odd
		gone   int
	}{
		{
			"one BMC at two addresses",
			[]Discovered{answered("[fe80::7%eth1]:443", mac, "aa", ""), answered("10.0.12.7:443", mac, "aa", "")},
			mac + " r12u07",
			[]string{"10.0.12.7+fe80::7%eth1|r12u07|"},
			0,
		},
		{
			"two behind one MAC",
			[]Discovered{answered("10.0.12.7:443", mac, "aa", ""), answered("10.0.12.8:443", mac, "bb", "")},
			mac + " r12u07",
			[]string{"10.0.12.7||r12u07 (f:1) fits more than one BMC", "10.0.12.8||r12u07 (f:1) fits more than one BMC"},
			0,
		},
		{
			"the maker's certificate in all",
			[]Discovered{answered("10.0.12.7:443", mac, "aa", ""), answered("10.0.12.8:443", mac2, "aa", "")},
			mac2 + " r12u08",
			[]string{"10.0.12.7||", "10.0.12.8|r12u08|the certificate of 10.0.12.7: a pin does not tell the two apart, have them make their own"},
			0,
		},
		{
			"MAC and serial of two lines",
			[]Discovered{answered("10.0.12.7:443", mac, "aa", "F54P1G3")},
			mac + " r12u07\nf54p1g3 r12u09",
			[]string{"10.0.12.7||its MAC is that of r12u07 (f:1), its serial that of r12u09 (f:2)"},
			0,
		},
		{
			"without certificates an IPv4 and an IPv6 address are one",
			[]Discovered{answered("10.0.12.7:443", mac, "", ""), answered("[fe80::7%eth1]:443", mac, "", ""), answered("10.0.12.8:443", mac, "", "")},
			"",
			[]string{"10.0.12.7+fe80::7%eth1||", "10.0.12.8||"},
			0,
		},
		{"nobody", nil, mac + " r12u07", nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			labels, err := ParseLabels("f", []byte(c.labels))
			if err != nil {
				t.Fatal(err)
			}
			found := Found{BMCs: c.bmcs}
			Search{Labels: labels}.join(&found)
			var got []string
			for _, d := range found.BMCs {
				got = append(got, strings.Join(append([]string{d.Addr}, d.Also...), "+")+"|"+d.Name+"|"+strings.Join(d.Odd, "; "))
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) || len(found.Missing) != c.gone {
				t.Errorf("got\n%s\nwant\n%s\nmissing %v", strings.Join(got, "\n"), strings.Join(c.want, "\n"), found.Missing)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	at := netip.MustParseAddrPort("10.0.12.7:443")
	known := OpenKnownBMCs(t.TempDir())
	if err := known.SetPin("10.0.12.7:443", strings.Repeat("a", 64)); err != nil {
		t.Fatal(err)
	}
	cert := strings.Repeat("b", 64)
	for _, c := range []struct {
		name string
		p    spot
		a    answer
		mac  string
		ipmi *bool
		odd  string
	}{
		{"its own word first", spot{seen: "02:00:00:00:00:01", macs: []string{"02:00:00:00:00:01"}}, answer{greeting: redfish.Greeting{MAC: "7c:c2:55:00:00:07"}, ping: redfish.IPMIPresent}, "7c:c2:55:00:00:07", new(true), "MAC 7c:c2:55:00:00:07 by itself, 02:00:00:00:00:01 on the wire"},
		{"a stale lease", spot{seen: "7c:c2:55:00:00:07", macs: []string{"7c:c2:55:00:00:08"}, sources: []string{"lease f:1"}}, answer{ping: redfish.PortClosed}, "7c:c2:55:00:00:07", new(false), "MAC 7c:c2:55:00:00:08 by lease f:1, and it has 7c:c2:55:00:00:07"},
		{"a lease alone", spot{macs: []string{"7c:c2:55:00:00:08"}}, answer{}, "7c:c2:55:00:00:08", nil, ""},
		{"IPMI alone", spot{}, answer{ping: redfish.RMCPPresent, err: errors.New("refused")}, "", new(false), "IPMI answers, Redfish does not: refused"},
		{"another certificate", spot{}, answer{greeting: redfish.Greeting{SHA256: cert}}, "", nil, "another certificate than the one that was pinned (aaaaaaaaaaaaaaaa…)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.p.at = at
			d := Search{Pins: known}.describe(c.p, c.a)
			odd := strings.Join(d.Odd, "; ")
			if d.MAC != c.mac || !strings.HasPrefix(odd, c.odd) || c.odd == "" && odd != "" || (d.IPMI == nil) != (c.ipmi == nil) || c.ipmi != nil && *d.IPMI != *c.ipmi {
				t.Errorf("MAC %q, IPMI %v, odd %q", d.MAC, d.IPMI, odd)
			}
		})
	}
}

func TestGather(t *testing.T) {
	at := netip.MustParseAddrPort("10.0.12.7:443")
	list := []Sighting{
		{At: at, Source: "stated"},
		{At: at, MAC: "7c:c2:55:00:00:07", Host: "a", Source: "lease f:1"},
		{At: netip.MustParseAddrPort("10.0.12.8:443"), MAC: "02:00:00:00:00:01", Source: "lease f:2"},
		{At: netip.MustParseAddrPort("10.0.12.9:443"), Source: "stated"}, // whose MAC nobody knows is asked
	}
	spots := Search{OUIs: []string{"7c:c2:55"}}.gather(list)
	if len(spots) != 2 || spots[0].host != "a" || !slices.Equal(spots[0].sources, []string{"stated", "lease f:1"}) || spots[1].at.Addr().String() != "10.0.12.9" {
		t.Errorf("%+v", spots)
	}
	if n := len(Search{}.gather(list)); n != 3 {
		t.Errorf("%d spots", n)
	}
}

// TestFragmentOfStrangers: what a BMC calls itself cannot leave its line.
func TestFragmentOfStrangers(t *testing.T) {
	evil := answered("10.0.12.7:443", "", "aa", "S1\"}\n  - {name: x")
	evil.Name, evil.Model, evil.Legacy = "r12u07", "X1\n  - {name: y, bmc: 10.0.0.1}\u2028z", true
	evil.SHA256 = strings.Repeat("a", 64)
	plainIPMI := Discovered{Name: "r12u08", Addr: "fe80::7%eth1"}
	text := string(Found{BMCs: []Discovered{evil, plainIPMI}}.BatchYAML())
	batch, err := parse(t, "name: a\nprofile: hgx-h100-8\n"+text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if len(batch.Machines) != 2 || batch.Machines[0].Serial != evil.Serial || !batch.Machines[0].Login.Legacy || batch.Machines[1].Login.Protocol != OverIPMI || batch.Machines[1].BMC != "fe80::7%eth1" {
		t.Errorf("%+v of\n%s", batch.Machines, text)
	}
	if text := string(Found{}.BatchYAML()); text != "# machines:\n" {
		t.Errorf("nothing found: %q", text)
	}
	if b, err := json.Marshal(Discovered{}); err != nil || !strings.Contains(string(b), `"ipmi":null`) {
		t.Errorf("%s, %v", b, err)
	}
}

func TestStatedPin(t *testing.T) {
	stated, other := strings.Repeat("a", 64), strings.Repeat("b", 64)
	known := OpenKnownBMCs(t.TempDir())
	pins := statedPin{known, stated}
	want := func(when, sum string, ok bool) {
		t.Helper()
		if got, has := pins.Pin("10.0.12.7:443"); got != sum || has != ok {
			t.Errorf("%s: %.4s, %v", when, got, has)
		}
	}
	want("at the first visit", stated, true)
	if err := known.Bind("10.0.12.7:443", other, "uuid"); err != nil {
		t.Fatal(err)
	}
	want("after an update that was pinned anew", other, true)
	if _, err := known.Forget("10.0.12.7:443", ""); err != nil {
		t.Fatal(err)
	}
	want("forgotten by a person", "", false)
}

func TestBatchWithCertificate(t *testing.T) {
	const head = "name: a\nprofile: a40-4\n"
	sum := strings.Repeat("AB", 32)
	b, err := parse(t, head+"machines: [{name: m, bmc: {addr: 10.0.0.1, tls: {mode: pin, sha256: "+sum+"}}}, {name: n, bmc: 10.0.0.2}]\n")
	if err != nil || b.Machines[0].Login.SHA256 != strings.ToLower(sum) || b.Machines[1].Login.SHA256 != "" {
		t.Fatalf("%v", err)
	}
	for _, c := range []struct{ text, want string }{
		{"defaults: {bmc: {tls: {sha256: " + sum + "}}}\nmachines: [{name: m, bmc: 10.0.0.1}]\n", "batch.yaml:3:32: sha256 is the certificate of one BMC"},
		{"machines: [{name: m, bmc: {addr: 10.0.0.1, tls: {sha256: abc}}}]\n", `sha256 "abc": want the 64 hexadecimal digits`},
		{"machines: [{name: m, bmc: {addr: 10.0.0.1, tls: {mode: insecure, sha256: " + sum + "}}}]\n", "it counts with mode pin alone"},
	} {
		_, err := parse(t, head+c.text)
		if _, ok := errors.AsType[profiles.Problems](err); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestStatedCertificate: a BMC that shows another certificate than the batch states
// gets no password.
func TestStatedCertificate(t *testing.T) {
	t.Setenv("BMC_USER", "root")
	t.Setenv("BMC_PASSWORD", planted)
	served := serveBMC(t, redfishtest.Options{Tree: movableTree(movableUUID)})
	bench := Bench{State: t.TempDir(), Secrets: &Secrets{}, Log: slog.New(slog.DiscardHandler)}
	m := Machine{BMC: served.Addr(), Login: BMCLogin{User: "env:BMC_USER", Password: "env:BMC_PASSWORD", TLS: string(redfish.Pin), SHA256: strings.Repeat("a", 64)}}
	_, err := bench.openBMC(t.Context(), m)
	stuck, ok := errors.AsType[*Stuck](err)
	if !ok || !errors.Is(err, redfish.ErrPinMismatch) || !strings.Contains(stuck.Do, "correct `sha256`") || served.Acts()["session.create"] != 0 {
		t.Fatalf("%v", err)
	}
	m.Login.SHA256 = served.CertSHA256()
	c, err := bench.openBMC(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
