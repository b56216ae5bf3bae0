package burnin

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

// looseCase is one row of the corpus' index: captures, the checks they feed, and
// the right reading of each.
type looseCase struct {
	name    string
	files   map[string]string // reference → file
	profile string
	spec    *profiles.Spec
	check   Check
	want    map[string]string
	strict  bool // nothing else is open
}

func TestHostCaptures(t *testing.T) {
	for _, c := range hostCaptures() {
		t.Run(c.name, func(t *testing.T) {
			files := map[string][]byte{}
			for ref, name := range c.files {
				files[ref] = corpus(t, name)
			}
			spec := c.spec
			if spec == nil {
				spec = newGPUParts
			}
			found := judged(t, looseHost(files), gpuProfile(t, c.profile), spec, c.check)
			wantAnswers(t, found, c.want, c.strict)
		})
	}
}

// usedParts is a spec for machines that were sold as used.
var usedParts = &profiles.Spec{Name: "used", Condition: profiles.InService, Default: profiles.Required}

func hostCaptures() []looseCase {
	eight := map[string]string{}
	for _, a := range []string{"19", "3b", "4c", "5d", "9b", "bb", "cb", "db"} {
		for _, q := range []string{"width", "speed", "uplink_width", "uplink_speed"} {
			eight[fmt.Sprintf("pcie.link/%s/GPU 0000:%s:00.0", q, a)] = "pass"
		}
	}
	return []looseCase{
		{
			name: "eight GPUs at full speed among sixteen downgraded ports", profile: "hgx-h100-8", check: pcieLink, strict: true,
			files: map[string]string{"lspci": "lspci/gpud-lspci-vvv.txt"}, want: eight,
		},
		{
			name: "the same listing has the drives' widths", profile: "hgx-h100-8", check: nvmeLink, strict: true,
			files: map[string]string{"lspci": "lspci/gpud-lspci-vvv.txt"},
			want:  map[string]string{"nvme.link/width/NVMe slot 167": "pass"},
		},
		{
			name: "firmware tables: ECC, speed and two empty sockets", profile: "two-sodimms", check: memoryECC, strict: true,
			files: map[string]string{"dmidecode": "dmidecode/ironlib-asrr_e3c246d4i-nl_dmidecode.txt"},
			want: map[string]string{
				"memory.ecc/error_correction/memory": "pass", "memory.ecc/ecc_width/DIMM ChannelA-DIMM0": "pass",
				"memory.ecc/speed/DIMM ChannelB-DIMM0": "pass",
			},
		},
		{
			name: "firmware tables: two of four sockets are filled", profile: "two-sodimms", check: memoryPopulation, strict: true,
			files: map[string]string{"dmidecode": "dmidecode/ironlib-asrr_e3c246d4i-nl_dmidecode.txt"},
			want: map[string]string{
				"memory.population/count/memory": "pass", "memory.population/size/DIMM ChannelA-DIMM0": "pass",
				"memory.population/channels/memory of CPU 0": "pass",
			},
		},
		{
			name: "firmware tables of a virtual machine: 127 empty sockets, no ECC", profile: "two-sodimms", check: memoryECC,
			files: map[string]string{"dmidecode": "jc/centos-7.7--dmidecode.out"},
			want: map[string]string{
				"memory.ecc/error_correction/memory": "fail", "memory.ecc/speed/DIMM RAM slot #0": "not_run",
				"memory.ecc/ecc_width/DIMM RAM slot #0": "fail",
			},
		},
		{
			name: "power supplies and no memory in the tables", profile: "two-sodimms", check: memoryPopulation,
			files: map[string]string{"dmidecode": "dmidecode/ironlib-dell_r6515_dmidecode_psu.txt"},
			want:  map[string]string{"memory.population/count/memory": "not_run"},
		},
		{
			name: "31 corrected errors, and how fast they came is not known", profile: "two-sodimms", check: memoryErrors,
			files: map[string]string{"edac": "kernel/edac-util-31ce.txt"},
			want: map[string]string{
				"memory.errors/corrected/DIMM CPU_SrcID#1_Channel#1_DIMM#0": "not_run",
				"memory.errors/corrected/memory":                            "not_run", "memory.errors/uncorrected/memory": "not_run",
			},
		},
		{
			name: "31 corrected errors within the limit of the profile", profile: "noisy-memory", check: memoryErrors,
			files: map[string]string{"edac": "kernel/edac-util-31ce.txt"},
			want:  map[string]string{"memory.errors/corrected/DIMM CPU_SrcID#1_Channel#1_DIMM#0": "pass"},
		},
		{
			name: "counters at zero", profile: "two-sodimms", check: memoryErrors,
			files: map[string]string{"ras": "kernel/ras-mc-ctl-error-count-clean.txt"},
			want: map[string]string{
				"memory.errors/corrected/memory": "pass", "memory.errors/uncorrected/memory": "pass", "memory.errors/events/memory": "not_run",
			},
		},
		{
			name: "counters at zero, and a recorded machine check", profile: "two-sodimms", check: memoryErrors,
			files: map[string]string{
				"ras@count": "kernel/ras-mc-ctl-error-count-clean.txt", "ras@errors": "kernel/ras-mc-ctl-errors-mce-ce-only.txt",
			},
			want: map[string]string{"memory.errors/corrected/memory": "pass", "memory.errors/corrected_events/memory": "warn"},
		},
		{
			name: "a log of GPU errors holds no memory error, and is not whole", profile: "two-sodimms", check: memoryErrors,
			files: map[string]string{"kernel-log": "kernel/gpud-dmesg-xid119.log"},
			want:  map[string]string{"memory.errors/events/memory": "not_run"},
		},
		learned("learn_good", map[string]string{
			"nvme.health/error_log_entries/NVMe nvme2": "not_run", "nvme.health/error_log_entries/NVMe nvme3": "not_run",
		}),
		learned("learn_bad_nvme9", map[string]string{
			"nvme.health/spare/NVMe nvme9": "fail", "nvme.health/error_log_entries/NVMe nvme9": "not_run",
			"nvme.health/error_log_entries/NVMe nvme2": "not_run", "nvme.health/error_log_entries/NVMe nvme3": "not_run",
		}),
		gdsCase("gdscheck-supported-iommu-pt-a6000x4.txt", map[string]string{"mode": "pass", "compat_mode": "fail", "iommu": "fail"}),
		gdsCase("gdscheck-1.14-driver-only.txt", map[string]string{"mode": "pass", "compat_mode": "not_run", "iommu": "not_run"}),
		gdsCase("gdscheck-1.13-logwarn-nfs-and-nvme.txt", map[string]string{"mode": "pass", "compat_mode": "not_run", "iommu": "not_run"}),
		gdsCase("gdsio-lines.txt", map[string]string{"mode": "not_run", "compat_mode": "not_run", "iommu": "not_run"}),
		gdsCase("nvidia-fs-stats.txt", map[string]string{"mode": "not_run", "compat_mode": "not_run", "iommu": "not_run"}),
	}
}

// learned is a folder of ten smartctl captures.
func learned(folder string, want map[string]string) looseCase {
	c := looseCase{name: folder, profile: "ten-drives", check: nvmeHealth, spec: usedParts, files: map[string]string{}, want: want, strict: true}
	for n := range 10 {
		c.files[fmt.Sprintf("smartctl@nvme%d", n)] = fmt.Sprintf("smartctl/gcm-%s/nvme%d.json", folder, n)
	}
	return c
}

func gdsCase(file string, want map[string]string) looseCase {
	c := looseCase{name: file, profile: "host-node", check: gdsSupport, files: map[string]string{"gdscheck": "gds/" + file}, want: map[string]string{}, strict: true}
	for quantity, answer := range want {
		c.want["gds.support/"+quantity+"/GPUDirect Storage"] = answer
	}
	return c
}

// No parser may panic, on whatever file it is given by mistake, and no check may
// pass a machine on it.
func TestHostParsersTakeAnyFile(t *testing.T) {
	root := filepath.Join("..", "..", "shared", "corpus")
	if _, err := os.Stat(root); err != nil {
		t.Skip("../shared/corpus is not here")
	}
	if testing.Short() {
		t.Skip("reads the whole corpus")
	}
	parsers := hostParsers()
	read := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		b = b[:min(len(b), 64<<10)] // the rest of a file is like its beginning
		for _, parse := range parsers {
			parse(&Evidence{Out: b, Source: FromLoose, Ended: EndedUnknown})
		}
		return nil
	})
	if err != nil || read == 0 {
		t.Fatalf("read %d captures: %v", read, err)
	}
}

// hostParsers are the parsers of this part of the package by probe.
func hostParsers() map[string]func(*Evidence) error {
	return map[string]func(*Evidence) error{
		"lspci": quiet(parseLSPCI), "pci-sysfs": quiet(parsePCISysfs), "dmidecode": quiet(parseDmidecode), "edac": quiet(parseEDAC),
		"ras": quiet(parseRAS), "kernel-log": quiet(parseKernelLog), "lscpu": quiet(parseLSCPU), "os": quiet(parseOS),
		"nvme-list": quiet(parseNVMeList), "nvme-smart": quiet(parseNVMeSmart), "smartctl": quiet(parseSmartctl),
		"block-devices": quiet(parseBlockDevices), "gdscheck": quiet(parseGDSCheck), "bmc-lan": quiet(parseBMCLan),
		"bmc-inventory": quiet(parseBMCInventory), "bmc-sensors": quiet(parseBMCSensors), "bmc-sel": quiet(parseBMCSEL), "pstore": quiet(parsePstore), "console": quiet(parseConsole),
		"memory-stress": quiet(parseMemoryStress), "fio": quiet(parseFio), "stress-ng": quiet(parseStressNG),
		"ib-status": quiet(parseIBStatus), "raid": quiet(parseRAIDStatus), "stream": quiet(parseStream), "mig": quiet(parseMIG), "filesystems": quiet(parseFilesystems), "containers": quiet(parseContainers), "service-endpoint": quiet(parseService),
		"gdsio": quiet(parseGDSIO), "ib-bandwidth": quiet(parsePairRate), "gds-stats": quiet(parseGDSStats),
		"nvbandwidth": quiet(parseNVBandwidth), "nccl": quiet(parseNCCL), "dcgm": quiet(parseDCGM), "gpu-burn": quiet(parseGPUBurn), "gpu-fryer": quiet(parseGPUFryer), "stress-ng-memory": quiet(parseStressNG), "nvme-write": quiet(parseNVMeWrite), "mig-trial": quiet(parseMIGTrial),
	}
}

func quiet[T any](parse func(*Evidence) (T, error)) func(*Evidence) error {
	return func(e *Evidence) error {
		_, err := parse(e)
		return err
	}
}

// captured says which capture is meant for which parser: each must be read.
func TestHostCapturesAreRead(t *testing.T) {
	parsers := hostParsers()
	for probe, names := range map[string][]string{
		"lspci":         {"lspci/gpud-lspci-vvv.txt"},
		"dmidecode":     {"dmidecode/ironlib-asrr_e3c246d4i-nl_dmidecode.txt", "dmidecode/ironlib-dell_r6515_dmidecode_psu.txt", "jc/centos-7.7--dmidecode.out", "jc/ubuntu-18.04--dmidecode.out"},
		"kernel-log":    {"kernel/gpud-dmesg-xid119.log", "kernel/gpud-kmsg.1.log"},
		"edac":          {"kernel/edac-util-31ce.txt"},
		"ras":           {"kernel/ras-mc-ctl-error-count-clean.txt", "kernel/ras-mc-ctl-errors-mce-ce-only.txt"},
		"smartctl":      {"smartctl/ironlib-dell_r6515_smartctl_nvme0.json", "smartctl/ironlib-supermicro_x11dph-t_smartctl_nvme0.json", "smartctl/ironlib-utils_smartctl_nvme0.json", "smartctl/ironlib-utils_smartctl_sda.json", "smartctl/ironlib-supermicro_x11dph-t_smartctl_sdm.json"},
		"block-devices": {"lsblk/gpud-lsblk.1.json", "lsblk/gpud-lsblk.2.json", "lsblk/gpud-lsblk.3.json", "lsblk/ironlib-lsblk.json"},
		"gdscheck":      {"gds/gdscheck-1.13-logwarn-nfs-and-nvme.txt", "gds/gdscheck-1.14-driver-only.txt"},
		"bmc-lan":       {"ipmi/redhat-hw-ipmi_lan_info"},
		"ib-status":     {"ib/azhpc-diag-ibstatus.out", "ib/gpud-pr482-polling-down.txt", "ib/ibv_devinfo-cx7-eth.txt"},
		"fio":           {"fio/axboe-731-error-lines-before-json.txt", "fio/superbench-disk_performance.log"},
	} {
		for _, name := range names {
			t.Run(probe+"/"+name, func(t *testing.T) {
				if err := parsers[probe](&Evidence{Out: corpus(t, name), Source: FromLoose, Ended: EndedUnknown}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	for probe, name := range map[string]string{
		"dmidecode": "dmidecode/ironlib-dell_r6515_dmidecode_tpm.txt", "smartctl": "smartctl/ironlib-dell_r6515_smartctl_scan.json",
		"kernel-log": "kernel/gpud-fabricmanager.log", "bmc-lan": "ipmi/redhat-hw-parse_ipmi_sdr",
		"ib-status": "ib/superbench-ib_traffic_topo_aware_ibstat.txt",
	} {
		t.Run(probe+" refuses "+name, func(t *testing.T) {
			err := parsers[probe](&Evidence{Out: corpus(t, name), Source: FromLoose, Ended: EndedUnknown})
			if err == nil || !strings.Contains(err.Error(), probe) {
				t.Errorf("got %v, want an error that names the probe", err)
			}
		})
	}
}
