package nodetest

import (
	"fmt"
	"regexp"
	"strings"
)

// pairPorts answers burnin's question which ports and programs a node has for pairs.
func (s *system) pairPorts() string {
	var b strings.Builder
	fmt.Fprintf(&b, "boot %s\ntool ib_write_bw\n", s.BootID)
	n := 0
	for i := range s.M.NICs {
		nic := &s.M.NICs[i]
		layer, state := "Ethernet", "4: ACTIVE"
		if strings.HasPrefix(s.M.classAt(nic.Address), "0207") {
			layer = "InfiniBand"
		}
		if nic.Polling {
			state = "1: DOWN"
		}
		for range nic.MACs {
			fmt.Fprintf(&b, "port mlx5_%d 1 %s %d %s\n", n, layer, nic.Gbps, state)
			n++
		}
	}
	return b.String() + "end\n"
}

// pairClient is the client's side of a pair, as burnin starts it: the line that names
// the peer, and the device.
var pairClient = regexp.MustCompile(`(?s)echo '(#rackproof-pair peer [^']+)'.*ib_write_bw -d '([^']+)'`)

// ibWriteBW is what the client of a pair prints: a link at nearly its rate.
func (s *system) ibWriteBW(command string) (out string, ok bool) {
	m := pairClient.FindStringSubmatch(command)
	if m == nil {
		return "", false
	}
	n := 0
	for i := range s.M.NICs {
		for range s.M.NICs[i].MACs {
			if fmt.Sprintf("mlx5_%d", n) == m[2] {
				return fmt.Sprintf("%s\n                    RDMA_Write BW Test\n Dual-port       : OFF\t\tDevice         : %s\n"+
					" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"+
					" 65536      5000             0.00               %.2f\t\t   0.747875\n", m[1], m[2], 0.98*float64(s.M.NICs[i].Gbps)) + endLine(0), true
			}
			n++
		}
	}
	return "", false
}
