package nodetest

import "slices"

// server says of what a machine of one profile is built.
type server struct {
	profile, maker, product, board string
	cpu                            string // of cpuKinds
	perChannel                     int    // DIMMs of a channel
	gpu                            string // of gpuKinds
	gpus                           int
	moreDrives, moreNICs           int // beside those that hang on the GPUs' branches
}

// Servers lists the profiles of which New builds a healthy machine: those of Models, and the rest of the library.
func Servers() []string {
	names := Models()
	for i := range servers {
		names = append(names, servers[i].profile)
	}
	return names
}

// servers are machines as they are sold, and one for every profile that leaves the chassis open.
var servers = []server{
	{"hgx-a100-8", "Giga Computing", "G492-ZD2-00", "MZ52-G40-00", "rome", 2, "a100-sxm-80", 8, 0, 0},
	{"hgx-a100-40gb-8", "Giga Computing", "G492-ZD0-00", "MZ52-G40-00", "rome", 1, "a100-sxm-40", 8, 0, 0},
	{"hgx-h200-8", "Giga Computing", "G593-SD1-AAX1", "MS93-FS0-000", "emerald", 2, "h200-sxm-141", 8, 0, 0},
	{"hgx-b200-8", "Supermicro", "SYS-A22GA-NBRT", "X14DBG-DAP", "emerald", 2, "b200-sxm-180", 8, 0, 0},
	{"hgx-b300-8", "Supermicro", "SYS-822GS-NB3RT", "X14DBG-LC", "emerald", 2, "b300-sxm-270", 8, 0, 0},
	{"h100-pcie-4", "Supermicro", "SYS-521GE-TNRT", "X13DEG-OA", "sapphire", 1, "h100-pcie-80", 4, 0, 0},
	{"h100-nvl-4", "Supermicro", "SYS-521GE-TNRT", "X13DEG-OA", "sapphire", 1, "h100-nvl-94", 4, 0, 0},
	{"h200-nvl-8", "Supermicro", "SYS-522GA-NRT", "X14DBG-AP", "emerald", 1, "h200-nvl-141", 8, 0, 0},
	{"a100-pcie-4", "Supermicro", "AS -4124GS-TNR", "H12DSG-O-CPU", "rome", 1, "a100-pcie-80", 4, 0, 0},
	{"a40-4", "Supermicro", "AS -4124GS-TNR", "H12DSG-O-CPU", "rome", 1, "a40", 4, 0, 0},
	{"rtx-pro-6000-8", "Supermicro", "SYS-522GA-NRT", "X14DBG-AP", "emerald", 1, "rtx-pro-6000-server", 8, 0, 0},

	{"dgx-a100", "NVIDIA", "DGXA100 920-23687-2530-000", "DGXA100", "rome", 2, "a100-sxm-80", 8, 2, 2},
	{"dgx-h100", "NVIDIA", "DGXH100", "DGXH100", "sapphire dgx", 2, "h100-sxm-80", 8, 2, 2},
	{"dgx-h200", "NVIDIA", "DGXH200", "DGXH200", "sapphire dgx", 2, "h200-sxm-141", 8, 2, 2},
	{"dgx-b200", "NVIDIA", "DGXB200", "DGXB200", "emerald dgx", 2, "b200-sxm-180", 8, 2, 0},

	{"sys-821ge-h100", "Supermicro", "SYS-821GE-TNHR", "X13DEG-OAD", "sapphire", 2, "h100-sxm-80", 8, 0, 0},
	{"sys-821ge-h200", "Supermicro", "SYS-821GE-TNHR", "X13DEG-OAD", "emerald", 2, "h200-sxm-141", 8, 0, 0},
	{"as-8125gs-h100", "Supermicro", "AS -8125GS-TNHR", "H13DSG-O-CPU-D", "genoa", 1, "h100-sxm-80", 8, 0, 0},
	{"as-8125gs-h200", "Supermicro", "AS -8125GS-TNHR", "H13DSG-O-CPU-D", "turin", 1, "h200-sxm-141", 8, 0, 0},
	{"as-4124go-a100", "Supermicro", "AS -4124GO-NART", "H12DGO-6", "rome", 2, "a100-sxm-80", 8, 0, 0},
	{"xe9680-h100", "Dell Inc.", "PowerEdge XE9680", "0HMYM8", "sapphire", 2, "h100-sxm-80", 8, 0, 0},
	{"xe9680-h200", "Dell Inc.", "PowerEdge XE9680", "0HMYM8", "emerald", 2, "h200-sxm-141", 8, 0, 0},
	{"sr680a-v3-h100", "Lenovo", "ThinkSystem SR680a V3", "SB27B60000", "sapphire", 2, "h100-sxm-80", 8, 0, 0},
	{"sr680a-v3-h200", "Lenovo", "ThinkSystem SR680a V3", "SB27B60000", "emerald", 2, "h200-sxm-141", 8, 0, 0},
	{"sr680a-v3-b200", "Lenovo", "ThinkSystem SR680a V3", "SB27B60000", "emerald", 2, "b200-sxm-180", 8, 0, 0},
	{"xd685-h200", "HPE", "HPE ProLiant Compute XD685", "XD685", "turin", 1, "h200-sxm-141", 8, 0, 0},
	{"xd685-b200", "HPE", "HPE ProLiant Compute XD685", "XD685", "turin", 1, "b200-sxm-180", 8, 0, 0},
	{"xd685-b300", "HPE", "HPE ProLiant Compute XD685", "XD685", "turin", 1, "b300-sxm-270", 8, 0, 0},
	{"sys-421ge-l40s-8", "Supermicro", "SYS-421GE-TNRT", "X13DEG-OA", "sapphire", 1, "l40s", 8, 0, 0},
	{"r760xa-l40s-4", "Dell Inc.", "PowerEdge R760xa", "0M5X9D", "emerald", 1, "l40s", 4, 0, 0},
	{"r760xa-h100-nvl-4", "Dell Inc.", "PowerEdge R760xa", "0M5X9D", "sapphire", 1, "h100-nvl-94", 4, 0, 0},
	{"r750xa-a40-4", "Dell Inc.", "PowerEdge R750xa", "0JKNJN", "ice lake", 1, "a40", 4, 0, 0},
	{"r750xa-a100-4", "Dell Inc.", "PowerEdge R750xa", "0JKNJN", "ice lake", 1, "a100-pcie-80", 4, 0, 0},
	{"sr675-v3-h200-nvl-8", "Lenovo", "ThinkSystem SR675 V3", "SB27B40000", "turin", 1, "h200-nvl-141", 8, 0, 0},
	{"sr675-v3-rtx-pro-8", "Lenovo", "ThinkSystem SR675 V3", "SB27B40000", "genoa", 1, "rtx-pro-6000-server", 8, 0, 0},
}

// blueprint fills in what the machines of the library have in common: drives and adapters of the first models.
func (s *server) blueprint() *blueprint {
	gpu, cpu := gpuKinds[s.gpu], cpuKinds[s.cpu]
	b := *blueprints[1]
	if gpu.Form == "sxm" {
		b = *blueprints[0]
	}
	b.profile, b.manufacturer, b.product, b.board = s.profile, s.maker, s.product, s.board
	b.productPart, b.chassis = s.product+"-SIM", "CHASSIS-SIM"
	b.cpu, b.channels, b.perChannel = cpu.CPU, cpu.channels, s.perChannel
	b.dimm = DIMM{GiB: 64, Rated: cpu.rated, Runs: cpu.rated, Maker: "Samsung", Part: "M321R8GA0BB0-SIM"}
	if s.perChannel > 1 {
		b.dimm.Runs -= 400
	}
	b.gpu, b.gpuChip = gpu.GPUKind, gpu.chip
	b.gpuBuses = slices.Clone(b.gpuBuses[:s.gpus/2])
	b.gpuBuses = append(b.gpuBuses, blueprints[0].gpuBuses[4:4+s.gpus/2]...)
	b.moreDrives, b.moreNICs = s.moreDrives, s.moreNICs
	if gpu.LinkRate > 50 || gpu.Gen < 5 {
		b.driver = "580.105.08"
	}
	return &b
}
