package burnin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// fill reads the fields of a full query. Each field is named once, by its paths in
// XML and in text, oldest and newest spelling alike.
func (l *NvidiaLog) fill(root *nvidiaNode) {
	// Since 610 "Driver Version" carries a note in brackets and "KMD Version" is
	// the plain one; --version prints "Deprecated, see …" in its place.
	l.Driver = versionWord(root.textAt("kmd_version"), root.textAt("driver_version"))
	l.CUDA = versionWord(root.textAt("cuda_umd_version"), root.textAt("cuda_version"))
	l.Attached = optCount(root.textAt("attached_gpus"))
	for node := range root.find("gpu") {
		g := NvidiaGPU{Index: -1}
		r := fieldReader{node: node, faults: &g.Faults}
		g.readIdentity(r)
		g.readMemoryHealth(r)
		g.readState(r)
		node.each(func(n *nvidiaNode) {
			if g.Lost == "" && isLostWord(n.text) {
				g.Lost = n.text
			}
			r.note(isErrWord(n.text) && !slices.Contains(g.Faults, faultText(n.name, n.text)), n.text, n.name)
		})
		l.GPUs = append(l.GPUs, g)
	}
}

// versionWord returns the first of texts that is a version.
func versionWord(texts ...string) string {
	for _, t := range texts {
		t, _, _ = strings.Cut(t, "[")
		if t = strings.TrimSpace(t); t != "" && t[0] >= '0' && t[0] <= '9' {
			return t
		}
	}
	return ""
}

// fieldReader reads fields of one GPU and notes those in which it does not answer.
type fieldReader struct {
	node   *nvidiaNode
	faults *[]string
}

func (r fieldReader) note(fault bool, text, path string) {
	if fault {
		*r.faults = append(*r.faults, faultText(path, text))
	}
}

func faultText(path, text string) string {
	return fmt.Sprintf("%s reads %q", path[strings.LastIndexByte(path, '/')+1:], text)
}

func (r fieldReader) word(paths ...string) Opt[string] {
	o := optWord(r.node.textAt(paths...))
	r.note(o.Fault(), o.Text, paths[0])
	return o
}

func (r fieldReader) count(paths ...string) Opt[float64] {
	o := optCount(r.node.textAt(paths...))
	r.note(o.Fault(), o.Text, paths[0])
	return o
}

func (r fieldReader) quantity(unit profiles.Unit, paths ...string) Opt[float64] {
	o := optQuantity(r.node.textAt(paths...), unit, "")
	r.note(o.Fault(), o.Text, paths[0])
	return o
}

func (g *NvidiaGPU) readIdentity(r fieldReader) {
	g.Address = normalAddress(r.node.attr)
	if bus := r.word("pci/pci_bus_id", "pci/bus_id"); g.Address == "" && bus.Set {
		g.Address = normalAddress(bus.V)
	}
	g.PCIID = pciID(r.word("pci/pci_device_id", "pci/device_id").V)
	g.Product = r.word("product_name")
	g.Serial = r.word("serial", "serial_number")
	g.UUID = r.word("uuid", "gpu_uuid")
	// Until 535 the module's number stands by itself, later under the platform.
	g.Module = r.word("platforminfo/module_id", "platform_info/module_id", "gpu_module_id", "module_id")
	g.VBIOS = r.word("vbios_version")
	g.Firmware = r.word("gsp_firmware_version")
	g.Board = r.word("board_part_number")
}

func (g *NvidiaGPU) readMemoryHealth(r fieldReader) {
	g.ECCMode = NvidiaMode{
		r.word("ecc_mode/current_ecc", "ecc_mode/current"),
		r.word("ecc_mode/pending_ecc", "ecc_mode/pending"),
	}
	g.Volatile, g.Aggregate = r.ecc("volatile"), r.ecc("aggregate")
	g.SRAMThreshold = r.word("ecc_errors/aggregate/sram_threshold_exceeded")

	g.RemapCorrectable = r.count("remapped_rows/remapped_row_corr", "remapped_rows/correctable_error")
	g.RemapUncorrectable = r.count("remapped_rows/remapped_row_unc", "remapped_rows/uncorrectable_error")
	g.RemapPending = r.word("remapped_rows/remapped_row_pending", "remapped_rows/pending")
	g.RemapFailure = r.word("remapped_rows/remapped_row_failure", "remapped_rows/remapping_failure_occurred")
	g.ChannelRepair = r.word("ecc_errors/channel_repair_pending")
	g.TPCRepair = r.word("ecc_errors/tpc_repair_pending")
	g.Unrepairable = r.word("ecc_errors/unrepairable_memory")

	g.RetiredDouble = r.count("retired_pages/double_bit_retirement/retired_count", "retired_pages/double_bit_ecc")
	g.RetirePending = r.word("retired_pages/pending_retirement", "retired_pages/pending_blacklist", "retired_pages/pending_page_blacklist")
}

// ecc reads the counts of one lifetime, "volatile" or "aggregate". GPUs before
// Turing count by bits and by unit: device memory is DRAM, the rest of the total SRAM.
func (r fieldReader) ecc(lifetime string) NvidiaECC {
	at := "ecc_errors/" + lifetime + "/"
	old := func(bits, unit string) Opt[float64] { return r.count(at + bits + "/" + unit) }
	rest := func(bits string) Opt[float64] {
		total, dram := old(bits, "total"), old(bits, "device_memory")
		if total.Set && dram.Set {
			total.V = max(total.V-dram.V, 0)
		}
		return total
	}
	first := func(now, before Opt[float64]) Opt[float64] {
		if now.Text == "" {
			return before
		}
		return now
	}
	return NvidiaECC{
		SRAMCorrected:   first(r.count(at+"sram_correctable"), rest("single_bit")),
		DRAMCorrected:   first(r.count(at+"dram_correctable"), old("single_bit", "device_memory")),
		DRAMUncorrected: first(r.count(at+"dram_uncorrectable"), old("double_bit", "device_memory")),
		SRAMUncorrected: first(optSum(
			r.count(at+"sram_uncorrectable"),
			bothOf(r.count(at+"sram_uncorrectable_parity"), r.count(at+"sram_uncorrectable_secded", at+"sram_uncorrectable_sec_ded")),
		), rest("double_bit")),
	}
}

// bothOf adds two counters that are one quantity: one of them alone is not all of it.
func bothOf(a, b Opt[float64]) Opt[float64] {
	sum := optSum(a, b)
	if a.Set != b.Set && sum.V == 0 {
		return Opt[float64]{Text: firstWord(a.Text, b.Text) + ", one of its two counters"}
	}
	return sum
}

func (g *NvidiaGPU) readState(r fieldReader) {
	g.MIG = NvidiaMode{
		r.word("mig_mode/current_mig", "mig_mode/current"),
		r.word("mig_mode/pending_mig", "mig_mode/pending"),
	}
	g.License = r.word("vgpu_software_licensed_product/license_status", "grid_licensed_product/license_status")
	if word, _, dated := strings.Cut(g.License.V, " ("); dated { // "Licensed (Expiry: 2026-12-1 9:0:0 GMT)"
		g.License.V = word
	}
	g.RecoveryAction = r.word("gpu_recovery_action")
	g.ResetRequired = r.word("gpu_reset_status/reset_required")
	g.DrainRecommended = r.word("gpu_reset_status/drain_and_reset_recommended")
	g.PerformanceState = r.word("performance_state")

	g.Memory = r.quantity(profiles.MiB, "fb_memory_usage/total")
	g.BAR1 = r.quantity(profiles.MiB, "bar1_memory_usage/total")
	g.Utilisation = r.quantity(profiles.Percent, "utilization/gpu_util", "utilization/gpu")
	g.Temperature = r.quantity(profiles.Celsius, "temperature/gpu_temp", "temperature/gpu_current_temp")
	g.readPower(r)
	g.readStrain(r)

	const link = "pci/pci_gpu_link_info/"
	const text = "pci/gpu_link_info/"
	g.LinkGen = r.count(link+"pcie_gen/current_link_gen", text+"pcie_generation/current")
	g.LinkWidth = r.count(link+"link_widths/current_link_width", text+"link_width/current")
	g.Replays = r.count("pci/replay_counter", "pci/replays_since_reset")
	g.Transmit = r.quantity(profiles.MBPerSecond, "pci/tx_util", "pci/tx_throughput")
	g.Receive = r.quantity(profiles.MBPerSecond, "pci/rx_util", "pci/rx_throughput")

	g.FabricState = r.word("fabric/state")
	g.FabricStatus = r.word("fabric/status")
	for health := range r.node.find("fabric/health") {
		for c := range health.children() {
			g.FabricHealth = append(g.FabricHealth, NvidiaWord{c.name, optWord(c.text)})
		}
	}
}

// readPower knows three generations of the section: power_readings (to 530),
// gpu_power_readings with power_draw (535 to 565), with average and instant (570 on).
func (g *NvidiaGPU) readPower(r fieldReader) {
	g.PowerDraw = r.quantity(profiles.Watt,
		"gpu_power_readings/instant_power_draw", "gpu_power_readings/instantaneous_power_draw",
		"gpu_power_readings/power_draw", "gpu_power_readings/average_power_draw", "power_readings/power_draw")
}
