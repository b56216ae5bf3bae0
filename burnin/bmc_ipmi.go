package burnin

import "strings"

// The entries of a BMC's evidence where it was read over IPMI. The rest of it are raw
// bytes, for who doubts the reading.
const (
	ipmiPrefix   = "ipmi:/"
	ipmiIdentity = ipmiPrefix + "identity"
	ipmiParts    = ipmiPrefix + "parts"
)

// overIPMI takes what a BMC tells over IPMI: who the machine is, the version of its
// own firmware, and the power supplies that have an inventory. It lists nothing else,
// so no part is missing because it is not here.
func (t *bmcReader) overIPMI() {
	for _, b := range t.bodies {
		switch b.uri {
		case ipmiIdentity:
			t.out.Identity = Identity{
				Manufacturer: b.text("manufacturer"), Model: b.text("model"), UUID: plainUUID(b.text("uuid")),
				SystemSerial: b.text("system_serial"), ChassisSerial: b.text("chassis_serial"), BoardSerial: b.text("board_serial"),
				BMCMAC: plainMAC(b.text("bmc_mac")),
			}
			if mac := t.out.Identity.BMCMAC; mac != "" {
				t.out.MACs = append(t.out.MACs, mac)
			}
			if v := b.text("bmc_firmware"); v != "" {
				t.out.Firmware = append(t.out.Firmware, BMCPart{Label: "BMC", Model: v, Present: true, uri: b.uri})
			}
			t.out.Partial = append(t.out.Partial, "ipmi: does not list CPUs, memory, GPUs, network adapters and drives")
		case ipmiParts:
			rows, _ := b.fields["psus"].([]any)
			for _, row := range rows {
				if fields, ok := row.(map[string]any); ok {
					p := redfishBody{uri: b.uri, fields: fields}
					t.out.PSUs = append(t.out.PSUs, BMCPart{Label: p.text("label"), Serial: p.text("serial"), Model: p.text("model"), Present: true, uri: b.uri})
				}
			}
		}
	}
}

// readOverIPMI reports evidence that is of IPMI.
func (t *bmcReader) readOverIPMI() bool {
	for _, b := range t.bodies {
		if strings.HasPrefix(b.uri, ipmiPrefix) {
			return true
		}
	}
	return false
}
