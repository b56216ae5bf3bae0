package redfish

import "strings"

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
