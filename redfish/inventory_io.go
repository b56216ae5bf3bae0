package redfish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// errBare stands for a resource with nothing in it, seen for the drives of a DGX
// H100: there is a drive, and the BMC says nothing about it.
var errBare = errors.New("the BMC lists it and reports nothing about it")

// drives lists what the storage of the system and its chassis link to.
func (c *Client) drives(ctx context.Context, storage link, chassis []*chassisDoc, unread *gaps) []Drive {
	var uris links
	seen := map[string]bool{}
	add := func(ls links) {
		for _, l := range ls {
			// HPE links one drive with and without a slash at the end.
			key := strings.ToLower(strings.TrimRight(string(l), "/"))
			if !seen[key] {
				seen[key] = true
				uris = append(uris, l)
			}
		}
	}
	type storageDoc struct {
		Drives links `json:"Drives"`
	}
	units, _ := resources[storageDoc](ctx, c, storage, unread)
	for _, u := range units {
		if u != nil {
			add(u.Drives)
		}
	}
	for _, ch := range chassis {
		if ch != nil {
			add(ch.Links.value.Drives)
		}
	}
	var list []Drive
	for i, d := range each[driveDoc](ctx, c, uris, unread) {
		switch {
		case d == nil || d.absent():
		case d.empty():
			unread.add(uris[i], errBare)
		default:
			drive := Drive{
				Part: d.part(uris[i]), Bytes: d.Bytes.positive(), Protocol: d.Protocol.clean(), Media: d.Media.clean(),
				Firmware: firstOf(d.Firmware.clean(), d.Revision.clean()),
			}
			drive.Label = firstOf(drive.Label, drive.Name)
			drive.Bay = drive.Label
			list = append(list, drive)
		}
	}
	return list
}

// nics lists the adapters of a chassis with the addresses of their ports.
func (c *Client) nics(ctx context.Context, uri link, unread *gaps) []NIC {
	docs, uris := resources[adapterDoc](ctx, c, uri, unread)
	nics := make([]*NIC, len(docs))
	ofEach(docs, func(i int, d *adapterDoc) {
		if d == nil || d.absent() {
			return
		}
		nic := NIC{Part: d.part(uris[i])}
		for _, ctl := range d.Controllers {
			nic.Label = firstOf(nic.Label, ctl.Location.value.PartLocation.value.ServiceLabel.clean())
			nic.Firmware = firstOf(nic.Firmware, ctl.Firmware.clean())
		}
		nic.Label = firstOf(nic.Label, uris[i].id())
		ports := d.Ports
		if ports == "" {
			ports = d.OldPorts
		}
		nic.MACs = c.portMACs(ctx, ports, unread)
		if len(nic.MACs) == 0 { // a DGX H100 and HPE's InfiniBand cards tell them only there
			nic.MACs = c.portMACs(ctx, d.Functions, unread)
		}
		nics[i] = &nic
	})
	var list []NIC
	for _, nic := range nics {
		if nic != nil {
			list = append(list, *nic)
		}
	}
	return list
}

func (c *Client) portMACs(ctx context.Context, ports link, unread *gaps) []string {
	macs := []string{}
	docs, _ := resources[portDoc](ctx, c, ports, unread)
	for _, p := range docs {
		if p == nil {
			continue
		}
		for _, mac := range p.macs() {
			if !slices.Contains(macs, mac) {
				macs = append(macs, mac)
			}
		}
	}
	return macs
}

// macs are the addresses of one port, its own first.
func (p portDoc) macs() []string {
	var macs []string
	eth := p.Ethernet.value
	for _, a := range slices.Concat(p.Addresses, eth.MACs, words{string(eth.Permanent), string(eth.MAC)}) {
		if mac := CleanMAC(a); mac != "" && !slices.Contains(macs, mac) {
			macs = append(macs, mac)
		}
	}
	return macs
}

// psus reads the newer PowerSubsystem where it has supplies, else Power.
func (c *Client) psus(ctx context.Context, ch *chassisDoc, unread *gaps) []PSU {
	var found []PSU
	if ch.Subsystem != "" {
		var sub struct {
			Supplies link `json:"PowerSupplies"`
		}
		if _, err := c.get(ctx, ch.Subsystem, &sub); err != nil {
			unread.add(ch.Subsystem, err)
		}
		docs, uris := resources[psuDoc](ctx, c, sub.Supplies, unread)
		for i, d := range docs {
			if d != nil && !d.absent() {
				found = append(found, d.psu(uris[i]))
			}
		}
	}
	if len(found) > 0 || ch.Power == "" {
		return found
	}
	var power struct {
		Supplies list[psuDoc] `json:"PowerSupplies"`
	}
	if _, err := c.get(ctx, ch.Power, &power); err != nil {
		unread.add(ch.Power, err)
	}
	for _, d := range power.Supplies {
		if !d.absent() {
			found = append(found, d.psu(d.ID))
		}
	}
	numberAlike(found)
	return found
}

// numberAlike tells supplies apart that share a name: iLO5 calls each of them
// HpeServerPowerSupply and lists them in the order of their bays.
func numberAlike(list []PSU) {
	labels := map[string]bool{}
	for _, p := range list {
		labels[p.Label] = true
	}
	if len(labels) == len(list) {
		return
	}
	for i := range list {
		list[i].Label = fmt.Sprintf("PSU %d", i+1)
	}
}

func (d psuDoc) psu(uri link) PSU {
	p := PSU{Part: d.part(uri), Watts: d.Watts.positive(), Firmware: d.Firmware.clean()}
	p.Label = firstOf(p.Label, p.Name)
	return p
}
