package nodetest

import (
	"fmt"
	"strings"
)

// ethtool answers burnin's ethtool script: every port has a link by a passive copper
// cable, and no frame came broken.
func (s *system) ethtool() string {
	var b strings.Builder
	b.WriteString("#rackproof-ethtool 1\n")
	n := 0
	s.eachPort(func(nic *NIC, name string) {
		n++
		fmt.Fprintf(&b, "Settings for %s:\n\tSupported ports: [ FIBRE ]\n\tSpeed: %d000Mb/s\n\tDuplex: Full\n\tAuto-negotiation: on\n\tPort: Direct Attach Copper\n\tLink detected: yes\n", name, nic.Gbps)
		b.WriteString("NIC statistics:\n     rx_crc_errors_phy: 0\n     rx_symbol_err_phy: 0\n     rx_corrected_bits_phy: 4127\n")
		fmt.Fprintf(&b, "#module\n\tIdentifier                                : 0x11 (QSFP28)\n\tVendor name                               : Mellanox\n\tVendor PN                                 : MCP1650-H001E30\n\tVendor SN                                 : MT2301VS%05d\n", n)
	})
	fmt.Fprintf(&b, "#rackproof-ethtool-end %d\n", n)
	return b.String()
}

// lldp answers lldpcli: each port hears a port of its own on one leaf switch.
func (s *system) lldp() string {
	var heard []string
	s.eachPort(func(_ *NIC, name string) {
		heard = append(heard, fmt.Sprintf(`{"name":%q,"via":"LLDP","chassis":[{"id":[{"type":"mac","value":"52:54:00:00:00:01"}],"name":[{"value":"leaf1"}]}],"port":[{"id":[{"type":"ifname","value":"Ethernet%d"}]}]}`,
			name, len(heard)+1))
	})
	return `{"lldp":[{"interface":[` + strings.Join(heard, ",") + "]}]}\n"
}

func (s *system) eachPort(f func(nic *NIC, name string)) {
	for i := range s.M.NICs {
		for j := range s.M.NICs[i].MACs {
			f(&s.M.NICs[i], s.M.NICs[i].port(j))
		}
	}
}
