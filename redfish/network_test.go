package redfish_test

import (
	"bytes"
	"errors"
	"maps"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// TestCapturedNetworks finds the BMC's own port on every captured machine, whatever
// other ports it shows: the wire to the host, a shared port, a GPU baseboard's.
func TestCapturedNetworks(t *testing.T) {
	for tree, want := range map[string]struct {
		mac, address, gateway, host, dns, ntp string
		socket                                string
	}{
		"dell":          {"b0:7b:25:d6:51:82", "192.168.247.199", "192.168.247.193", "idrac-F54P1G3", "192.168.126.21", "", "Dedicated"},
		"hpe":           {"5c:ed:8c:34:c2:94", "192.168.198.84", "192.168.198.65", "ILOMXQ302099S", "192.168.126.21", "", ""},
		"lenovo":        {"08:8f:c3:a5:8a:6f", "192.168.155.147", "192.168.155.129", "XCC-7Z23-J105958B", "192.168.126.14", "", "Dedicated"},
		"nvidia_viking": {"5c:ff:35:fb:e6:e9", "192.168.49.221", "192.168.49.193", "SPR5CFF35FBE6E9", "192.168.4.3", "pool.ntp.org 216.239.35.4", ""},
		"supermicro":    {"7c:c2:55:50:a8:ff", "192.168.133.92", "192.168.133.65", "", "192.168.126.14", "", "Failover"},
	} {
		c, _ := start(t, tree)
		n, err := c.Network(within(t, time.Minute))
		if err != nil {
			t.Errorf("%s: %v", tree, err)
			continue
		}
		if n.MAC != want.mac || n.Address != want.address || n.Gateway != want.gateway || n.HostName != want.host ||
			strings.Join(n.DNS, " ") != want.dns || strings.Join(n.NTP, " ") != want.ntp || n.Socket != want.socket || n.DHCP == nil || !*n.DHCP || n.VLAN == nil || *n.VLAN != 0 {
			t.Errorf("%s: %+v, want %+v", tree, n, want)
		}
	}
}

// networkTree is a BMC at 127.0.0.1 by DHCP.
func networkTree(older bool) redfishtest.Tree {
	const m = "/redfish/v1/Managers/a"
	tree := small()
	tree["/redfish/v1"] = []byte(strings.Replace(string(tree["/redfish/v1"]), "{", `{"Managers":{"@odata.id":"/redfish/v1/Managers"},`, 1))
	tree["/redfish/v1/Systems/a"] = []byte(strings.Replace(smallSystem, "{", `{"Links":{"ManagedBy":[{"@odata.id":"`+m+`"}]},`, 1))
	tree["/redfish/v1/Managers"] = []byte(`{"Members":[{"@odata.id":"` + m + `"}]}`)
	tree[m] = []byte(`{"Id":"a","DateTime":"2026-01-01T00:00:00Z","EthernetInterfaces":{"@odata.id":"` + m + `/EthernetInterfaces"},"NetworkProtocol":{"@odata.id":"` + m + `/NetworkProtocol"}}`)
	tree[m+"/EthernetInterfaces"] = []byte(`{"Members":[{"@odata.id":"` + m + `/EthernetInterfaces/1"}]}`)
	port := `{"Id":"1","MACAddress":"7C:C2:55:00:00:07","LinkStatus":"LinkUp","HostName":"old","DHCPv4":{"DHCPEnabled":true},
		"IPv4Addresses":[{"Address":"127.0.0.1","SubnetMask":"255.0.0.0","AddressOrigin":"DHCP","Gateway":"0.0.0.0"}],
		"IPv4StaticAddresses":[],"VLAN":{"VLANEnable":false,"VLANId":1},"NameServers":["192.0.2.53"],"StaticNameServers":[]}`
	if older {
		port = strings.NewReplacer(`"IPv4StaticAddresses":[],`, "", `,"StaticNameServers":[]`, "").Replace(port)
	}
	tree[m+"/EthernetInterfaces/1"] = []byte(port)
	tree[m+"/NetworkProtocol"] = []byte(`{"NTP":{"ProtocolEnabled":false,"NTPServers":[]}}`)
	return tree
}

func TestSetNetwork(t *testing.T) {
	off := false
	want := redfish.NetworkWish{
		HostName: "r12u07-bmc", NTP: []string{"ntp.example"}, DNS: []netip.Addr{netip.MustParseAddr("192.0.2.1")},
		DHCP: &off, Address: netip.MustParsePrefix("127.0.0.2/24"),
	}
	for _, older := range []bool{false, true} {
		bmc := serve(t, redfishtest.Options{Tree: networkTree(older), Faults: []string{"etag-required"}})
		cfg := config(bmc)
		c, err := redfish.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetNetwork(within(t, time.Minute), want); err != nil {
			t.Fatalf("older %v: %v", older, err)
		}
		_ = c.Close()
		for bmc.Addr() == cfg.Addr { // it moves behind its answer
			if t.Context().Err() != nil {
				t.Fatal("it never moved")
			}
		}
		cfg.Addr = bmc.Addr()
		if c, err = redfish.Open(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		n, err := c.Network(within(t, time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		if open := n.Changes(want); len(open) != 0 {
			t.Errorf("older %v: still differs %+v in %+v", older, open, n)
		}
		// Again changes nothing.
		acts := bmc.Acts()["network.set"]
		if err := c.SetNetwork(within(t, time.Minute), want); err != nil || bmc.Acts()["network.set"] != acts {
			t.Errorf("again: %v, %d changes", err, bmc.Acts()["network.set"]-acts)
		}
		_ = c.Close()
	}
}

// TestSetNetworkOneByOne: what is left out stays, and what cannot be set is told before
// anything that cuts the connection.
func TestSetNetworkOneByOne(t *testing.T) {
	vlan := 12
	for _, c := range []struct {
		name  string
		want  redfish.NetworkWish
		fault string
		is    error
		says  string
		sets  int
	}{
		{name: "nothing", want: redfish.NetworkWish{}},
		{name: "the name alone", want: redfish.NetworkWish{HostName: "new"}, sets: 1},
		{name: "as it is", want: redfish.NetworkWish{HostName: "old", Address: netip.MustParsePrefix("127.0.0.1/8")}},
		{name: "a VLAN", want: redfish.NetworkWish{VLAN: &vlan}, sets: 1},
		{name: "a socket that it does not show", want: redfish.NetworkWish{Dedicated: true, HostName: "new"}, is: redfish.ErrUnsupported, says: "which socket"},
		{name: "answered and ignored", want: redfish.NetworkWish{HostName: "new"}, fault: "patch-ignored", says: "nothing changed"},
		{name: "the clock", want: redfish.NetworkWish{Clock: true}, fault: "clock-skew=3600"},
		{name: "a clock that NTP keeps", want: redfish.NetworkWish{Clock: true, NTP: []string{"ntp.example"}}, sets: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			bmc := serve(t, redfishtest.Options{Tree: networkTree(false)})
			client := open(t, bmc)
			if c.fault != "" {
				if err := bmc.SetFault(c.fault, true); err != nil {
					t.Fatal(err)
				}
			}
			err := client.SetNetwork(within(t, time.Minute), c.want)
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("error %v, want %q", err, c.says)
			}
			if n := bmc.Acts()["network.set"]; n != c.sets {
				t.Errorf("%d changes, want %d", n, c.sets)
			}
			if _, skew, err := client.Clock(t.Context()); c.name == "the clock" && (err != nil || skew.Abs() > 2*time.Second || bmc.Acts()["clock.set"] != 1) {
				t.Errorf("the clock is off by %s, %v", skew, err)
			}
		})
	}
}

// TestDedicatedSocket: where the vendor says which socket the BMC uses, it is set with
// what else may cut the connection, and only where it differs.
func TestDedicatedSocket(t *testing.T) {
	want := redfish.NetworkWish{Dedicated: true}
	for tree, sets := range map[string]int{"supermicro": 1, "dell": 0, "lenovo": 0} {
		c, bmc := start(t, tree)
		for range 2 {
			if err := c.SetNetwork(within(t, time.Minute), want); err != nil || bmc.Acts()["network.set"] != sets {
				t.Errorf("%s: %v, acts %v", tree, err, bmc.Acts())
			}
		}
		if n, err := c.Network(within(t, time.Minute)); err != nil || len(n.Changes(want)) != 0 {
			t.Errorf("%s: %+v, %v", tree, n, err)
		}
	}
	shared := maps.Clone(captured(t, "dell"))
	for uri, body := range shared {
		shared[uri] = bytes.ReplaceAll(body, []byte(`"NIC.1.Selection": "Dedicated"`), []byte(`"NIC.1.Selection": "LOM1"`))
	}
	bmc := serve(t, redfishtest.Options{Tree: shared})
	_ = open(t, bmc).SetNetwork(within(t, time.Minute), want) // the simulated one has no such PATCH
	if n := bmc.Requests()["PATCH /redfish/v1/Managers/iDRAC.Embedded.1/Oem/Dell/DellAttributes/iDRAC.Embedded.1"]; n != 1 {
		t.Errorf("asked %d times, %v", n, bmc.Requests())
	}
}
