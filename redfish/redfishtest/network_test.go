package redfishtest_test

import (
	"encoding/json"
	"net"
	"net/http"
	"testing"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

const (
	portURI      = managerURI + "/EthernetInterfaces/1"
	protocolsURI = managerURI + "/NetworkProtocol"
)

// addPort gives the fixture's manager a network port of its own.
func addPort(tree redfishtest.Tree) {
	tree[managerURI+"/EthernetInterfaces"] = json.RawMessage(`{"Members":[{"@odata.id":"` + portURI + `"}]}`)
	tree[portURI] = json.RawMessage(`{"@odata.id":"` + portURI + `","MACAddress":"7C:C2:55:00:00:07","LinkStatus":"LinkUp","HostName":"old",
		"DHCPv4":{"DHCPEnabled":true,"UseDNSServers":true},"IPv4Addresses":[{"Address":"127.0.0.1","SubnetMask":"255.0.0.0","AddressOrigin":"DHCP","Gateway":"0.0.0.0"}],
		"IPv4StaticAddresses":[],"VLAN":{"VLANEnable":false,"VLANId":1},"NameServers":["192.0.2.53"],"StaticNameServers":[]}`)
	tree[protocolsURI] = json.RawMessage(`{"@odata.id":"` + protocolsURI + `","IPMI":{"ProtocolEnabled":true},"NTP":{"ProtocolEnabled":false,"NTPServers":[]}}`)
}

func staticAddress(host string) map[string]any {
	return map[string]any{
		"DHCPv4":              map[string]any{"DHCPEnabled": false},
		"IPv4StaticAddresses": []any{map[string]any{"Address": host, "SubnetMask": "255.0.0.0"}},
	}
}

func TestNetworkIsSet(t *testing.T) {
	r := start(t, "", redfishtest.Options{})
	if a := r.patch(t, portURI, map[string]any{"HostName": "new", "StaticNameServers": []string{"192.0.2.1"}}); a.status != http.StatusNoContent {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	got := r.get(t, portURI).body // while DHCP is on, those that it gave are in use
	if got["HostName"] != "new" || got["StaticNameServers"].([]any)[0] != "192.0.2.1" || got["NameServers"].([]any)[0] != "192.0.2.53" || got["DHCPv4"].(map[string]any)["UseDNSServers"] != true {
		t.Errorf("port %v", got)
	}
	if a := r.patch(t, portURI, map[string]any{"Nonsense": 1}); a.status != http.StatusBadRequest || !containsID(a, "PropertyUnknown") {
		t.Errorf("an unknown property: %d %s", a.status, a.raw)
	}
	r.patch(t, protocolsURI, map[string]any{"NTP": map[string]any{"ProtocolEnabled": true, "NTPServers": []string{"ntp.example"}}})
	if got := r.get(t, protocolsURI).body; got["NTP"].(map[string]any)["ProtocolEnabled"] != true || got["IPMI"] == nil {
		t.Errorf("protocols %v", got)
	}
	r.acts(t, map[string]int{"network.set": 2})
	// The clock is set to the right time.
	r.fault(t, "clock-skew=3600")
	r.patch(t, managerURI, map[string]any{"DateTime": "2026-01-01T00:00:00Z"})
	if on := r.ActiveFaults(); len(on) != 0 {
		t.Errorf("still on: %v", on)
	}
}

// TestBMCMoves takes its new address with its port; the old one is dead.
func TestBMCMoves(t *testing.T) {
	r := start(t, "", redfishtest.Options{})
	before := r.URL()
	r.patch(t, portURI, staticAddress("127.0.0.2"))
	for r.URL() == before { // it moves behind its answer
		if t.Context().Err() != nil {
			t.Fatal("it never moved")
		}
	}
	if host, _, _ := net.SplitHostPort(r.Addr()); host != "127.0.0.2" {
		t.Errorf("it is at %s", r.Addr())
	}
	if got := r.get(t, portURI).body["IPv4Addresses"].([]any)[0].(map[string]any); got["Address"] != "127.0.0.2" {
		t.Errorf("it says %v", got)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, before+"/redfish/v1", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := r.client.Do(req); err == nil {
		_ = res.Body.Close()
		t.Error("the old address answers")
	}
}

var networkFaults = map[string]faultCase{
	"network-gone": {run: func(r *rig) {
		r.fault(r.t, "network-gone")
		r.patch(r.t, portURI, staticAddress("127.0.0.3"))
		for r.Acts()["network.move"] == 0 {
			if r.t.Context().Err() != nil {
				r.t.Fatal("it never went")
			}
		}
		r.broken(r.t, http.MethodGet, "/redfish/v1", nil)
	}},
}
