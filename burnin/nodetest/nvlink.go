package nodetest

import (
	"fmt"
	"slices"
	"strings"
)

// nvlink answers `nvidia-smi nvlink -s` and `-e`.
func (s *system) nvlink(args []string) reply {
	var b strings.Builder
	for _, g := range s.M.GPUs {
		if s.lost(&g) {
			continue
		}
		fmt.Fprintf(&b, "GPU %d: %s (UUID: %s)\n", g.Index, s.M.GPUKind.Product, g.UUID)
		if s.M.GPUKind.Links == 0 {
			continue
		}
		for link := range s.M.GPUKind.Links {
			switch down := slices.Contains(g.DownLinks, link); {
			case has(args, "-e") && down:
				fmt.Fprintf(&b, "\t Link %d: <inactive>\n", link)
			case has(args, "-e") && s.M.GPUKind.LinkRate > nvlink4:
				b.WriteString(nvlink5Counters(link))
			case has(args, "-e"):
				fmt.Fprintf(&b, "\t Link %[1]d: Replay Errors: 0\n\t Link %[1]d: Recovery Errors: 0\n\t Link %[1]d: CRC Errors: 0\n\n", link)
			case down:
				fmt.Fprintf(&b, "\t Link %d: <inactive>\n", link)
			default:
				fmt.Fprintf(&b, "\t Link %d: %.3f GB/s\n", link, s.M.GPUKind.LinkRate)
			}
		}
	}
	return reply{out: s.lostLines() + b.String(), exit: s.lostExit()}
}

// nvlink4 is the raw rate of a link of the fourth generation, GB/s.
const nvlink4 = 26.562

// nvlink5Counters are those of the fifth generation: it counts neither replays nor CRC errors, and its error
// correction mends bits on every healthy link.
func nvlink5Counters(link int) string {
	var b strings.Builder
	for _, c := range []struct{ name, value string }{
		{"Tx packets", "36528"},
		{"Rx packets", "36528"},
		{"Malformed packet Errors", "0"},
		{"Buffer overrun Errors", "0"},
		{"Rx Errors", "0"},
		{"Local link integrity Errors", "0"},
		{"Link recovery successful events", "0"},
		{"Link recovery failed events", "0"},
		{"Total link recovery events", "0"},
		{"Effective Errors", "0"},
		{"Effective BER", "15e-255"},
		{"FEC Errors - 0", "77115338810"},
		{"FEC Errors - 1", "41"},
		{"Symbol Errors", "0"},
		{"Symbol BER", "15e-255"},
	} {
		fmt.Fprintf(&b, "\t Link %d: %s: %s\n", link, c.name, c.value)
	}
	return b.String() + "\n"
}

// topology answers `nvidia-smi topo -m`: GPUs, then the fabric NICs.
func (s *system) topology() string {
	gpus := s.gpus()
	var nics []NIC
	for _, n := range s.M.NICs {
		if n.Maker == "NVIDIA" {
			nics = append(nics, n)
		}
	}
	var b strings.Builder
	for _, g := range gpus {
		fmt.Fprintf(&b, "\tGPU%d", g.Index)
	}
	for i := range nics {
		fmt.Fprintf(&b, "\tNIC%d", i)
	}
	b.WriteString("\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n")
	for _, g := range gpus {
		fmt.Fprintf(&b, "GPU%d", g.Index)
		for _, other := range gpus {
			b.WriteString("\t" + s.pair(&g, &other))
		}
		for _, n := range nics {
			b.WriteString("\t" + s.near(g.Address, n.Address))
		}
		fmt.Fprintf(&b, "\t%s\t%d\t\tN/A\n", s.M.cpuList(g.Node), g.Node)
	}
	for i, n := range nics {
		fmt.Fprintf(&b, "NIC%d", i)
		for _, g := range gpus {
			b.WriteString("\t" + s.near(n.Address, g.Address))
		}
		for j, other := range nics {
			if i == j {
				b.WriteString("\t X ")
				continue
			}
			b.WriteString("\t" + s.near(n.Address, other.Address))
		}
		b.WriteString("\t\t\t\t\n")
	}
	b.WriteString("\nLegend:\n\n  X    = Self\n" +
		"  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)\n" +
		"  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node\n" +
		"  PIX  = Connection traversing at most a single PCIe bridge\n" +
		"  NV#  = Connection traversing a bonded set of # NVLinks\n\nNIC Legend:\n\n")
	for i := range nics {
		fmt.Fprintf(&b, "  NIC%[1]d: mlx5_%[1]d\n", i)
	}
	return b.String()
}

// pair is the cell of two GPUs: the NVLinks of the one that has fewer, or where
// they meet on PCIe.
func (s *system) pair(a, b *gpuNow) string {
	if a.Index == b.Index {
		return " X "
	}
	if links := s.M.GPUKind.Links; links > 0 {
		return fmt.Sprintf("NV%d", links-max(len(a.DownLinks), len(b.DownLinks)))
	}
	return s.near(a.Address, b.Address)
}

// near says where the paths of two devices meet.
func (s *system) near(a, b string) string {
	pa, pb := s.M.path(a), s.M.path(b)
	switch {
	case len(pa) > 0 && len(pb) > 0 && pa[0] == pb[0]:
		return "PIX"
	case s.M.device(a).Node == s.M.device(b).Node:
		return "NODE"
	}
	return "SYS"
}

// cpuList are the CPU numbers of one NUMA node: cores, then their second threads.
func (m *Machine) cpuList(node int) string {
	c, all := m.CPU.Cores, m.CPU.Cores*m.CPU.Sockets
	return fmt.Sprintf("%d-%d,%d-%d", node*c, (node+1)*c-1, all+node*c, all+(node+1)*c-1)
}
