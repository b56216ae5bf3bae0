package burnin

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	captureH100 = "captures/linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01/"
	captureMIG  = "captures/linux-x86_64__nvidia-h100-mig__590.48.01/"
	captureL40S = "captures/linux-x86_64__nvidia-l40s__595.80/"
)

// One row for each line of the captures' index: a capture of a real machine, and
// the right reading of it.
func TestGPUCaptures(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name, profile string
		files         map[string]string
		checks        []Check
		passes        []string          // some answers that must be there
		others        map[string]string // all answers that are neither pass nor not applicable
	}{
		{
			name: "one H100 in a virtual machine", profile: "one-h100",
			files: map[string]string{
				"nvidia-smi": captureH100 + "idle-q.txt", "load/nvidia-smi": captureH100 + "load-q.txt",
				"nvlink": captureH100 + "nvlink-s.txt", "nvlink-errors": "nvlink-e-h100.txt", "gpu-topology": captureH100 + "topo-m.txt",
			},
			passes: []string{"gpu.nvlink/links/GPU SXM7", "gpu.nvlink/rate/GPU SXM7", "gpu.fabric/state/GPU SXM7", "gpu.count/count/GPUs", "gpu.nvlink_errors/crc_errors/GPU SXM7"},
			others: map[string]string{"gpu.xid/all/GPUs": "not_run"},
		},
		{
			name: "one H100 where eight are expected", profile: "hgx-h100-8",
			files:  map[string]string{"nvidia-smi": captureH100 + "idle-q.txt"},
			checks: []Check{gpuCount},
			others: map[string]string{
				"gpu.count/count/GPUs":         "fail",
				"gpu.count/present/GPU 2 of 8": "not_run", "gpu.count/present/GPU 3 of 8": "not_run", "gpu.count/present/GPU 4 of 8": "not_run",
				"gpu.count/present/GPU 5 of 8": "not_run", "gpu.count/present/GPU 6 of 8": "not_run", "gpu.count/present/GPU 7 of 8": "not_run",
				"gpu.count/present/GPU 8 of 8": "not_run",
			},
		},
		{
			name: "H100 with MIG", profile: "one-h100",
			files:  map[string]string{"nvidia-smi": captureMIG + "idle-q.txt", "nvlink": captureMIG + "nvlink-s.txt"},
			checks: []Check{gpuMIG, gpuNVLink, gpuMemory},
			others: map[string]string{
				"gpu.mig/mode/GPU SXM7": "fail", "gpu.mig/mode_pending/GPU SXM7": "fail",
				"gpu.nvlink/links/GPU SXM7": "not_run", "gpu.nvlink/rate/GPU SXM7": "not_run",
			},
		},
		{
			name: "L40S", profile: "one-l40s",
			files:  map[string]string{"nvidia-smi": captureL40S + "idle-q.txt", "load/nvidia-smi": captureL40S + "load-q.txt", "nvlink": captureL40S + "nvlink-s.txt"},
			passes: []string{"gpu.count/product/GPU 0000:01:00.0", "gpu.ecc/dram_uncorrected_volatile/GPU 0000:01:00.0"},
			others: map[string]string{"gpu.xid/all/GPUs": "not_run"},
		},
		{
			name: "eight H100", profile: "hgx-h100-8",
			files:  map[string]string{"nvidia-smi": "xml/k8s-test-infra-hw-h100.xml"},
			passes: []string{"gpu.count/count/GPUs", "gpu.memory/bar1/GPU SXM3", "gpu.driver/state/GPU SXM8", "gpu.fabric/status/GPU SXM1"},
			others: map[string]string{
				"gpu.xid/all/GPUs": "not_run", "gpu.nvlink/all/GPUs": "not_run", "gpu.nvlink_errors/all/GPUs": "not_run", "gpu.topology/all/GPUs": "not_run",
			},
		},
		{
			name: "one A100 of 40 GB", profile: "one-a100-40",
			files:  map[string]string{"nvidia-smi": "xml/k8s-test-infra-hw-a100.xml"},
			checks: []Check{gpuCount, gpuDriver, gpuMemory, gpuECC, gpuRemap, gpuMIG, gpuFabric},
			passes: []string{"gpu.memory/memory/GPU SXM7", "gpu.remap/failure/GPU SXM7"},
		},
		{
			name: "one L40S in a narrow slot", profile: "one-l40s",
			files:  map[string]string{"nvidia-smi": "xml/k8s-test-infra-hw-l40s.xml"},
			others: map[string]string{"gpu.xid/all/GPUs": "not_run"},
		},
		{
			name: "GB200, healthy", profile: "two-gb200",
			files:  map[string]string{"nvidia-smi": "xml/k8s-test-infra-mock-gb200-healthy.xml"},
			checks: []Check{gpuCount, gpuDriver, gpuMemory, gpuRemap, gpuMIG, gpuFabric},
			passes: []string{"gpu.remap/failure/GPU SXM1", "gpu.count/count/GPUs"},
		},
		{
			name: "GB200, uncorrected errors behind counters that read N/A", profile: "two-gb200",
			files:  map[string]string{"nvidia-smi": "xml/k8s-test-infra-mock-gb200-ecc-injected.xml"},
			checks: []Check{gpuECC, gpuRemap},
			passes: []string{"gpu.ecc/dram_uncorrected_volatile/GPU SXM2"},
			others: map[string]string{
				"gpu.ecc/dram_uncorrected_volatile/GPU SXM1": "fail", "gpu.ecc/dram_uncorrected_aggregate/GPU SXM1": "fail",
				"gpu.remap/failure/GPU SXM1": "fail", "gpu.remap/uncorrectable_rows/GPU SXM1": "fail",
				"gpu.ecc/sram_uncorrected_volatile/GPU SXM1": "not_run", "gpu.ecc/sram_uncorrected_volatile/GPU SXM2": "not_run",
				"gpu.ecc/sram_uncorrected_aggregate/GPU SXM1": "not_run", "gpu.ecc/sram_uncorrected_aggregate/GPU SXM2": "not_run",
				"gpu.ecc/sram_threshold_exceeded/GPU SXM1": "not_run", "gpu.ecc/sram_threshold_exceeded/GPU SXM2": "not_run",
			},
		},
		{
			name: "A100 with MIG, three of four GPUs not in the log", profile: "hgx-a100-8",
			files:  map[string]string{"nvidia-smi": "xml/telegraf-a100-sxm4-v12.xml"},
			checks: []Check{gpuMIG},
			others: withAnswers(map[string]string{"gpu.mig/mode/GPU SXM4": "fail", "gpu.mig/mode_pending/GPU SXM4": "fail"}, notShown("gpu.mig", 2, 8)),
		},
		{
			name: "A100, links of one GPU up", profile: "hgx-a100-8",
			files:  map[string]string{"nvlink": "azure-good_nvlink_status.txt"},
			checks: []Check{gpuNVLink},
			passes: []string{"gpu.nvlink/links/GPU (nvidia-smi 7)", "gpu.nvlink/rate/GPU (nvidia-smi 7)"},
			others: notShown("gpu.nvlink", 2, 8),
		},
		{
			name: "A100, links of one GPU down", profile: "hgx-a100-8",
			files:  map[string]string{"nvlink": "azure-bad_nvlink_status.txt"},
			checks: []Check{gpuNVLink},
			others: withAnswers(map[string]string{
				"gpu.nvlink/links/GPU (nvidia-smi 6)": "fail", "gpu.nvlink/rate/GPU (nvidia-smi 6)": "not_run",
			}, notShown("gpu.nvlink", 2, 8)),
		},
		{
			name: "A100, all links", profile: "hgx-a100-8",
			files:  map[string]string{"nvlink": "gpud-nvlink-status.a100"},
			checks: []Check{gpuNVLink},
			passes: []string{"gpu.nvlink/links/GPU (nvidia-smi 0)", "gpu.nvlink/rate/GPU (nvidia-smi 7)"},
		},
		{
			name: "fabric without room", profile: "hgx-h100-8",
			files:  map[string]string{"nvidia-smi": "azhpc-images-506-fabric-insufficient.txt"},
			checks: []Check{gpuFabric},
			passes: []string{"gpu.fabric/state/GPU (nvidia-smi 0)"},
			others: withAnswers(map[string]string{"gpu.fabric/status/GPU (nvidia-smi 0)": "fail"}, notShown("gpu.fabric", 2, 8)),
		},
		{
			name: "driver and library differ", profile: "hgx-h100-8",
			files:  map[string]string{"nvidia-smi": "failures/driver-library-mismatch.rc18.stdout.txt"},
			checks: []Check{gpuDriver, gpuECC, gpuCount},
			others: map[string]string{
				"gpu.driver/answers/NVIDIA driver": "fail", "gpu.ecc/all/GPUs": "not_run", "gpu.count/count/GPUs": "not_run",
			},
		},
		{
			name: "a GPU whose firmware processor does not answer", profile: "one-h100",
			files:  map[string]string{"kernel-log": "../kernel/gpud-dmesg-xid119.log"},
			checks: []Check{gpuXID},
			others: map[string]string{
				"gpu.xid/xid/GPU 0000:9b:00.0": "fail", "gpu.xid/all/GPU 1 of 1": "not_run", "gpu.xid/sxid/NVSwitches": "not_run",
			},
		},
		{
			name: "matrix with adapters as columns", profile: "hgx-h100-8",
			files:  map[string]string{"gpu-topology": "topo/nvsentinel-h100x8-mlx5-columns.txt"},
			checks: []Check{gpuTopology},
			passes: []string{"gpu.topology/path/GPU (nvidia-smi 0)", "gpu.topology/path/GPU (nvidia-smi 7)"},
		},
		{
			name: "matrix with a legend of adapters, four of eight GPUs", profile: "hgx-h100-8",
			files:  map[string]string{"gpu-topology": "topo/nvsentinel-h100x4-nic-legend.txt"},
			checks: []Check{gpuTopology},
			passes: []string{"gpu.topology/path/GPU (nvidia-smi 3)"},
			others: notShown("gpu.topology", 5, 8),
		},
		{
			name: "matrix with a coloured head, two of eight GPUs", profile: "hgx-h100-8",
			files:  map[string]string{"gpu-topology": "topo/nvsentinel-ansi-header.txt"},
			checks: []Check{gpuTopology},
			passes: []string{"gpu.topology/path/GPU (nvidia-smi 1)"},
			others: notShown("gpu.topology", 3, 8),
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			files := map[string][]byte{}
			for ref, name := range row.files {
				files[ref] = gpuCapture(t, name)
			}
			checks := row.checks
			if checks == nil {
				checks = gpuChecks()
			}
			found := gpuAnswers(looseGPU(files), gpuProfile(t, row.profile), checks...)
			if got := notGoodAnswers(found); !maps.Equal(got, row.others) {
				t.Errorf("got %v\nwant %v", got, row.others)
			}
			for _, id := range row.passes {
				if got := gpuAnswer(found[id]); got != "pass" {
					t.Errorf("%s = %s, want pass", id, got)
				}
			}
		})
	}
}

// notShown are the answers of a check about the GPUs that nothing shows.
func notShown(check string, from, to int) map[string]string {
	out := map[string]string{}
	for n := from; n <= to; n++ {
		out[check+"/all/GPU "+string(rune('0'+n))+" of "+string(rune('0'+to))] = "not_run"
	}
	return out
}

func withAnswers(a, b map[string]string) map[string]string {
	maps.Copy(a, b)
	return a
}

// The whole node of an older driver, and forms that only have to be read.
func TestGPUCapturesAreRead(t *testing.T) {
	t.Parallel()
	rows := []struct {
		file, driver, product string
		form                  NvidiaForm
		gpus                  int
		complete              bool
	}{
		{"azhpc-diag-nvidia-smi-q.out", "460.32.03", "A100-SXM4-40GB", NvidiaText, 8, true},
		{captureH100 + "load-query-gpu.csv", "590.48.01", "NVIDIA H100 80GB HBM3", NvidiaCSV, 1, true},
		{"captures/linux-x86_64__nvidia-geforce-rtx-2080-super__595.71.05/load-q.txt", "595.71.05", "NVIDIA GeForce RTX 2080 SUPER", NvidiaText, 1, true},
		{"xml/telegraf-tesla-t4.xml", "515.105.01", "Tesla T4", NvidiaXML, 1, true},
		{"xml/telegraf-rtx-4000-sff-ada-v13.xml", "595.84", "NVIDIA RTX 4000 SFF Ada Generation", NvidiaXML, 1, true},
	}
	for _, row := range rows {
		t.Run(row.file, func(t *testing.T) {
			t.Parallel()
			log, err := parseNvidiaSMI(&Evidence{Out: gpuCapture(t, row.file)})
			if err != nil {
				t.Fatal(err)
			}
			if log.Driver != row.driver || log.Form != row.form || len(log.GPUs) != row.gpus || log.Complete != row.complete {
				t.Errorf("driver %q, form %q, %d GPUs, complete %v", log.Driver, log.Form, len(log.GPUs), log.Complete)
			}
			for _, g := range log.GPUs {
				if g.Product.V != row.product || g.Address == "" || !g.LinkGen.Set || !g.LinkWidth.Set || !g.Memory.Set || len(g.Faults) > 0 {
					t.Errorf("GPU %d reads %+v", g.Index, g)
				}
			}
			if len(log.Messages) > 0 {
				t.Errorf("messages %v", log.Messages)
			}
		})
	}
}

// No parser panics on any file of the captures, whatever tool it came from.
func TestGPUParsersTakeAnyFile(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "shared", "corpus")
	if _, err := os.Stat(root); err != nil {
		t.Skip("the captures are not in ../shared/corpus")
	}
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		e := &Evidence{Out: b, Ended: EndedUnknown, Source: FromLoose}
		log, err := parseNvidiaSMI(e)
		if err == nil && log.Failure == nil && !slices.Contains([]string{"nvidia-smi"}, strings.Split(strings.TrimPrefix(path, root+"/"), "/")[0]) {
			t.Errorf("%s is taken for output of nvidia-smi -q: %d GPUs", path, len(log.GPUs))
		}
		for _, parse := range []func(*Evidence) error{
			func(e *Evidence) error { _, err := parseNVLink(e); return err },
			func(e *Evidence) error { _, err := parseNVLinkErrors(e); return err },
			func(e *Evidence) error { _, err := parseGPUTopology(e); return err },
			func(e *Evidence) error { _, err := parseFabricManager(e); return err },
		} {
			_ = parse(e)
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files read: %v", files, err)
	}
}
