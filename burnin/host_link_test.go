package burnin

import (
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

func linkFaults() []hostFault {
	const gpu = "0000:19:00.0\tparent=0000:17:00.0\tclass=0x030200\tvendor=0x10de\tdevice=0x2330\tcurrent_link_speed="
	return []hostFault{
		{
			name:  "the GPU has half its lanes in one sample",
			edits: []gpuEdit{swap("load/pci-sysfs", gpu+"32.0 GT/s PCIe\tcurrent_link_width=16", gpu+"32.0 GT/s PCIe\tcurrent_link_width=8")},
			want:  map[string]string{"pcie.link/width/GPU SXM3": "fail"},
		},
		{
			name:  "the GPU is slow while busy",
			edits: []gpuEdit{swap("load/pci-sysfs", gpu+"32.0 GT/s", gpu+"8.0 GT/s")},
			want:  map[string]string{"pcie.link/speed/GPU SXM3": "fail"},
		},
		{
			name: "the switch above the GPU is slow while the GPU is busy",
			edits: []gpuEdit{swap("load/pci-sysfs", "0000:16:00.0\tparent=0000:15:01.0\tclass=0x060400\tvendor=0x1000\tdevice=0xc030\tcurrent_link_speed=32.0 GT/s PCIe\tcurrent_link_width=16",
				"0000:16:00.0\tparent=0000:15:01.0\tclass=0x060400\tvendor=0x1000\tdevice=0xc030\tcurrent_link_speed=16.0 GT/s PCIe\tcurrent_link_width=8")},
			want: map[string]string{"pcie.link/uplink_speed/GPU SXM3": "fail", "pcie.link/uplink_width/GPU SXM3": "fail"},
		},
		{
			name: "no load, so no speed",
			drop: []string{"load/pci-sysfs", "load/nvidia-smi"},
			want: map[string]string{
				"pcie.link/speed/GPU SXM3": "not_run", "pcie.link/uplink_speed/GPU SXM3": "not_run",
				"pcie.link/speed/NVMe bay 0": "not_run", "pcie.link/speed/NVMe bay 1": "not_run", "pcie.link/speed/NIC port ens1f0np0": "not_run",
				"nvme.link/speed/NVMe bay 0": "not_run", "nvme.link/speed/NVMe bay 1": "not_run",
			},
		},
		{
			name: "lspci is not on the node: sysfs is enough",
			setup: func(rec *Record) {
				rec.Evidence = append(rec.Evidence, &Evidence{Probe: "lspci", Phase: PhaseBefore, Source: FromSSH, Ended: EndedNoTool})
			},
		},
		{
			name: "a host that was not loaded, without lspci",
			drop: []string{"load/pci-sysfs", "load/nvidia-smi", "after/pci-sysfs"},
			setup: func(rec *Record) {
				rec.Evidence = append(rec.Evidence, &Evidence{Probe: "lspci", Phase: PhaseBefore, Source: FromSSH, Ended: EndedNoTool})
			},
			want:    map[string]string{"pcie.link/width/GPU SXM3": "pass", "pcie.link/uplink_width/GPU SXM3": "pass", "nvme.count/count/NVMe drives": "pass"},
			loosely: true,
		},
		{
			name: "nobody looked again behind the load",
			drop: []string{"after/pci-sysfs"},
			want: map[string]string{
				"pcie.link/width/NVMe bay 0": "not_run", "pcie.link/width/NVMe bay 1": "not_run", "pcie.link/width/NIC port ens1f0np0": "not_run",
				"pcie.link/width/GPU SXM3": "not_run", "pcie.link/uplink_width/GPU SXM3": "not_run", "pcie.link/uplink_width/NVMe bay 0": "not_run",
				"nvme.link/width/NVMe bay 0": "not_run", "nvme.link/width/NVMe bay 1": "not_run", "nvme.count/count/NVMe drives": "not_run",
				"pcie.errors/fatal/GPU SXM3": "not_run", "pcie.errors/corrected/GPU SXM3": "not_run",
			},
			loosely: true,
		},
		{
			name:  "the GPU fell off under load",
			edits: []gpuEdit{swap("load/pci-sysfs", gpu+"32.0 GT/s PCIe\tcurrent_link_width=16", gpu+"Unknown\tcurrent_link_width=63")},
			want:  map[string]string{"pcie.link/width/GPU SXM3": "fail", "pcie.link/speed/GPU SXM3": "not_run"},
		},
		{
			name:  "a drive is gone behind the load",
			setup: func(rec *Record) { removeDevice(rec, "after/pci-sysfs", "0000:81:00.0") },
			want: map[string]string{
				"pcie.link/width/NVMe bay 1": "fail", "pcie.link/speed/NVMe bay 1": "not_run",
				"nvme.link/width/NVMe bay 1": "fail", "nvme.link/speed/NVMe bay 1": "not_run", "nvme.count/count/NVMe drives": "fail",
			},
		},
	}
}

// keepLines keeps the lines of evidence that a function wants.
func keepLines(rec *Record, ref string, want func(string) bool) {
	for _, e := range rec.Evidence {
		if e.Ref() != ref {
			continue
		}
		var kept []string
		for line := range strings.Lines(string(e.Out)) {
			if want(line) {
				kept = append(kept, line)
			}
		}
		e.Out = []byte(strings.Join(kept, ""))
	}
}

// removeDevice takes a device out of a listing, which then counts one less.
func removeDevice(rec *Record, ref, address string) {
	keepLines(rec, ref, func(line string) bool { return !strings.Contains(line, "\t"+address+"\t") })
	for _, e := range rec.Evidence {
		if e.Ref() == ref {
			e.Out = []byte(strings.Replace(string(e.Out), "-end 11", "-end 10", 1))
		}
	}
}

func cutCounters(rec *Record, ref, address string) {
	keepLines(rec, ref, func(line string) bool { return !strings.HasPrefix(line, "aer\t"+address+"\t") })
}

func linkErrorFaults() []hostFault {
	const port = "pcie.errors/nonfatal/PCIe port 0000:16:00.0 (above GPU SXM3, NVMe bay 0, NIC port ens1f0np0)"
	return []hostFault{
		{
			name:  "corrected errors grew beyond the limit",
			edits: []gpuEdit{swap("after/pci-sysfs", "aer\t0000:17:00.0\tcorrectable\tBadTLP\t0", "aer\t0000:17:00.0\tcorrectable\tBadTLP\t11")},
			want:  map[string]string{"pcie.errors/corrected/GPU SXM3": "fail"},
		},
		{
			name:  "a hop lost a completion before the load",
			edits: []gpuEdit{swap("before/pci-sysfs", "aer\t0000:16:00.0\tnonfatal\tCmpltTO\t0", "aer\t0000:16:00.0\tnonfatal\tCmpltTO\t1")},
			want:  map[string]string{port: "fail"},
		},
		{
			name: "the kernel keeps no counters of a drive nor of its port",
			setup: func(rec *Record) {
				for _, ref := range []string{"before/pci-sysfs", "after/pci-sysfs"} {
					cutCounters(rec, ref, "0000:81:00.0")
					cutCounters(rec, ref, "0000:80:01.0")
				}
			},
			want: map[string]string{
				"pcie.errors/corrected/NVMe bay 1": "not_run", "pcie.errors/nonfatal/NVMe bay 1": "not_run", "pcie.errors/fatal/NVMe bay 1": "not_run",
			},
		},
		{
			name: "the kernel logged a fatal error of a drive, and one of a device of no part",
			edits: []gpuEdit{swap("after/kernel-log", "[  900.100000]",
				"[  850.000000] nvme 0000:18:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer\n"+
					"[  860.000000] pcieport 0000:02:00.0: AER: Uncorrected (Non-Fatal) error received: 0000:03:00.0\n[  900.100000]")},
			want: map[string]string{"pcie.errors/fatal/NVMe bay 0": "fail", "pcie.errors/nonfatal/PCIe device 0000:03:00.0": "fail"},
		},
		{
			name:  "the GPU repeated more than the limit",
			edits: []gpuEdit{swap("after/nvidia-smi", "<replay_counter>43<", "<replay_counter>142<")},
			want:  map[string]string{"pcie.errors/replays/GPU SXM3": "fail"},
		},
	}
}

func driveFaults() []hostFault {
	edit := func(old, changed string) gpuEdit { return swap("after/smartctl@nvme1", old, changed) }
	inService := &profiles.Spec{Name: "in-service", Condition: profiles.InService, Default: profiles.Required}
	return []hostFault{
		{
			name:  "no spare blocks, while the drive calls itself healthy",
			edits: []gpuEdit{edit(`"available_spare": 100`, `"available_spare": 0`)},
			want:  map[string]string{"nvme.health/spare/NVMe bay 1": "fail"},
		},
		{
			name:  "the drive warns and calls itself failing",
			edits: []gpuEdit{edit(`"critical_warning": 0`, `"critical_warning": 4`), edit(`"passed": true`, `"passed": false`)},
			want:  map[string]string{"nvme.health/critical_warning/NVMe bay 1": "fail", "nvme.health/self_assessment/NVMe bay 1": "fail"},
		},
		{
			name:  "lost data, hot, new entries in the error log",
			edits: []gpuEdit{edit(`"media_errors": 0`, `"media_errors": 3`), edit(`"temperature": 41`, `"temperature": 78`), edit(`"num_err_log_entries": 12`, `"num_err_log_entries": 20`)},
			want: map[string]string{
				"nvme.health/media_errors/NVMe bay 1": "fail", "nvme.health/temperature/NVMe bay 1": "fail",
				"nvme.health/error_log_entries/NVMe bay 1": "fail",
			},
		},
		{
			name:  "not as new as ordered",
			edits: []gpuEdit{edit(`"percentage_used": 0`, `"percentage_used": 9`), edit(`"power_on_hours": 30`, `"power_on_hours": 9000`), edit(`"data_units_written": 12000`, `"data_units_written": 90000000`)},
			want: map[string]string{
				"nvme.health/percent_used/NVMe bay 1": "fail", "nvme.health/power_on_hours/NVMe bay 1": "fail", "nvme.health/data_written/NVMe bay 1": "fail",
			},
		},
		{
			name:  "as worn as a machine in service may be",
			edits: []gpuEdit{edit(`"percentage_used": 0`, `"percentage_used": 9`), edit(`"power_on_hours": 30`, `"power_on_hours": 9000`)},
			spec:  inService,
		},
		{
			name:  "as worn, and came to replace another drive",
			edits: []gpuEdit{edit(`"percentage_used": 0`, `"percentage_used": 9`), edit(`"power_on_hours": 30`, `"power_on_hours": 9000`)},
			setup: func(rec *Record) { rec.Machine.Replacements = []string{"RPTEST0002"} },
			spec:  inService,
			want:  map[string]string{"nvme.health/percent_used/NVMe bay 1": "fail", "nvme.health/power_on_hours/NVMe bay 1": "fail"},
		},
		{
			name:  "a log that is not filled in",
			edits: []gpuEdit{edit(`"power_cycles": 6`, `"power_cycles": 0`), edit(`"data_units_read": 9000`, `"data_units_read": 0`), edit(`"data_units_written": 12000`, `"data_units_written": 0`)},
			want: func() map[string]string {
				m := map[string]string{}
				for _, a := range healthAsks {
					m["nvme.health/"+a.quantity+"/NVMe bay 1"] = "not_run"
				}
				return m
			}(),
		},
		{
			name: "not asked behind the load",
			drop: []string{"after/smartctl@nvme1"},
			want: func() map[string]string {
				m := map[string]string{}
				for _, a := range healthAsks {
					m["nvme.health/"+a.quantity+"/NVMe bay 1"] = "not_run"
				}
				return m
			}(),
		},
		{
			name:  "smartctl notes something",
			edits: []gpuEdit{edit(`"exit_status": 0`, `"exit_status": 64`)},
			want:  map[string]string{"nvme.health/self_assessment/NVMe bay 1": "warn"},
		},
		{
			name:  "the kernel lost patience with a drive",
			edits: []gpuEdit{swap("after/kernel-log", "[  900.100000]", "[  850.000000] nvme nvme1: I/O 22 QID 5 timeout, aborting\n[  900.100000]")},
			want:  map[string]string{"nvme.health/kernel_log/NVMe bay 1": "fail"},
		},
		{
			name: "a drive that only the BMC sees",
			setup: func(rec *Record) {
				for _, ref := range []string{"before/pci-sysfs", "after/pci-sysfs"} {
					removeDevice(rec, ref, "0000:81:00.0")
				}
			},
			drop: []string{"before/smartctl@nvme1", "after/smartctl@nvme1", "load/pci-sysfs"},
			want: func() map[string]string {
				m := map[string]string{
					"nvme.count/count/NVMe drives": "fail", "nvme.count/capacity/NVMe bay 1": "not_run",
					"pcie.link/speed/GPU SXM3": "pass", "pcie.link/uplink_speed/GPU SXM3": "not_run",
				}
				for _, a := range healthAsks {
					m["nvme.health/"+a.quantity+"/NVMe bay 1"] = "not_run"
				}
				for _, q := range []string{"width", "speed"} {
					m["pcie.link/"+q+"/NVMe bay 1"], m["nvme.link/"+q+"/NVMe bay 1"] = "not_run", "not_run"
				}
				for _, q := range []string{"corrected", "nonfatal", "fatal"} {
					m["pcie.errors/"+q+"/NVMe bay 1"] = "not_run"
				}
				for _, id := range []string{"pcie.link/speed/NVMe bay 0", "nvme.link/speed/NVMe bay 0", "pcie.link/speed/NIC port ens1f0np0", "pcie.link/uplink_width/NVMe bay 1"} {
					m[id] = "not_run"
				}
				return m
			}(),
		},
	}
}

func gdsFaults() []hostFault {
	return []hostFault{
		{
			name:  "compatibility mode only, although the platform is verified",
			edits: []gpuEdit{swap("before/gdscheck", "NVMe               : Supported", "NVMe               : compat"), swap("before/gdscheck", "use_compat_mode : false", "use_compat_mode : true")},
			want:  map[string]string{"gds.support/mode/GPUDirect Storage": "not_run", "gds.support/compat_mode/GPUDirect Storage": "fail"},
		},
		{
			name:  "the kernel's own path",
			edits: []gpuEdit{swap("before/gdscheck", "NVMe               : Supported", "NVMe               : Unsupported"), swap("before/gdscheck", "NVMe P2PDMA        : Unsupported", "NVMe P2PDMA        : Supported")},
		},
		{
			name: "the IOMMU is on, the verification failed, a GPU is refused",
			edits: []gpuEdit{
				swap("before/gdscheck", "IOMMU: disabled", "IOMMU: Pass-through or enabled"), swap("before/gdscheck", "verification succeeded", "verification error"),
				swap("before/gdscheck", "(MiB):131072 supports GDS", "(MiB):256 does not support GDS"),
			},
			want: map[string]string{
				"gds.support/iommu/GPUDirect Storage": "fail", "gds.support/verification/GPUDirect Storage": "fail", "gds.support/gpu/CUDA GPU 0": "fail",
			},
		},
		{
			name:  "the tool is not there",
			setup: func(rec *Record) { replace(rec, "before/gdscheck", "gdscheck is not in this image\n") },
			want: map[string]string{
				"gds.support/mode/GPUDirect Storage": "not_run", "gds.support/compat_mode/GPUDirect Storage": "not_run", "gds.support/iommu/GPUDirect Storage": "not_run",
			},
		},
	}
}
