package redfish_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// changed keeps the bodies of what changes a BMC, in front of it.
type changed struct {
	mu     sync.Mutex
	bodies []string // "PATH BODY"
}

func (c *changed) take(_ http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodPatch {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bodies = append(c.bodies, r.URL.Path+" "+string(body))
	}
	return false
}

// TestSetNetworkAsOffered: BMCs differ in where DHCP, addresses and name servers are
// set, and what they do not offer is told before anything is sent.
func TestSetNetworkAsOffered(t *testing.T) {
	const port = "/redfish/v1/Managers/a/EthernetInterfaces/1 "
	on, off := true, false
	noObject := []string{`"DHCPv4":{"DHCPEnabled":true},`, ""}
	noOrigin := append([]string{`"AddressOrigin":"DHCP",`, ""}, noObject...)
	fixed := append([]string{`"AddressOrigin":"DHCP",`, `"AddressOrigin":"Static",`}, noObject...)
	for _, c := range []struct {
		name  string
		older bool
		edit  []string // of the port
		want  redfish.NetworkWish
		is    error
		sent  []string
	}{
		{name: "DHCP is nowhere to be set", older: true, edit: noOrigin, want: redfish.NetworkWish{HostName: "new", DHCP: &off}, is: redfish.ErrUnsupported},
		{name: "DHCP beside a list of its own is nowhere to be set", edit: noObject, want: redfish.NetworkWish{HostName: "new", DHCP: &off}, is: redfish.ErrUnsupported},
		{
			name: "DHCP off by the origin", older: true, edit: noObject, want: redfish.NetworkWish{DHCP: &off},
			sent: []string{port + `{"IPv4Addresses":[{"Address":"127.0.0.1","AddressOrigin":"Static","SubnetMask":"255.0.0.0"}]}`},
		},
		{
			name: "DHCP on by the origin", older: true, edit: fixed, want: redfish.NetworkWish{DHCP: &on},
			sent: []string{port + `{"IPv4Addresses":[{"AddressOrigin":"DHCP"}]}`},
		},
		{name: "an IPv6 address", want: redfish.NetworkWish{HostName: "new", Address: netip.MustParsePrefix("2001:db8::7/64")}, is: redfish.ErrBadValue},
		{name: "an IPv6 gateway", want: redfish.NetworkWish{HostName: "new", Gateway: netip.MustParseAddr("2001:db8::1")}, is: redfish.ErrBadValue},
		{
			name: "name servers beside those of DHCP", want: redfish.NetworkWish{DNS: []netip.Addr{netip.MustParseAddr("192.0.2.1")}},
			sent: []string{port + `{"StaticNameServers":["192.0.2.1"]}`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := networkTree(c.older)
			tree[strings.TrimSpace(port)] = []byte(strings.NewReplacer(c.edit...).Replace(string(tree[strings.TrimSpace(port)])))
			var sent changed
			client := openAt(t, front(t, serve(t, redfishtest.Options{Tree: tree}), sent.take))
			err := client.SetNetwork(within(t, time.Minute), c.want)
			if !errors.Is(err, c.is) {
				t.Errorf("error %v, want %v", err, c.is)
			}
			if got, want := strings.Join(sent.bodies, "\n"), strings.Join(c.sent, "\n"); got != want {
				t.Errorf("sent %s\nwant %s", got, want)
			}
			n, err := client.Network(within(t, time.Minute))
			if open := n.Changes(redfish.NetworkWish{DNS: c.want.DNS}); err != nil || len(open) > 0 {
				t.Errorf("%+v still differs, %v", open, err)
			}
		})
	}
}

// TestDellMovesInOneRequest: behind a change of the socket nobody may be there to take
// the address.
func TestDellMovesInOneRequest(t *testing.T) {
	const attributes = "/redfish/v1/Managers/iDRAC.Embedded.1/Oem/Dell/DellAttributes/iDRAC.Embedded.1 "
	off, vlan := false, 12
	shared := maps.Clone(captured(t, "dell"))
	for uri, body := range shared {
		shared[uri] = bytes.ReplaceAll(body, []byte(`"NIC.1.Selection": "Dedicated"`), []byte(`"NIC.1.Selection": "LOM1"`))
	}
	var sent changed
	client := openAt(t, front(t, serve(t, redfishtest.Options{Tree: shared}), func(w http.ResponseWriter, r *http.Request) bool {
		sent.take(w, r)
		if r.Method != http.MethodPatch {
			return false
		}
		answer(w, http.StatusOK, `{}`)
		return true
	}))
	err := client.SetNetwork(within(t, time.Minute), redfish.NetworkWish{
		Dedicated: true, DHCP: &off, VLAN: &vlan, Address: netip.MustParsePrefix("192.0.2.7/24"), Gateway: netip.MustParseAddr("192.0.2.1"),
	})
	want := attributes + `{"Attributes":{"IPv4.1.DHCPEnable":"Disabled","IPv4Static.1.Address":"192.0.2.7","IPv4Static.1.Gateway":"192.0.2.1",` +
		`"IPv4Static.1.Netmask":"255.255.255.0","NIC.1.Selection":"Dedicated","NIC.1.VLanEnable":"Enabled","NIC.1.VLanID":12}}`
	if err != nil || len(sent.bodies) != 1 || sent.bodies[0] != want {
		t.Errorf("%v, sent\n%s\nwant\n%s", err, strings.Join(sent.bodies, "\n"), want)
	}
}
