package nodetest

// gpuKind is one kind of GPU, with its name on the PCI bus.
type gpuKind struct {
	GPUKind
	chip string
}

// gpuKinds are the GPUs that machines are built of, by the name of their part in the profile library. The numbers
// are those that tools print on such GPUs, written down here a second time on purpose: a wrong limit of a profile
// must not find its way into the machine that is to show it.
var gpuKinds = map[string]gpuKind{
	"h100-sxm-80": {sxm(GPUKind{
		Product: "NVIDIA H100 80GB HBM3", Architecture: "Hopper", DeviceID: "2330", SubsystemID: "16c1", MiB: 81559, ReservedMiB: 480, BAR1: 131072,
		Gen: 5, Watts: 700, VBIOS: "96.00.99.00.01", PartNumber: "2330-885-A1", Board: "692-2G520-0200-000", Links: 18, LinkRate: 26.562,
		GraphicsMHz: 1980, MemoryMHz: 2619, Switches: 4,
	}), "GH100 [H100 SXM5 80GB]"},
	"h200-sxm-141": {sxm(GPUKind{
		Product: "NVIDIA H200", Architecture: "Hopper", DeviceID: "2335", SubsystemID: "18be", MiB: 143771, ReservedMiB: 615, BAR1: 262144,
		Gen: 5, Watts: 700, VBIOS: "96.00.BC.00.01", PartNumber: "2335-885-A1", Board: "692-2G520-0280-000", Links: 18, LinkRate: 26.562,
		GraphicsMHz: 1980, MemoryMHz: 3201, Switches: 4,
	}), "GH100 [H200 SXM 141GB]"},
	"a100-sxm-80": {GPUKind{
		Product: "NVIDIA A100-SXM4-80GB", Architecture: "Ampere", Form: "sxm", DeviceID: "20b2", SubsystemID: "1463", MiB: 81920, ReservedMiB: 569, BAR1: 131072,
		Gen: 4, Watts: 400, VBIOS: "92.00.45.00.05", PartNumber: "20B2-895-A1", Board: "692-2G506-0210-003", Links: 12, LinkRate: 25, MIG: true,
		GraphicsMHz: 1410, MemoryMHz: 1593,
	}, "GA100 [A100 SXM4 80GB]"},
	"a100-sxm-40": {GPUKind{
		Product: "NVIDIA A100-SXM4-40GB", Architecture: "Ampere", Form: "sxm", DeviceID: "20b0", SubsystemID: "134f", MiB: 40960, ReservedMiB: 571, BAR1: 65536,
		Gen: 4, Watts: 400, VBIOS: "92.00.19.00.01", PartNumber: "20B0-883-A1", Board: "692-2G506-0200-002", Links: 12, LinkRate: 25, MIG: true,
		GraphicsMHz: 1410, MemoryMHz: 1215,
	}, "GA100 [A100 SXM4 40GB]"},
	"b200-sxm-180": {sxm(GPUKind{
		Product: "NVIDIA B200", Architecture: "Blackwell", DeviceID: "2901", SubsystemID: "1999", MiB: 183359, ReservedMiB: 717, BAR1: 262144,
		Gen: 5, Watts: 1000, VBIOS: "97.00.88.00.0F", PartNumber: "2901-886-A1", Board: "692-2G525-0200-000", Links: 18, LinkRate: 53.125,
		GraphicsMHz: 1965, MemoryMHz: 3996,
	}), "GB100 [B200]"},
	"b300-sxm-270": {sxm(GPUKind{
		Product: "NVIDIA B300 SXM6 AC", Architecture: "Blackwell", DeviceID: "3182", SubsystemID: "20e6", MiB: 275040, ReservedMiB: 772, BAR1: 524288,
		Gen: 5, Watts: 1100, VBIOS: "97.10.4A.00.04", PartNumber: "3182-887-A1", Board: "692-2G529-0220-000", Links: 18, LinkRate: 53.125,
		GraphicsMHz: 2032, MemoryMHz: 3996,
	}), "GB110 [B300 SXM6 AC]"},
	"h100-pcie-80": {card(GPUKind{
		Product: "NVIDIA H100 PCIe", Architecture: "Hopper", DeviceID: "2331", SubsystemID: "1626", MiB: 81559, ReservedMiB: 460, BAR1: 131072,
		Gen: 5, Watts: 350, VBIOS: "96.00.5E.00.01", PartNumber: "2331-883-A1", Board: "900-21010-0000-000", GraphicsMHz: 1755, MemoryMHz: 1593,
	}), "GH100 [H100 PCIe]"},
	"h100-nvl-94": {card(GPUKind{
		Product: "NVIDIA H100 NVL", Architecture: "Hopper", DeviceID: "2321", SubsystemID: "1839", MiB: 95830, ReservedMiB: 530, BAR1: 131072,
		Gen: 5, Watts: 400, VBIOS: "96.00.9F.00.04", PartNumber: "2321-893-A1", Board: "900-21010-0020-000", GraphicsMHz: 1785, MemoryMHz: 2619,
	}), "GH100 [H100 NVL]"},
	"h200-nvl-141": {card(GPUKind{
		Product: "NVIDIA H200 NVL", Architecture: "Hopper", DeviceID: "233b", SubsystemID: "1996", MiB: 143771, ReservedMiB: 615, BAR1: 262144,
		Gen: 5, Watts: 600, VBIOS: "96.00.D9.00.01", PartNumber: "233B-894-A1", Board: "900-21010-0040-000", GraphicsMHz: 1785, MemoryMHz: 3201,
	}), "GH100 [H200 NVL]"},
	"a100-pcie-80": {card(GPUKind{
		Product: "NVIDIA A100 80GB PCIe", Architecture: "Ampere", DeviceID: "20b5", SubsystemID: "1533", MiB: 81920, ReservedMiB: 616, BAR1: 131072,
		Gen: 4, Watts: 300, VBIOS: "92.00.A0.00.05", PartNumber: "20B5-895-A1", Board: "900-21001-0020-000", GraphicsMHz: 1410, MemoryMHz: 1512,
	}), "GA100 [A100 PCIe 80GB]"},
	"a40": {idling(GPUKind{
		Product: "NVIDIA A40", Architecture: "Ampere", DeviceID: "2235", SubsystemID: "145a", MiB: 46068, ReservedMiB: 622, BAR1: 65536,
		Gen: 4, Watts: 300, VBIOS: "94.02.5C.00.03", PartNumber: "2235-895-A1", Board: "900-2G133-0000-000", GraphicsMHz: 1740, MemoryMHz: 7251,
	}), "GA102GL [A40]"},
	"l40s": {idling(GPUKind{
		Product: "NVIDIA L40S", Architecture: "Ada Lovelace", DeviceID: "26b9", SubsystemID: "1851", MiB: 46068, ReservedMiB: 607, BAR1: 65536,
		Gen: 4, Watts: 350, VBIOS: "95.02.66.00.02", PartNumber: "26B9-896-A1", Board: "900-2G133-0080-000", GraphicsMHz: 2520, MemoryMHz: 9001,
	}), "AD102GL [L40S]"},
	"rtx-pro-6000-server": {idling(GPUKind{
		Product: "NVIDIA RTX PRO 6000 Blackwell Server Edition", Architecture: "Blackwell", DeviceID: "2bb5", SubsystemID: "204e", MiB: 97887, ReservedMiB: 636, BAR1: 131072,
		Gen: 5, Watts: 600, VBIOS: "98.02.6A.00.03", PartNumber: "2BB5-895-A1", Board: "900-2G153-0000-000", GraphicsMHz: 2430, MemoryMHz: 12481, MIG: true,
	}), "GB202GL [RTX PRO 6000 Blackwell Server Edition]"},
}

// sxm is a module on a baseboard whose fabric nvidia-smi reports.
func sxm(k GPUKind) GPUKind {
	k.Form, k.MIG, k.Fabric = "sxm", true, true
	return k
}

// card is a PCIe card that keeps its link up at full speed.
func card(k GPUKind) GPUKind {
	k.Form, k.MIG = "pcie", true
	return k
}

// idling is a PCIe card whose driver lowers the link while nothing runs.
func idling(k GPUKind) GPUKind {
	k.Form, k.IdleGen = "pcie", 1
	return k
}

// cpuKind is one kind of processor, with the memory that hangs on it.
type cpuKind struct {
	CPU
	channels, rated int
}

var cpuKinds = map[string]cpuKind{
	"ice lake":     {CPU{2, 40, "GenuineIntel", "Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz", 2300, 3400}, 8, 3200},
	"sapphire":     {CPU{2, 32, "GenuineIntel", "Intel(R) Xeon(R) Platinum 8462Y+", 2800, 4100}, 8, 4800},
	"sapphire dgx": {CPU{2, 56, "GenuineIntel", "Intel(R) Xeon(R) Platinum 8480C", 2000, 3800}, 8, 4800},
	"emerald":      {CPU{2, 48, "GenuineIntel", "INTEL(R) XEON(R) PLATINUM 8568Y+", 2300, 4000}, 8, 5600},
	"emerald dgx":  {CPU{2, 56, "GenuineIntel", "INTEL(R) XEON(R) PLATINUM 8570", 2100, 4000}, 8, 5600},
	"rome":         {CPU{2, 64, "AuthenticAMD", "AMD EPYC 7742 64-Core Processor", 2250, 3400}, 8, 3200},
	"genoa":        {CPU{2, 96, "AuthenticAMD", "AMD EPYC 9654 96-Core Processor", 2400, 3700}, 12, 4800},
	"turin":        {CPU{2, 64, "AuthenticAMD", "AMD EPYC 9575F 64-Core Processor", 3300, 5000}, 12, 6000},
}
