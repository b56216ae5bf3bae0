package redfish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// SetNetwork sets the BMC's own port, only what differs: name, NTP and DNS first, each
// read back, then what may cut the connection, in one request. After that request the
// BMC may answer at another address or not at all; its answer may be lost, which then
// wraps ErrUnreachable. Only who logs in again, at the new address or the old, knows. A
// BMC that refuses wraps ErrBadValue and has not moved.
func (c *Client) SetNetwork(ctx context.Context, want NetworkWish) error {
	place, err := c.netPlace(ctx)
	if err != nil {
		return err
	}
	differs := map[string]bool{}
	for _, ch := range place.network.Changes(want) {
		differs[ch.What] = true
	}
	if err := place.offers(want, differs); err != nil {
		return fmt.Errorf("BMC %s: %w", c.cfg.Addr, err)
	}
	if differs["host name"] {
		if err := c.setPort(ctx, place, map[string]any{"HostName": want.HostName}, "host name", want); err != nil {
			return err
		}
	}
	if differs["DNS"] {
		if err := c.setPort(ctx, place, place.dnsBody(want), "DNS", want); err != nil {
			return err
		}
	}
	if differs["NTP"] {
		if err := c.setNTP(ctx, place, want); err != nil {
			return err
		}
	}
	if want.Clock {
		if err := c.setClock(ctx, place, want); err != nil {
			return err
		}
	}
	return c.setPlace(ctx, place, want, differs)
}

// offers refuses what would be sent in vain, before anything is sent.
func (p netPlace) offers(want NetworkWish, differs map[string]bool) error {
	switch {
	case want.Address.IsValid() && !want.Address.Addr().Is4():
		return fmt.Errorf("address %s: %w: only IPv4 is set; write it as 10.0.12.7/24", want.Address, ErrBadValue)
	case want.Gateway.IsValid() && !want.Gateway.Is4():
		return fmt.Errorf("gateway %s: %w: only IPv4 is set", want.Gateway, ErrBadValue)
	case differs["socket"] && p.socket.uri == "":
		return fmt.Errorf("%w: it does not show which socket it uses; set it at the BMC", ErrUnsupported)
	case differs["DHCP"] && !p.doc.DHCP.ok && !p.byOrigin():
		return fmt.Errorf("%w: it does not show whether it uses DHCP; set it at the BMC", ErrUnsupported)
	}
	return nil
}

// byOrigin reports that DHCP is switched by the origin of the address: iDRAC9 has no
// other way.
func (p netPlace) byOrigin() bool {
	return p.doc.Static == nil && slices.ContainsFunc(p.doc.Now, func(a addressDoc) bool { return a.Origin != "" })
}

// setPlace sets what may cut the connection, in one request: behind the first of two
// nobody may be there to take the second.
func (c *Client) setPlace(ctx context.Context, place netPlace, want NetworkWish, differs map[string]bool) error {
	body := place.moveBody(want, differs)
	switch {
	case !differs["socket"]:
	case place.socket.uri == place.port:
		maps.Copy(body, place.socket.body)
	default:
		return c.move(ctx, place.socket.uri, "", place.socket.with(place, want, differs))
	}
	if len(body) == 0 {
		return nil
	}
	return c.move(ctx, place.port, string(place.doc.ETag), body)
}

// setPort changes the port and reads back that what is no longer differs.
func (c *Client) setPort(ctx context.Context, place netPlace, body map[string]any, what string, want NetworkWish) error {
	a, sent := c.patchAnswer(ctx, place.port, string(place.doc.ETag), body)
	set, err := c.readBack(ctx, a, func() (bool, error) {
		n, err := c.Network(ctx)
		return !slices.ContainsFunc(n.Changes(want), func(ch NetworkChange) bool { return ch.What == what }), err
	})
	return c.portError(what, sent, set, err)
}

func (c *Client) portError(what string, sent error, set bool, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("BMC %s: %s: read it back: %w", c.cfg.Addr, what, errors.Join(sent, err))
	case set:
		return nil
	case said(sent, notTaken):
		return fmt.Errorf("BMC %s: %s is not taken: %w (%w)", c.cfg.Addr, what, ErrBadValue, sent)
	}
	return fmt.Errorf("BMC %s: %s: %w", c.cfg.Addr, what, cmpError(sent, errors.New("accepted, but nothing changed")))
}

// dnsBody writes to the list of static servers where there is one: NameServers also
// shows those that DHCP gave.
func (p netPlace) dnsBody(want NetworkWish) map[string]any {
	servers := make([]string, len(want.DNS))
	for i, a := range want.DNS {
		servers[i] = a.String()
	}
	if p.doc.StaticDNS != nil {
		return map[string]any{"StaticNameServers": servers}
	}
	return map[string]any{"NameServers": servers}
}

func (c *Client) setNTP(ctx context.Context, place netPlace, want NetworkWish) error {
	if place.protocols == "" {
		return fmt.Errorf("BMC %s: %w: it shows no NTP settings", c.cfg.Addr, ErrUnsupported)
	}
	body := map[string]any{"NTP": map[string]any{"ProtocolEnabled": true, "NTPServers": want.NTP}}
	a, sent := c.patchAnswer(ctx, place.protocols, string(place.ntp.ETag), body)
	set, err := c.readBack(ctx, a, func() (bool, error) {
		n, err := c.Network(ctx)
		return slices.Equal(n.NTP, want.NTP), err
	})
	return c.portError("NTP", sent, set, err)
}

// setClock sets the BMC's clock to ours where no NTP keeps it.
func (c *Client) setClock(ctx context.Context, place netPlace, want NetworkWish) error {
	if len(want.NTP) > 0 || len(place.network.NTP) > 0 {
		return nil
	}
	_, skew, err := c.Clock(ctx)
	if err != nil || skew.Abs() <= ClockTolerance {
		return err
	}
	var doc struct {
		ETag text `json:"@odata.etag"`
	}
	if _, err := c.get(ctx, place.manager, &doc); err != nil {
		return err
	}
	_, sent := c.patchAnswer(ctx, place.manager, string(doc.ETag), map[string]any{"DateTime": time.Now().UTC().Format("2006-01-02T15:04:05+00:00")})
	_, skew, err = c.Clock(ctx)
	return c.portError("clock", sent, err == nil && skew.Abs() <= ClockTolerance, err)
}

// moveBody is what may cut the connection, in one piece: an address without its gateway
// or VLAN may not be reached any more.
func (p netPlace) moveBody(want NetworkWish, differs map[string]bool) map[string]any {
	body := map[string]any{}
	if !differs["DHCP"] && !differs["address"] && !differs["gateway"] && !differs["VLAN"] {
		return body
	}
	if want.DHCP != nil && p.doc.DHCP.ok {
		body["DHCPv4"] = map[string]any{"DHCPEnabled": *want.DHCP}
	}
	maps.Copy(body, p.addressBody(want, differs))
	if differs["VLAN"] {
		vlan := map[string]any{"VLANEnable": *want.VLAN > 0}
		if *want.VLAN > 0 {
			vlan["VLANId"] = *want.VLAN
		}
		body["VLAN"] = vlan
	}
	return body
}

// addressBody is the address in the list where this BMC has it, and with it DHCP where
// that is switched there.
func (p netPlace) addressBody(want NetworkWish, differs map[string]bool) map[string]any {
	readdressed := differs["address"] || differs["gateway"]
	switch {
	case readdressed && p.doc.Static != nil:
		return map[string]any{"IPv4StaticAddresses": []any{p.address(want)}}
	case differs["DHCP"] && *want.DHCP && !p.doc.DHCP.ok:
		return map[string]any{"IPv4Addresses": []any{map[string]any{"AddressOrigin": "DHCP"}}}
	case readdressed, differs["DHCP"] && !p.doc.DHCP.ok:
		address := p.address(want)
		address["AddressOrigin"] = "Static"
		return map[string]any{"IPv4Addresses": []any{address}}
	}
	return nil
}

// address is the whole address, with what the wish leaves out as it is now.
func (p netPlace) address(want NetworkWish) map[string]any {
	n := p.network
	if want.Address.IsValid() {
		n.Address, n.Mask = want.Address.Addr().String(), mask(want.Address.Bits())
	}
	if want.Gateway.IsValid() {
		n.Gateway = want.Gateway.String()
	}
	out := map[string]any{"Address": n.Address, "SubnetMask": n.Mask}
	if n.Gateway != "" {
		out["Gateway"] = n.Gateway
	}
	return out
}

// mask writes a prefix length as BMCs want it: 255.255.255.0.
func mask(bits int) string {
	m := ^uint32(0) << (32 - bits)
	if bits == 0 {
		m = 0
	}
	return fmt.Sprintf("%d.%d.%d.%d", m>>24, m>>16&255, m>>8&255, m&255)
}

// move sends it once.
func (c *Client) move(ctx context.Context, uri link, etag string, body map[string]any) error {
	_, err := c.patchAnswer(ctx, uri, etag, body)
	if said(err, notTaken) {
		return fmt.Errorf("BMC %s: network settings are not taken: %w (%w)", c.cfg.Addr, ErrBadValue, err)
	}
	if err != nil {
		return fmt.Errorf("BMC %s: network settings: %w", c.cfg.Addr, err)
	}
	return nil
}
