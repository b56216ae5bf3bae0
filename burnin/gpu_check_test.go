package burnin

import (
	"maps"
	"testing"
)

// A healthy machine passes every GPU check, with nothing left open.
func TestGPUChecksHealthy(t *testing.T) {
	t.Parallel()
	found := gpuAnswers(gpuFolder(t, "gpu-two-h100"), gpuProfile(t, "two-h100"), gpuChecks()...)
	if bad := notGoodAnswers(found); len(bad) != 0 {
		t.Errorf("a healthy machine is not passed: %v", bad)
	}
	for _, id := range []string{
		"gpu.count/count/GPUs", "gpu.count/present/GPU SXM1", "gpu.count/product/GPU SXM3", "gpu.count/pci_id/GPU SXM3",
		"gpu.driver/answers/NVIDIA driver", "gpu.driver/state/GPU SXM1", "gpu.memory/memory/GPU SXM1", "gpu.memory/bar1/GPU SXM3",
		"gpu.ecc/mode/GPU SXM1", "gpu.ecc/mode_pending/GPU SXM1", "gpu.ecc/sram_uncorrected_volatile/GPU SXM1",
		"gpu.ecc/dram_uncorrected_aggregate/GPU SXM3", "gpu.remap/failure/GPU SXM1", "gpu.remap/pending/GPU SXM3",
		"gpu.xid/xid/GPU SXM1", "gpu.xid/sxid/NVSwitches", "gpu.mig/mode/GPU SXM1", "gpu.nvlink/links/GPU SXM1", "gpu.nvlink/rate/GPU SXM3",
		"gpu.nvlink_errors/crc_errors/GPU SXM1", "gpu.topology/path/GPU SXM3", "gpu.fabric/state/GPU SXM1", "gpu.fabric/health/GPU SXM1",
	} {
		if got := gpuAnswer(found[id]); got != "pass" {
			t.Errorf("%s = %s, want pass", id, got)
		}
	}
	part := found["gpu.ecc/mode/GPU SXM1"]
	if part.Address != "0000:a8:00.0" || part.Serial != "1650100000012" || part.Index == nil || *part.Index != 1 || part.Class != ClassSXM {
		t.Errorf("GPU SXM1 is told as %+v", part)
	}
}

// Each row plants one fault in the healthy machine; only what it touches may differ.
func TestGPUChecksFaults(t *testing.T) {
	t.Parallel()
	const smi, links, errs, topo, klog = "after/nvidia-smi", "after/nvlink", "after/nvlink-errors", "after/gpu-topology", "after/kernel-log"
	rows := []struct {
		name  string
		check Check
		edits []gpuEdit
		want  map[string]string
	}{
		{
			"ECC off", gpuECC,
			[]gpuEdit{{smi, "<current_ecc>Enabled", "<current_ecc>Disabled", 1}},
			map[string]string{"gpu.ecc/mode/GPU SXM1": "fail"},
		},
		{
			"ECC off after reset", gpuECC,
			[]gpuEdit{{smi, "<pending_ecc>Enabled", "<pending_ecc>Disabled", 0}},
			map[string]string{"gpu.ecc/mode_pending/GPU SXM3": "fail"},
		},
		{"uncorrected DRAM errors while SRAM is not shown", gpuECC, []gpuEdit{
			{smi, "<dram_uncorrectable>0", "<dram_uncorrectable>5", 0},
			{smi, "<sram_uncorrectable_parity>0", "<sram_uncorrectable_parity>N/A", 0},
			{smi, "<sram_uncorrectable_secded>0", "<sram_uncorrectable_secded>N/A", 0},
		}, map[string]string{"gpu.ecc/dram_uncorrected_volatile/GPU SXM3": "fail", "gpu.ecc/sram_uncorrected_volatile/GPU SXM3": "not_run"}},
		{"one half of the SRAM counter is not shown, the other counts", gpuECC, []gpuEdit{
			{smi, "<sram_uncorrectable_parity>0", "<sram_uncorrectable_parity>N/A", 0},
			{smi, "<sram_uncorrectable_secded>0", "<sram_uncorrectable_secded>3", 0},
		}, map[string]string{"gpu.ecc/sram_uncorrected_volatile/GPU SXM3": "fail"}},
		{
			"an error before that a reset has wiped", gpuECC,
			[]gpuEdit{{"before/nvidia-smi", "<dram_uncorrectable>0", "<dram_uncorrectable>1", 0}},
			map[string]string{"gpu.ecc/dram_uncorrected_volatile/GPU SXM3": "fail"},
		},
		{
			"lifetime errors", gpuECC,
			[]gpuEdit{{smi, "<dram_uncorrectable>0", "<dram_uncorrectable>8", 3}},
			map[string]string{"gpu.ecc/dram_uncorrected_aggregate/GPU SXM1": "fail"},
		},
		{
			"SRAM threshold", gpuECC,
			[]gpuEdit{{smi, "<sram_threshold_exceeded>No", "<sram_threshold_exceeded>Yes", 0}},
			map[string]string{"gpu.ecc/sram_threshold_exceeded/GPU SXM3": "fail"},
		},
		{"an older driver has no SRAM threshold", gpuECC, []gpuEdit{{smi, "<sram_threshold_exceeded>No</sram_threshold_exceeded>", "", 0}}, nil},
		{
			"counter that is all ones", gpuECC,
			[]gpuEdit{{smi, "<dram_uncorrectable>0", "<dram_uncorrectable>18446744073709551615", 0}},
			map[string]string{"gpu.ecc/dram_uncorrected_volatile/GPU SXM3": "not_run"},
		},
		{
			"uncorrected errors in a sample", gpuECC,
			[]gpuEdit{{"load/nvidia-smi", "81559 MiB, 0", "81559 MiB, 2", 1}},
			map[string]string{"gpu.ecc/uncorrected_under_load/GPU SXM1": "fail"},
		},

		{
			"remap failed", gpuRemap,
			[]gpuEdit{{smi, "<remapped_row_failure>No", "<remapped_row_failure>Yes", 0}},
			map[string]string{"gpu.remap/failure/GPU SXM3": "fail"},
		},
		{
			"remap pending", gpuRemap,
			[]gpuEdit{{smi, "<remapped_row_pending>No", "<remapped_row_pending>Yes", 1}},
			map[string]string{"gpu.remap/pending/GPU SXM1": "fail"},
		},
		{
			"rows remapped in a new part", gpuRemap,
			[]gpuEdit{{smi, "<remapped_row_unc>0", "<remapped_row_unc>1", 0}},
			map[string]string{"gpu.remap/uncorrectable_rows/GPU SXM3": "fail", "gpu.remap/rows_in_test/GPU SXM3": "fail"},
		},
		{
			"channel repair pending", gpuRemap,
			[]gpuEdit{{smi, "<channel_repair_pending>No", "<channel_repair_pending>Yes", 0}},
			map[string]string{"gpu.remap/channel_repair_pending/GPU SXM3": "fail"},
		},
		{
			"memory that cannot be repaired", gpuRemap,
			[]gpuEdit{{smi, "</ecc_errors>", "<unrepairable_memory>Yes</unrepairable_memory></ecc_errors>", 0}},
			map[string]string{"gpu.remap/unrepairable_memory/GPU SXM3": "fail"},
		},
		{"pages retired and pending, as before Ampere", gpuRemap, []gpuEdit{
			{smi, "<retired_count>N/A", "<retired_count>5", 0}, {smi, "<pending_retirement>N/A", "<pending_retirement>Yes", 0},
		}, map[string]string{"gpu.remap/double_bit_pages/GPU SXM3": "fail", "gpu.remap/retirement_pending/GPU SXM3": "fail"}},

		{
			"memory of a smaller model", gpuMemory,
			[]gpuEdit{{smi, "<total>81559 MiB", "<total>81000 MiB", 0}},
			map[string]string{"gpu.memory/memory/GPU SXM3": "fail"},
		},
		{"the same memory in another unit", gpuMemory, []gpuEdit{{smi, "<total>81559 MiB", "<total>83516416 KiB", 0}}, nil},
		{
			"memory without unit", gpuMemory,
			[]gpuEdit{{smi, "<total>81559 MiB", "<total>81559", 0}},
			map[string]string{"gpu.memory/memory/GPU SXM3": "not_run"},
		},
		{
			"small window", gpuMemory,
			[]gpuEdit{{smi, "<total>131072 MiB", "<total>256 MiB", 1}},
			map[string]string{"gpu.memory/bar1/GPU SXM1": "fail"},
		},

		{
			"MIG on", gpuMIG,
			[]gpuEdit{{smi, "<current_mig>Disabled", "<current_mig>Enabled", 0}},
			map[string]string{"gpu.mig/mode/GPU SXM3": "fail"},
		},
		{
			"MIG on after reset", gpuMIG,
			[]gpuEdit{{smi, "<pending_mig>Disabled", "<pending_mig>Enabled", 1}},
			map[string]string{"gpu.mig/mode_pending/GPU SXM1": "fail"},
		},

		{
			"fabric not joined", gpuFabric,
			[]gpuEdit{{smi, "<status>Success", "<status>Insufficient Resources", 0}},
			map[string]string{"gpu.fabric/status/GPU SXM3": "fail"},
		},
		{
			"fabric in progress", gpuFabric,
			[]gpuEdit{{smi, "<state>Completed", "<state>In Progress", 0}, {smi, "<status>Success", "<status>N/A", 0}},
			map[string]string{"gpu.fabric/state/GPU SXM3": "fail", "gpu.fabric/status/GPU SXM3": "not_run"},
		},
		{
			"fabric tells a bad route", gpuFabric,
			[]gpuEdit{{smi, "<route_unhealthy>False", "<route_unhealthy>True", 1}},
			map[string]string{"gpu.fabric/health/GPU SXM1": "fail"},
		},
		{
			"fabric bandwidth", gpuFabric,
			[]gpuEdit{{smi, "<bandwidth>Full", "<bandwidth>Degraded", 1}},
			map[string]string{"gpu.fabric/health/GPU SXM1": "fail"},
		},

		{
			"one link down", gpuNVLink,
			[]gpuEdit{{links, "Link 5: 26.562 GB/s", "Link 5: <inactive>", 1}},
			map[string]string{"gpu.nvlink/links/GPU SXM1": "fail"},
		},
		{
			"one link not listed", gpuNVLink,
			[]gpuEdit{{links, "\t Link 17: 26.562 GB/s\n", "", 0}},
			map[string]string{"gpu.nvlink/links/GPU SXM3": "fail"},
		},
		{
			"one link slow", gpuNVLink,
			[]gpuEdit{{links, "Link 0: 26.562 GB/s", "Link 0: 1.562 GB/s", 1}},
			map[string]string{"gpu.nvlink/rate/GPU SXM1": "fail"},
		},
		{
			"a link whose state is not told", gpuNVLink,
			[]gpuEdit{{links, "Link 3: 26.562 GB/s", "Link 3: N/A", 0}},
			map[string]string{"gpu.nvlink/links/GPU SXM3": "not_run", "gpu.nvlink/rate/GPU SXM3": "not_run"},
		},

		{
			"CRC errors grew", gpuNVLinkErrors,
			[]gpuEdit{{errs, "Link 4: CRC Errors: 0", "Link 4: CRC Errors: 101", 0}},
			map[string]string{"gpu.nvlink_errors/crc_errors/GPU SXM3": "fail"},
		},
		{"replays stood at the same count before", gpuNVLinkErrors, []gpuEdit{
			{"before/nvlink-errors", "Link 4: Replay Errors: 0", "Link 4: Replay Errors: 9", 0},
			{errs, "Link 4: Replay Errors: 0", "Link 4: Replay Errors: 9", 0},
		}, nil},
		{"counter set to zero in between", gpuNVLinkErrors, []gpuEdit{
			{"before/nvlink-errors", "Link 4: Replay Errors: 0", "Link 4: Replay Errors: 9", 0},
			{errs, "Link 4: Replay Errors: 0", "Link 4: Replay Errors: 2", 0},
		}, map[string]string{"gpu.nvlink_errors/replay_errors/GPU SXM3": "fail"}},
		{
			"a counter that is not told", gpuNVLinkErrors,
			[]gpuEdit{{errs, "Link 4: Recovery Errors: 0", "Link 4: Recovery Errors: N/A", 1}},
			map[string]string{"gpu.nvlink_errors/recovery_errors/GPU SXM1": "not_run"},
		},

		{
			"a pair over PCIe", gpuTopology,
			[]gpuEdit{{topo, "NV18", "SYS", 0}},
			map[string]string{"gpu.topology/path/GPU SXM3/GPU SXM1": "fail"},
		},

		{
			"XID of the catalogue", gpuXID,
			[]gpuEdit{{klog, "[   12.500000]", "[   99.000000] NVRM: Xid (PCI:0000:a8:00): 48, pid=9, DBE\n[   12.500000]", 0}},
			map[string]string{"gpu.xid/xid/GPU SXM1": "fail"},
		},
		{
			"XID that nobody explains", gpuXID,
			[]gpuEdit{{klog, "[   12.500000]", "[   99.000000] NVRM: Xid (PCI:0000:a8:00): 9999, new\n[   12.500000]", 0}},
			map[string]string{"gpu.xid/xid/GPU SXM1": "not_run"},
		},
		{
			"off the bus without XID", gpuXID,
			[]gpuEdit{{klog, "[   12.500000]", "[   99.000000] NVRM: The NVIDIA GPU 0000:1b:00.0\n[   99.000001] NVRM: fallen off the bus and is not responding to commands.\n[   12.500000]", 0}},
			map[string]string{"gpu.xid/xid/GPU SXM3": "fail"},
		},
		{
			"XID of a GPU that nothing else shows", gpuXID,
			[]gpuEdit{{klog, "[   12.500000]", "[   99.000000] NVRM: Xid (PCI:0000:d8:00): 79, GPU has fallen off the bus\n[   12.500000]", 0}},
			map[string]string{"gpu.xid/xid/GPU 0000:d8:00.0": "fail"},
		},
		{
			"fatal report of a switch", gpuXID,
			[]gpuEdit{{klog, "[   12.500000]", "[   99.000000] nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30 LTSSM Fault Up\n[   12.500000]", 0}},
			map[string]string{"gpu.xid/sxid/NVSwitch 0000:05:00.0": "fail"},
		},
		{
			"log that was cut", gpuXID,
			[]gpuEdit{{klog, "\n#rackproof-end 0\n", "\n", 0}},
			map[string]string{"gpu.xid/xid/GPU SXM1": "not_run", "gpu.xid/xid/GPU SXM3": "not_run", "gpu.xid/sxid/NVSwitches": "not_run"},
		},

		{
			"wrong model", gpuCount,
			[]gpuEdit{{smi, "NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe", 0}},
			map[string]string{"gpu.count/product/GPU SXM3": "fail"},
		},
		{
			"wrong device", gpuCount,
			[]gpuEdit{{"before/nvidia-smi", "<pci_device_id>233010DE", "<pci_device_id>233110DE", 0}},
			map[string]string{"gpu.count/pci_id/GPU SXM3": "fail"},
		},
		{
			"one GPU gone under load", gpuCount,
			[]gpuEdit{{"load/nvidia-smi", "2026/11/30 10:00:03.000, 1, 00000000:A8", "Unable to determine the device handle for GPU1: 0000:A8", 0}},
			map[string]string{"gpu.count/count/GPUs": "fail"},
		},

		{
			"firmware of one GPU differs", gpuDriver,
			[]gpuEdit{{smi, "<vbios_version>96.00.99.00.01", "<vbios_version>96.00.74.00.0D", 1}},
			map[string]string{"gpu.driver/vbios/GPUs/NVIDIA H100 80GB HBM3": "warn"},
		},
		{
			"driver asks for a reset", gpuDriver,
			[]gpuEdit{{smi, "<gpu_recovery_action>None", "<gpu_recovery_action>Reset", 0}},
			map[string]string{"gpu.driver/state/GPU SXM3": "fail"},
		},
		{
			"infoROM corrupted", gpuDriver,
			[]gpuEdit{{smi, "</nvidia_smi_log>", "</nvidia_smi_log>\nWARNING: infoROM is corrupted at gpu 0000:A8:00.0", 0}},
			map[string]string{"gpu.driver/state/GPU SXM1": "fail"},
		},
		{
			"a warning that we do not know", gpuDriver,
			[]gpuEdit{{smi, "<?xml", "WARNING: something new\n<?xml", 0}},
			map[string]string{"gpu.driver/messages/NVIDIA driver/1": "warn"},
		},
		{
			"a field that answers with an error", gpuDriver,
			[]gpuEdit{{smi, "<gpu_temp>29 C", "<gpu_temp>ERR!", 0}},
			map[string]string{"gpu.driver/state/GPU SXM3": "fail"},
		},
		{"an error in a field that healthy GPUs do not know", gpuDriver, []gpuEdit{{smi, "<addressing_mode>HMM", "<addressing_mode>Unknown Error", 0}}, nil},
		{
			"GPU lost under load", gpuDriver,
			[]gpuEdit{{"load/nvidia-smi", "100 %, P0", "[GPU requires reset], P0", 1}},
			map[string]string{"gpu.driver/state/GPU SXM1": "fail"},
		},
	}
	p := gpuProfile(t, "two-h100")
	for _, row := range rows {
		t.Run(row.check.Name+": "+row.name, func(t *testing.T) {
			t.Parallel()
			rec := gpuFolder(t, "gpu-two-h100")
			for _, e := range row.edits {
				e.apply(t, rec)
			}
			got := notGoodAnswers(gpuAnswers(rec, p, row.check))
			if !maps.Equal(got, row.want) {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}
