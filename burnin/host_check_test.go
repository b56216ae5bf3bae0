package burnin

import (
	"testing"
)

func TestHealthyHost(t *testing.T) {
	found := judged(t, hostNode(t), gpuProfile(t, "host-node"), newGPUParts, hostChecks()...)
	wantAnswers(t, found, map[string]string{
		"identity/serial/machine":                    "pass",
		"identity/bmc_host/machine":                  "pass",
		"memory.population/count/memory":             "pass",
		"memory.population/channels/memory of CPU 1": "pass",
		"memory.ecc/ecc_width/DIMM P1-DIMMA1":        "pass",
		"memory.ecc/speed/DIMM P2-DIMMB1":            "pass",
		"memory.errors/uncorrected/memory":           "pass",
		"memory.errors/corrected/memory":             "pass",
		"memory.errors/events/memory":                "pass",
		"pcie.link/width/GPU SXM3":                   "pass",
		"pcie.link/speed/GPU SXM3":                   "pass",
		"pcie.link/uplink_width/GPU SXM3":            "pass",
		"pcie.link/uplink_speed/GPU SXM3":            "pass",
		"pcie.link/speed/NVMe bay 0":                 "pass",
		"pcie.link/uplink_width/NVMe bay 0":          "pass",
		"pcie.link/uplink_width/NVMe bay 1":          "not_applicable", // at a root port
		"pcie.link/speed/NIC port ens1f0np0":         "pass",
		"pcie.errors/corrected/GPU SXM3":             "pass",
		"pcie.errors/replays/GPU SXM3":               "pass",
		"pcie.errors/fatal/PCIe port 0000:16:00.0 (above GPU SXM3, NVMe bay 0, NIC port ens1f0np0)": "pass",
		"nvme.count/count/NVMe drives":              "pass",
		"nvme.count/capacity/NVMe bay 1":            "pass",
		"nvme.health/spare/NVMe bay 0":              "pass",
		"nvme.health/error_log_entries/NVMe bay 0":  "pass",
		"nvme.link/width/NVMe bay 1":                "pass",
		"gds.support/mode/GPUDirect Storage":        "pass",
		"gds.support/compat_mode/GPUDirect Storage": "pass",
		"gds.support/iommu/GPUDirect Storage":       "pass",
	}, true)
}
