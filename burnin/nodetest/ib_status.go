package nodetest

import (
	"fmt"
	"strings"
)

// ibGenerations are the names of link speeds of four lanes, in Gb/s.
var ibGenerations = map[int]string{100: "EDR", 200: "HDR", 400: "NDR", 800: "XDR"}

// ibStatus answers burnin's ib-status script: every port of every adapter is a device
// of its own, those of Ethernet too.
func (s *system) ibStatus() string {
	var b strings.Builder
	b.WriteString("#rackproof-ib-status 1\n")
	n := 0
	for i := range s.M.NICs {
		nic := &s.M.NICs[i]
		layer := "Ethernet"
		if strings.HasPrefix(s.M.classAt(nic.Address), "0207") {
			layer = "InfiniBand"
		}
		for range nic.MACs {
			state, rate := "4: ACTIVE\tphys_state=5: LinkUp", fmt.Sprintf("%d Gb/sec (4X %s)", nic.Gbps, ibGenerations[nic.Gbps])
			if nic.Polling {
				state, rate = "1: DOWN\tphys_state=2: Polling", "10 Gb/sec (4X SDR)"
			}
			fmt.Fprintf(&b, "port\tmlx5_%d\t1\tpci=%s\tstate=%s\trate=%s\tlink_layer=%s\tsymbol_error=0\tlink_downed=%d\tlink_error_recovery=0\tport_rcv_errors=0\n",
				n, nic.Address, state, rate, layer, i%2)
			n++
		}
	}
	fmt.Fprintf(&b, "#rackproof-ib-status-end %d\n", n)
	return b.String()
}

// classAt is the class of the device at an address; "" when there is none.
func (m *Machine) classAt(address string) string {
	for i := range m.PCI {
		if m.PCI[i].Address == address {
			return m.PCI[i].Class
		}
	}
	return ""
}
