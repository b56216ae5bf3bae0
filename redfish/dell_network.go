package redfish

import (
	"context"
	"fmt"
	"strings"
)

// socket is the iDRAC attribute NIC.1.Selection: Dedicated, or the LOM that is shared.
// Seen on an R750 with iDRAC9 6.00.30; setting it is documented by
// iDRAC-Redfish-Scripting (SetIdracLcSystemAttributesREDFISH), not seen.
func (dell) socket(ctx context.Context, c *Client, _, manager link) (socketMode, error) {
	uris, err := c.dellAttributes(ctx, manager)
	for _, uri := range uris {
		a, err := c.get(ctx, uri, &struct{}{})
		if err != nil {
			return socketMode{}, err
		}
		attrs, _ := attributes(a.body)
		if now := attrs["NIC.1.Selection"]; now != nil {
			return socketMode{uri: uri, now: fmt.Sprint(now), with: dellMove}, nil
		}
	}
	return socketMode{}, err
}

// dellMove is the socket, and the rest of a move, as attributes: sent one after the
// other, the second would find nobody. The names are those of an R750 with iDRAC9
// 6.00.30; setting them is documented by Dell's own Ansible collection, not seen.
func dellMove(p netPlace, want NetworkWish, differs map[string]bool) map[string]any {
	word := map[bool]string{true: "Enabled", false: "Disabled"}
	attrs := map[string]any{"NIC.1.Selection": dedicatedPort}
	if differs["address"] || differs["gateway"] {
		address := p.address(want)
		attrs["IPv4.1.DHCPEnable"] = word[false]
		attrs["IPv4Static.1.Address"], attrs["IPv4Static.1.Netmask"] = address["Address"], address["SubnetMask"]
		if gateway := address["Gateway"]; gateway != nil {
			attrs["IPv4Static.1.Gateway"] = gateway
		}
	}
	if differs["DHCP"] {
		attrs["IPv4.1.DHCPEnable"] = word[*want.DHCP]
	}
	if differs["VLAN"] {
		attrs["NIC.1.VLanEnable"] = word[*want.VLAN > 0]
		if *want.VLAN > 0 {
			attrs["NIC.1.VLanID"] = *want.VLAN
		}
	}
	return map[string]any{"Attributes": attrs}
}

// dellAttributes are the resources that hold iDRAC's own attributes.
func (c *Client) dellAttributes(ctx context.Context, manager link) ([]link, error) {
	var m struct {
		Links maybe[struct {
			Oem oemDoc `json:"Oem"`
		}] `json:"Links"`
	}
	if _, err := c.get(ctx, manager, &m); err != nil {
		return nil, err
	}
	var ext struct {
		Attributes links `json:"DellAttributes"`
	}
	oem(m.Links.value.Oem, "Dell", &ext)
	var own []link
	for _, l := range ext.Attributes {
		if strings.HasPrefix(l.id(), "iDRAC") {
			own = append(own, l)
		}
	}
	return own, nil
}
