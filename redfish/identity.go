package redfish

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Identity is a set: a machine has many numbers, a sticker shows one of them,
// and only like may be compared with like. Absent or junk members are "".
type Identity struct {
	Vendor        string   `json:"vendor"` // as Client.Vendor
	Manufacturer  string   `json:"manufacturer"`
	Model         string   `json:"model"`
	UUID          string   `json:"uuid"` // SMBIOS UUID, lower case
	SystemSerial  string   `json:"system_serial"`
	ChassisSerial string   `json:"chassis_serial"`
	BoardSerial   string   `json:"board_serial"`
	ServiceTag    string   `json:"service_tag"`
	SKU           string   `json:"sku"`
	AssetTag      string   `json:"asset_tag"`
	BMCMAC        string   `json:"bmc_mac"`  // aa:bb:cc:dd:ee:ff
	NICMACs       []string `json:"nic_macs"` // likewise, of the host, without repeats
	BMCFirmware   string   `json:"bmc_firmware"`
	BIOSVersion   string   `json:"bios_version"`
}

// Match tells which member of the set equals the serial that a batch names.
// Spaces around and case do not count.
func (i Identity) Match(serial string) (member string, ok bool) {
	want := strings.TrimSpace(serial)
	if want == "" {
		return "", false
	}
	for _, m := range []struct{ name, value string }{
		{"service_tag", i.ServiceTag},
		{"system_serial", i.SystemSerial},
		{"chassis_serial", i.ChassisSerial},
		{"board_serial", i.BoardSerial},
		{"sku", i.SKU},
		{"asset_tag", i.AssetTag},
	} {
		if strings.EqualFold(m.value, want) {
			return m.name, true
		}
	}
	return "", false
}

// Identity reads the numbers of the machine. What one of them could not be read
// from is left out of the set and logged; Inventory names it in Partial.
func (c *Client) Identity(ctx context.Context) (Identity, error) {
	var unread gaps
	host, err := c.host(ctx)
	if err != nil {
		return Identity{}, err
	}
	id := c.identity(ctx, host, each[chassisDoc](ctx, c, host.Links.value.Chassis, &unread), &unread)
	unread.log(ctx, c)
	return id, ctx.Err()
}

func (c *Client) identity(ctx context.Context, host systemDoc, chassis []*chassisDoc, unread *gaps) Identity {
	id := Identity{
		Vendor:       c.vendor,
		Manufacturer: host.Manufacturer.clean(),
		Model:        host.Model.clean(),
		UUID:         cleanUUID(string(host.UUID)),
		SystemSerial: host.SerialNumber.clean(),
		SKU:          host.SKU.clean(),
		AssetTag:     host.AssetTag.clean(),
		BIOSVersion:  host.BIOS.clean(),
	}
	for _, ch := range chassis {
		if ch != nil {
			id.ChassisSerial = firstOf(id.ChassisSerial, ch.SerialNumber.clean())
			id.AssetTag = firstOf(id.AssetTag, ch.AssetTag.clean())
		}
	}
	for _, m := range each[managerDoc](ctx, c, host.Links.value.ManagedBy, unread) {
		if m != nil {
			id.BMCFirmware = firstOf(id.BMCFirmware, m.Firmware.clean())
			id.BMCMAC = firstOf(id.BMCMAC, c.ownMAC(ctx, m.Ethernet, unread))
		}
	}
	id.NICMACs = c.hostMACs(ctx, host.Ethernet, unread)
	c.behaviour.identify(ctx, c, host, chassis, &id)
	return id
}

// cleanUUID gives an SMBIOS UUID in lower case, or "" for one that firmware
// makers leave in.
func cleanUUID(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	hex := strings.ReplaceAll(s, "-", "")
	junk := len(hex) != 32 || strings.Trim(hex, "0123456789abcdef") != "" ||
		strings.Trim(hex, "0") == "" || strings.Trim(hex, "f") == "" ||
		s == "03000200-0400-0500-0006-000700080009" // AMI's default
	if junk {
		return ""
	}
	return s
}

// ownMAC finds the address of the BMC's own port.
func (c *Client) ownMAC(ctx context.Context, ports link, unread *gaps) string {
	mac, _ := c.own(ctx, ports, unread)
	return mac
}

// ownPort finds the BMC's own port.
func (c *Client) ownPort(ctx context.Context, ports link, unread *gaps) link {
	_, port := c.own(ctx, ports, unread)
	return port
}

// own finds the BMC's own port: the one that is up and has the address we came to, not
// the wire between BMC and host.
func (c *Client) own(ctx context.Context, ports link, unread *gaps) (mac string, port link) {
	host, _, _ := net.SplitHostPort(c.cfg.Addr)
	most := 0
	docs, uris := resources[ethernetDoc](ctx, c, ports, unread)
	for i, p := range docs {
		if p == nil || universalMAC(p.mac()) == "" || p.Enabled.ok && !p.Enabled.value {
			continue
		}
		score := 1
		if p.Link == "LinkUp" {
			score++
		}
		for _, a := range p.IPv4 {
			switch ip, err := netip.ParseAddr(string(a.Address)); {
			case string(a.Address) == host:
				score += 8
			case err == nil && !ip.IsLinkLocalUnicast() && !ip.IsUnspecified():
				score += 2
			}
		}
		if score > most {
			mac, port, most = universalMAC(p.mac()), uris[i], score
		}
	}
	return mac, port
}

// hostMACs lists the host's network ports, without the virtual wire to the BMC,
// whose address is locally administered.
func (c *Client) hostMACs(ctx context.Context, ports link, unread *gaps) []string {
	var macs []string
	docs, _ := resources[ethernetDoc](ctx, c, ports, unread)
	for _, p := range docs {
		if p == nil {
			continue
		}
		if mac := universalMAC(p.mac()); mac != "" && !slices.Contains(macs, mac) {
			macs = append(macs, mac)
		}
	}
	slices.Sort(macs)
	return macs
}

func (e ethernetDoc) mac() string {
	return firstOf(CleanMAC(string(e.Permanent)), CleanMAC(string(e.MAC)))
}

// CleanMAC gives an Ethernet address, however it is written, as aa:bb:cc:dd:ee:ff; ""
// where it is none.
func CleanMAC(s string) string {
	s = strings.TrimSpace(s)
	if len(s) == 12 && !strings.ContainsAny(s, ":-.") { // Lenovo writes 00620B4C284F
		s = s[:4] + "." + s[4:8] + "." + s[8:]
	}
	hw, err := net.ParseMAC(s)
	if err != nil || len(hw) != 6 || hw.String() == "00:00:00:00:00:00" || hw.String() == "ff:ff:ff:ff:ff:ff" {
		return ""
	}
	return hw.String()
}

// universalMAC drops locally administered addresses: they are made up anew by
// software and identify nothing.
func universalMAC(mac string) string {
	hw, err := net.ParseMAC(mac)
	if err != nil || hw[0]&2 != 0 {
		return ""
	}
	return mac
}
