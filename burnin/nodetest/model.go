package nodetest

// blueprint is what all machines of one model have in common.
type blueprint struct {
	profile, manufacturer, product, board, chassis string
	productPart                                    string
	bios, bmc                                      string
	cpu                                            CPU
	channels, perChannel                           int // DIMM slots: channels of a socket, slots of a channel
	dimm                                           DIMM
	gpu                                            GPUKind
	gpuChip                                        string // as lspci names it
	gpuBuses                                       []int  // root bus of each branch, in PCI order
	moreDrives, moreNICs                           int    // beside those on the branches
	modules                                        []int  // module number of each GPU, in PCI order; nil: none
	switched                                       bool   // GPU, drive and NIC share a PCIe switch
	drive                                          Drive
	nic                                            nicKind
	psu                                            PSU
	psus                                           int
	driver                                         string
}

type nicKind struct {
	model, part, firmware, chip, device, class string
	gbps, count                                int
}

// Models lists the models that a simulated rack is made of: names of hardware profiles. New builds more, see Servers.
func Models() []string {
	names := make([]string, len(blueprints))
	for i, b := range blueprints {
		names[i] = b.profile
	}
	return names
}

// The numbers are those of BURNIN-FACTS and of the public captures of such
// machines; nothing here decides a verdict.
var blueprints = []*blueprint{
	{
		profile: "hgx-h100-8", manufacturer: "Supermicro", product: "SYS-821GE-TNHR", board: "X13DEG-OAD",
		productPart: "SYS-821GE-TNHR-SIM", chassis: "CSE-GP801TS-R000NPF", bios: "2.1", bmc: "01.03.18",
		cpu:      CPU{Sockets: 2, Cores: 32, Vendor: "GenuineIntel", Model: "Intel(R) Xeon(R) Platinum 8462Y+", MHz: 2800, MaxMHz: 4100},
		channels: 8, perChannel: 2,
		dimm: DIMM{GiB: 64, Rated: 4800, Runs: 4400, Maker: "Samsung", Part: "M321R8GA0BB0-CQKZJ"},
		gpu: GPUKind{
			Product: "NVIDIA H100 80GB HBM3", Architecture: "Hopper", Form: "sxm", DeviceID: "2330", SubsystemID: "16c1",
			MiB: 81559, ReservedMiB: 480, BAR1: 131072, Gen: 5, Watts: 700, VBIOS: "96.00.99.00.01",
			PartNumber: "2330-885-A1", Board: "692-2G520-0200-000", Links: 18, LinkRate: 26.562,
			GraphicsMHz: 1980, MemoryMHz: 2619, Switches: 4, Fabric: true, MIG: true,
		},
		gpuChip:  "GH100 [H100 SXM5 80GB]",
		gpuBuses: []int{0x15, 0x26, 0x37, 0x48, 0x95, 0xa6, 0xb7, 0xc8},
		modules:  []int{7, 5, 6, 8, 1, 3, 4, 2}, switched: true,
		drive: Drive{Maker: "Samsung", Model: "SAMSUNG MZQL27T6HBLA-00A07", Version: "GDC5602Q", Bytes: 7681501126656},
		nic: nicKind{
			model: "MCX75310AAS-NEAT", part: "MCX75310AAS-NEAT", firmware: "28.39.1002", chip: "MT2910 Family [ConnectX-7]",
			device: "1021", class: "020700", gbps: 400, count: 8,
		},
		psu: PSU{Model: "PWS-3K06G-2R", Maker: "Supermicro", Watts: 3000}, psus: 6,
		driver: "570.172.08",
	},
	{
		profile: "l40s-8", manufacturer: "Supermicro", product: "SYS-421GE-TNRT", board: "X13DEG-OA",
		productPart: "SYS-421GE-TNRT-SIM", chassis: "CSE-418G2TS-R2K04P", bios: "2.1", bmc: "01.03.18",
		cpu:      CPU{Sockets: 2, Cores: 32, Vendor: "GenuineIntel", Model: "Intel(R) Xeon(R) Platinum 8462Y+", MHz: 2800, MaxMHz: 4100},
		channels: 8, perChannel: 1,
		dimm: DIMM{GiB: 64, Rated: 4800, Runs: 4800, Maker: "Samsung", Part: "M321R8GA0BB0-CQKZJ"},
		gpu: GPUKind{
			Product: "NVIDIA L40S", Architecture: "Ada Lovelace", Form: "pcie", DeviceID: "26b9", SubsystemID: "1851",
			MiB: 46068, ReservedMiB: 607, BAR1: 65536, Gen: 4, IdleGen: 1, Watts: 350, VBIOS: "95.02.66.00.02",
			PartNumber: "26B9-896-A1", Board: "900-2G133-0080-000", GraphicsMHz: 2520, MemoryMHz: 9001,
		},
		gpuChip:  "AD102GL [L40S]",
		gpuBuses: []int{0x15, 0x26, 0x37, 0x48, 0x95, 0xa6, 0xb7, 0xc8},
		drive:    Drive{Maker: "Samsung", Model: "SAMSUNG MZQL27T6HBLA-00A07", Version: "GDC5602Q", Bytes: 7681501126656},
		nic: nicKind{
			model: "MCX755106AS-HEAT", part: "MCX755106AS-HEAT", firmware: "28.39.1002", chip: "MT2910 Family [ConnectX-7]",
			device: "1021", class: "020000", gbps: 200, count: 2,
		},
		psu: PSU{Model: "PWS-2K08A-1R", Maker: "Supermicro", Watts: 2000}, psus: 4,
		driver: "570.172.08",
	},
}
