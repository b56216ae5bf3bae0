package burnin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

// twoGPUs is the profile of two GPUs of a kind whose floors are known.
func twoGPUs(t *testing.T) *profiles.Profile {
	t.Helper()
	p := gpuProfile(t, "two-h100")
	p.GPU.DCGM.Tests = &profiles.Limit{Relation: profiles.OneOf, Text: []string{"software", "diagnostic"}, Provenance: profiles.FromAgreed, Source: "the test"}
	return p
}

// copyJSON is nvbandwidth's JSON of two GPUs, with one test.
func copyJSON(status string, first, second string) string {
	return fmt.Sprintf(`{"nvbandwidth":{"version":"v0.8","GPU Device list":["0: NVIDIA H100 80GB HBM3 (00000000:1b:00): (node)","1: NVIDIA H100 80GB HBM3 (00000000:A8:00): (node)"],"testcases":[
{"name":"host_to_device_memcpy_ce","status":%q,"bandwidth_matrix":[[%q,%q]]},
{"name":"device_to_host_memcpy_ce","status":"Passed","bandwidth_matrix":[["55.1","55.0"]]},
{"name":"device_to_device_memcpy_read_ce","status":"Passed","bandwidth_matrix":[["N/A","380.2"],["381.0","N/A"]]},
{"name":"device_local_copy","status":"Passed","bandwidth_matrix":[["2610","2611"]]}]}}`, status, first, second)
}

const copyText = "nvbandwidth Version: v0.4\nBuilt from Git version:\n\nDevice 0: NVIDIA H100 80GB HBM3 (00000000:1b:00)\nDevice 1: NVIDIA H100 80GB HBM3 (00000000:A8:00)\n\n" +
	"Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n 0     55.20     55.10\n\nSUM host_to_device_memcpy_ce 110.30\n\n" +
	"Running device_to_host_memcpy_ce.\nmemcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)\n           0         1\n 0     55.00     54.90\n\n" +
	"Running device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n 0      0.00    380.10\n 1    379.90      0.00\n\n"

func TestGPUCopy(t *testing.T) {
	const a, b, all = "/GPU SXM3", "/GPU SXM1", "/GPUs"
	good := copyJSON("Passed", "55.2", "55.1")
	h2d := "gpu.copy/host_to_device"
	for _, c := range []struct {
		name, out, err string
		exit           int
		want           map[string]string
	}{
		{"healthy", good, "", 0, map[string]string{h2d + a: "pass", "gpu.copy/device_to_host" + b: "pass", "gpu.copy/peer" + a: "pass", "gpu.copy/verified" + all: "pass", "gpu.copy/local" + a: "not_applicable"}},
		{"healthy text", copyText, "", 0, map[string]string{h2d + a: "pass", "gpu.copy/peer" + b: "pass"}},
		{"a version that does not know a test", strings.Replace(good, `"device_local_copy","status":"Passed","bandwidth_matrix":[["2610","2611"]]`, `"device_local_copy","status":"ERROR"`, 1), "", 0, map[string]string{"gpu.copy/verified" + all: "pass", h2d + a: "pass", "gpu.copy/local" + all: "not_applicable"}},
		{"lines before the JSON", "WARNING: lowered\n" + good, "", 0, map[string]string{h2d + b: "pass"}},
		{"half its width", copyJSON("Passed", "55.2", "27.6"), "", 0, map[string]string{h2d + a: "pass", h2d + b: "fail"}},
		{"exactly the floor", copyJSON("Passed", "48", "47.99"), "", 0, map[string]string{h2d + a: "pass", h2d + b: "fail"}},
		{"a cell without a figure", copyJSON("Passed", "55.2", "N/A"), "", 0, map[string]string{h2d + a: "pass", h2d + b: "not_run"}},
		{"a cell that moved nothing", copyJSON("Passed", "0.00", "55.1"), "", 0, map[string]string{h2d + a: "not_run"}},
		{"waived", copyJSON("Waived", "55.2", "55.1"), "", 0, map[string]string{h2d + all: "not_run"}},
		{"an error of the program", copyJSON("Error", "55.2", "55.1"), "", 0, map[string]string{h2d + all: "not_run", "gpu.copy/verified" + all: "not_run"}},
		{"other data arrived", " Invalid value when checking the pattern at 0x7f00\n" + good, "", 0, map[string]string{"gpu.copy/verified" + all: "fail"}},
		{"other data arrived, and cut", " Invalid value when checking the pattern at 0x7f00\n" + good[:400], "", 1, map[string]string{"gpu.copy/verified" + all: "fail", h2d + all: "not_run"}},
		{"an uncorrectable error", `{"nvbandwidth":{"version":"v0.8","error":"[CUDA_ERROR_ECC_UNCORRECTABLE] uncorrectable ECC error encountered in expression x","testcases":[{"name":"host_to_device_memcpy_ce","status":"Running"}]}}`, "", 1, map[string]string{"gpu.copy/verified" + all: "fail", h2d + all: "not_run"}},
		{"the fabric is not up", `{"nvbandwidth":{"version":"v0.8","error":"[CUDA_ERROR_SYSTEM_NOT_READY] system not yet initialized"}}`, "", 1, map[string]string{"gpu.copy/verified" + all: "not_run", h2d + all: "not_run"}},
		{"one GPU only", strings.NewReplacer(`["55.2","55.1"]`, `["55.2"]`, `["55.1","55.0"]`, `["55.1"]`).Replace(good), "", 0, map[string]string{h2d + a: "pass", h2d + b: "not_run"}},
		{"cut", good[:500], "", 0, map[string]string{"gpu.copy/all" + all: "not_run"}},
		{"text cut in a line", copyText[:strings.Index(copyText, "55.10")-2], "", 0, map[string]string{h2d + all: "not_run", "gpu.copy/peer" + all: "not_run"}},
		{"hung", "", "", 124, map[string]string{"gpu.copy/all" + all: "not_run"}},
		{"something else", "sh: 1: nvbandwidth: not found\n", "", 127, map[string]string{"gpu.copy/all" + all: "not_run"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := loadPage("nvbandwidth", c.out, c.err, c.exit)
			rec.Evidence = append(rec.Evidence, gpuFolder(t, "gpu-two-h100").Evidence...)
			wantAnswers(t, judged(t, rec, twoGPUs(t), newGPUParts, gpuCopy), c.want, false)
		})
	}
}

// Where a profile states no floor, as of GPUs that nobody publishes one of, each GPU must
// have copied all the same.
func TestGPUCopyWithoutFloors(t *testing.T) {
	const h2d, d2h, a, b, all = "gpu.copy/host_to_device", "gpu.copy/device_to_host", "/GPU SXM3", "/GPU SXM1", "/GPUs"
	good := copyJSON("Passed", "55.2", "55.1")
	for _, c := range []struct{ name, out, id, want string }{
		{"healthy", good, h2d + a, "not_applicable"},
		{"waived", copyJSON("Waived", "55.2", "55.1"), h2d + all, "not_run"},
		{"a cell without a figure", copyJSON("Passed", "55.2", "N/A"), h2d + b, "not_run"},
		{"one GPU only", strings.NewReplacer(`["55.2","55.1"]`, `["55.2"]`, `["55.1","55.0"]`, `["55.1"]`).Replace(good), d2h + b, "not_run"},
		{"one way only", strings.Replace(good, "device_to_host_memcpy_ce", "host_device_latency_sm", 1), d2h + all, "not_run"},
	} {
		p := twoGPUs(t)
		p.GPU.Copy = profiles.GPUCopy{}
		rec := loadPage("nvbandwidth", c.out, "", 0)
		rec.Evidence = append(rec.Evidence, gpuFolder(t, "gpu-two-h100").Evidence...)
		t.Run(c.name, func(t *testing.T) {
			wantAnswers(t, judged(t, rec, p, newGPUParts, gpuCopy), map[string]string{c.id: c.want}, false)
		})
	}
}

// A GPU whose every pair is slow is to blame, and its peers are not.
func TestSlowPairs(t *testing.T) {
	cells := [][]string{}
	for row := range 8 {
		var line []string
		for column := range 8 {
			switch {
			case row == column:
				line = append(line, `"N/A"`)
			case row == 5 || column == 5:
				line = append(line, `"190.4"`)
			default:
				line = append(line, fmt.Sprintf(`"38%d.5"`, (row+column)%3))
			}
		}
		cells = append(cells, line)
	}
	page := func() string {
		var rows []string
		for _, line := range cells {
			rows = append(rows, "["+strings.Join(line, ",")+"]")
		}
		return `{"nvbandwidth":{"version":"v0.8","testcases":[{"name":"device_to_device_memcpy_read_ce","status":"Passed","bandwidth_matrix":[` + strings.Join(rows, ",") + `]}]}}`
	}
	judge := func() map[string]Finding {
		return judged(t, loadPage("nvbandwidth", page(), "", 0), gpuProfile(t, "hgx-h100-8"), newGPUParts, gpuCopy)
	}
	found := judge()
	for gpu := range 8 {
		f, want := found[fmt.Sprintf("gpu.copy/peer/GPU (nvbandwidth %d)", gpu)], "pass"
		if gpu == 5 {
			want = "fail"
		}
		if gpuAnswer(f) != want || f.Peer == "" {
			t.Errorf("GPU %d is %s, its peer is %q, want %s", gpu, gpuAnswer(f), f.Peer, want)
		}
	}
	// A single slow pair belongs to both: nothing tells whose it is.
	for row, column := range map[int]int{2: 3, 3: 2} {
		cells[row][column] = `"300"`
	}
	for i := range 8 {
		if i != 5 {
			cells[5][i], cells[i][5] = `"381.1"`, `"381.1"`
		}
	}
	found = judge()
	for gpu, peer := range map[int]int{2: 3, 3: 2} {
		f := found[fmt.Sprintf("gpu.copy/peer/GPU (nvbandwidth %d)", gpu)]
		if want := fmt.Sprintf("GPU (nvbandwidth %d)", peer); gpuAnswer(f) != "fail" || f.Peer != want || f.Measured != 300.0 {
			t.Errorf("GPU %d: %s, %v with %q, want fail, 300 with %q", gpu, gpuAnswer(f), f.Measured, f.Peer, want)
		}
	}
}

// A GPU that is slower than its siblings is remarked above the floor, and where there is none.
func TestSlowerThanSiblings(t *testing.T) {
	rates := []string{"55.2", "55.1", "50.4", "55.3", "55.2", "55.0", "55.1", "55.2"}
	out := `{"nvbandwidth":{"version":"v0.8","testcases":[{"name":"host_to_device_memcpy_ce","status":"Passed","bandwidth_matrix":[["` + strings.Join(rates, `","`) + `"]]}]}}`
	for _, name := range []string{"hgx-h100-8", "l40s-8"} {
		found := judged(t, loadPage("nvbandwidth", out, "", 0), gpuProfile(t, name), newGPUParts, gpuCopy)
		f := found["gpu.copy/host_to_device/GPU (nvbandwidth 2)"]
		if gpuAnswer(f) != "warn" || !strings.Contains(f.Why, "9 % below the 55.15 of its siblings") {
			t.Errorf("%s: %s: %s", name, gpuAnswer(f), f.Why)
		}
		if f := found["gpu.copy/host_to_device/GPU (nvbandwidth 3)"]; gpuAnswer(f) == "warn" {
			t.Errorf("%s: a good one is remarked: %s", name, f.Why)
		}
	}
}

const ncclHead = "# nThread 1 nGpus 2 minBytes 17179869184 maxBytes 17179869184 validation: 1\n# Using devices\n" +
	"#  Rank  0 Group  0 Pid 1 on node device  0 [0000:18:00] NVIDIA H100 80GB HBM3\n#  Rank  1 Group  0 Pid 1 on node device  1 [0000:2a:00] NVIDIA H100 80GB HBM3\n" +
	"#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"

const (
	ncclEndLines = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 476.1\n"
	ncclNew      = ncclHead + "node:1:1 [0] NCCL INFO comm 0x55\n 17179869184    4294967296     float     sum      -1    63000  272.10  476.30      0    63010  272.00  476.10      0\n" + ncclEndLines
	// The oldest form has no root, and calls the last column error.
	ncclOld = "#   Rank  0 Pid 1 on node device  0 [0x18] A100\n#   Rank  1 Pid 1 on node device  1 [0x2a] A100\n#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n" +
		" 17179869184  4294967296   float     sum    63896  272.44  476.26  2e-07    63959  272.30  476.03  2e-07\n# Out of bounds values : 0 OK\n"
)

func TestGPUNCCL(t *testing.T) {
	for _, c := range []struct {
		name, out string
		exit      int
		want      map[string]string // by quantity
	}{
		{"healthy", ncclNew, 0, map[string]string{"ranks": "pass", "wrong": "pass", "bus": "pass"}},
		{"the largest difference in place of a count", ncclOld, 0, map[string]string{"ranks": "pass", "bus": "pass", "wrong": "pass"}},
		{"the largest difference is out of bounds", strings.Replace(ncclOld, "0 OK", "2 FAILED", 1), 1, map[string]string{"wrong": "fail"}},
		{"columns of each turn", strings.NewReplacer("#wrong", "#wrong i_min i_max", "      0", "      0  1.0 2.0").Replace(ncclNew), 0, map[string]string{"ranks": "pass", "wrong": "pass", "bus": "pass"}},
		{"slow", strings.NewReplacer("476.30", "365.20", "476.10 ", "365.10 ").Replace(ncclNew), 0, map[string]string{"ranks": "pass", "wrong": "pass", "bus": "fail"}},
		{"a wrong result", strings.Replace(ncclNew, "476.10      0", "476.10      3", 1), 0, map[string]string{"wrong": "fail"}},
		{"a wrong result, and cut", strings.Replace(strings.Replace(ncclNew, ncclEndLines, "", 1), "476.10      0", "476.10      3", 1), 1, map[string]string{"wrong": "fail"}},
		{"the summary says it", strings.Replace(ncclNew, "0 OK", "3 FAILED", 1), 1, map[string]string{"wrong": "fail"}},
		{"nothing was compared", strings.ReplaceAll(ncclNew, "      0", "    N/A"), 0, map[string]string{"wrong": "not_run", "bus": "pass"}},
		{"another size", strings.ReplaceAll(ncclNew, " 17179869184 ", " 8589934592 "), 0, map[string]string{"bus": "not_run"}},
		{"one GPU took part", strings.Replace(ncclNew, "#  Rank  1", "# rest", 1), 0, map[string]string{"ranks": "fail"}},
		{"cut behind its row", strings.Replace(ncclNew, ncclEndLines, "", 1), 0, map[string]string{"all": "not_run"}},
		{"it could not begin", ncclHead + "node: Test NCCL failure common.cu:958 'unhandled system error'\n", 3, map[string]string{"all": "not_run"}},
		{"hung", ncclHead, 124, map[string]string{"all": "not_run"}},
		{"nothing", "", 1, map[string]string{"all": "not_run"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := map[string]string{}
			for quantity, answer := range c.want {
				want["gpu.nccl/"+quantity+"/GPUs"] = answer
			}
			wantAnswers(t, judged(t, loadPage("nccl", c.out, "", c.exit), twoGPUs(t), newGPUParts, gpuNCCL), want, true)
		})
	}
}

// dcgmPage is dcgmi's JSON of two GPUs, with one answer of the test diagnostic.
func dcgmPage(status, warning string) string {
	warnings := ""
	if warning != "" {
		warnings = fmt.Sprintf(`,"warnings":[{"warning":%q,"error_id":8,"error_category":7,"error_severity":2}]`, warning)
	}
	return fmt.Sprintf(`{"DCGM Diagnostic":{"test_categories":[{"category":"Deployment","tests":[{"name":"software","results":[{"entity_group":"GPU","entity_group_id":1,"entity_id":0,"status":"Pass"},{"entity_group":"GPU","entity_group_id":1,"entity_id":1,"status":"Pass"}]}]},
{"category":"Hardware","tests":[{"name":"diagnostic","results":[{"entity_group":"GPU","entity_id":0,"status":"Pass"},{"entity_group":"GPU","entity_id":1,"status":%q%s}],"test_summary":{"status":%q}}]}]},"metadata":{"version":"4.2.3"}}`, status, warnings, status)
}

func TestGPUDCGM(t *testing.T) {
	const one = "gpu.dcgm/diagnostic/GPU (dcgm 1)"
	v3 := `{"DCGM GPU Diagnostic":{"test_categories":[{"category":"Deployment","tests":[{"name":"Denylist","results":[{"gpu_ids":"0,1","status":"Pass"}]},{"name":"NVML Library","results":[{"status":"Pass"}]}]},` +
		`{"category":"Hardware","tests":[{"name":"Diagnostic","results":[{"gpu_id":"0","status":"Pass"},{"gpu_id":"1","status":"Fail","warnings":"GPU 1 gave wrong results"}]}]}],"version":"3.3.9"}}`
	for _, c := range []struct {
		name, out string
		exit      int
		want      map[string]string
	}{
		{"healthy", dcgmPage("Pass", ""), 0, map[string]string{one: "pass"}},
		{"text before it", "Successfully ran diagnostic for group.\n" + dcgmPage("Pass", ""), 0, map[string]string{one: "pass"}},
		{"a fault", dcgmPage("Fail", "GPU 1 gave wrong results"), 1, map[string]string{one: "fail"}},
		{"DCGM 3", v3, 1, map[string]string{one: "fail", "gpu.dcgm/software/GPUs": "pass"}},
		{"skipped", dcgmPage("Skip", ""), 0, map[string]string{one: "not_run"}},
		{"not run", dcgmPage("Not Run", ""), 0, map[string]string{one: "not_run"}},
		{"passed without its memory", dcgmPage("Pass", "could not allocate memory"), 0, map[string]string{one: "not_run"}},
		{"a required test is missing", strings.Replace(dcgmPage("Pass", ""), `"diagnostic"`, `"eud"`, 1), 0, map[string]string{"gpu.dcgm/diagnostic/GPUs": "not_run"}},
		{"a GPU is left out", strings.Replace(dcgmPage("Pass", ""), `,{"entity_group":"GPU","entity_id":1,"status":"Pass"}]`, "]", 1), 0, map[string]string{"gpu.dcgm/diagnostic/GPU 2 of 2": "not_run"}},
		{"no daemon", `{"DCGM Diagnostic":{"runtime_error":"unable to establish a connection"}}`, 1, map[string]string{"gpu.dcgm/all/GPUs": "not_run", "gpu.dcgm/software/GPUs": "not_run", "gpu.dcgm/diagnostic/GPUs": "not_run"}},
		{"no daemon, in words", "Error: unable to establish a connection to the specified host: localhost\nError: Unable to connect to host engine. Host engine connection invalid/disconnected.\n", 255, map[string]string{"gpu.dcgm/all/GPUs": "not_run"}},
		{"no daemon to start", noHostEngine + ": nv-hostengine is not on the node\n", 1, map[string]string{"gpu.dcgm/all/GPUs": "not_run"}},
		{"an error of its own", "Error: internal\n", 226, map[string]string{"gpu.dcgm/all/GPUs": "not_run"}},
		{"cut", dcgmPage("Pass", "")[:300], 0, map[string]string{"gpu.dcgm/all/GPUs": "not_run"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := judged(t, loadPage("dcgm", c.out, "", c.exit), twoGPUs(t), newGPUParts, gpuDCGM)
			wantAnswers(t, found, c.want, true)
			why := found["gpu.dcgm/all/GPUs"].NotRun
			if named := strings.Contains(why, "`systemctl start nvidia-dcgm`"); named != strings.HasPrefix(c.name, "no daemon") {
				t.Errorf("not run: %s", why)
			}
		})
	}
}

const (
	burnReports = "10.0%  proc'd: 25 (50100 Gflop/s) - 25 (50060 Gflop/s)   errors: 0 - 0   temps: 52 C - 53 C \r" +
		"50.0%  proc'd: 120 (50120 Gflop/s) - 121 (50080 Gflop/s)   errors: 0 - 0   temps: 60 C - -- \n\tSummary at:   Mon Nov 30 10:00:00 UTC 2026\n\n\r" +
		"100.0%  proc'd: 250 (50120 Gflop/s) - 251 (50080 Gflop/s)   errors: 0 - 0   temps: 62 C - 63 C "
	burnTable = "\nKilling processes with SIGTERM (soft kill)\ndone\n\nTested 2 GPUs:\n\tGPU 0: OK\n\tGPU 1: OK\n"
	burnGood  = burnReports + burnTable
)

func TestGPUCompute(t *testing.T) {
	const zero, one = "gpu.compute/errors/GPU (gpu-burn 0)", "gpu.compute/errors/GPU (gpu-burn 1)"
	died := strings.NewReplacer("251 (50080 Gflop/s)   errors: 0 - 0 ", "-1 (0 Gflop/s)   errors: 0 - -1  (DIED!)", "GPU 1: OK", "GPU 1: FAULTY").Replace(burnGood)
	idle := "Couldn't init a GPU test: Error in \"init\": CUBLAS_STATUS_NOT_INITIALIZED\n100.0%  proc'd: 0 (0 Gflop/s) - 0 (0 Gflop/s)   errors: 0 - 0   temps: 30 C - 31 C \n" + burnTable
	for _, c := range []struct {
		name, out string
		exit      int
		want      map[string]string
	}{
		{"healthy", burnGood, 0, map[string]string{zero: "pass", one: "pass", "gpu.compute/reports/GPU (gpu-burn 1)": "pass", "gpu.compute/rate/GPU (gpu-burn 0)": "not_applicable"}},
		{"a version that tells power too", strings.NewReplacer("53 C \r", "53 C   power: 690 W - 702 W \r", "-- \n", "--   power: 691 W - -- \n", "63 C ", "63 C   power: 690 W - 702 W ").Replace(burnGood), 0, map[string]string{zero: "pass", one: "pass", "gpu.compute/reports/GPU (gpu-burn 1)": "pass"}},
		{"faulty, and it ended with 0", strings.Replace(burnGood, "GPU 1: OK", "GPU 1: FAULTY", 1), 0, map[string]string{one: "fail"}},
		{"wrong results", strings.Replace(burnGood, "errors: 0 - 0   temps: 60", "errors: 0 - 7  (WARNING!)  temps: 60", 1), 0, map[string]string{one: "fail"}},
		{"wrong results, and cut", strings.Replace(burnReports, "errors: 0 - 0   temps: 60", "errors: 0 - 7  (WARNING!)  temps: 60", 1), 137, map[string]string{zero: "not_run", one: "fail"}},
		{"gave up", died, 0, map[string]string{one: "fail"}},
		{"OK of GPUs that computed nothing", idle, 0, map[string]string{zero: "fail", one: "fail"}},
		{"no progress", burnTable, 0, map[string]string{zero: "fail", one: "fail"}},
		{"one report", burnReports[strings.LastIndex(burnReports, "\r"):] + burnTable, 0, map[string]string{"gpu.compute/reports/GPU (gpu-burn 0)": "not_run", "gpu.compute/reports/GPU (gpu-burn 1)": "not_run"}},
		{"cut", burnReports, 0, map[string]string{zero: "not_run", one: "not_run"}},
		{"one of two GPUs", strings.NewReplacer("Tested 2", "Tested 1", "\tGPU 1: OK\n", "", " - 25 (50060 Gflop/s)", "", " - 121 (50080 Gflop/s)", "", " - 251 (50080 Gflop/s)", "", "errors: 0 - 0", "errors: 0", " - 53 C", "", " - --", "", " - 63 C", "").Replace(burnGood), 0, map[string]string{zero: "pass", one: "not_run"}},
		{"all gave up", "No clients are alive!  Aborting\n", 123, map[string]string{zero: "not_run", one: "not_run"}},
		{"nothing", "", 1, map[string]string{"gpu.compute/all/GPUs": "not_run"}},
		{"something else", "sh: 1: not found\n", 127, map[string]string{"gpu.compute/all/GPUs": "not_run"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantAnswers(t, judged(t, loadPage("gpu-burn", c.out, "", c.exit), twoGPUs(t), newGPUParts, gpuCompute), c.want, true)
		})
	}
}

// Without gpu_burn the diagnostic answers, where it computed.
func TestComputedByDCGM(t *testing.T) {
	for status, want := range map[string]string{"Pass": "pass", "Fail": "fail", "Skip": "not_run"} {
		found := judged(t, loadPage("dcgm", dcgmPage(status, ""), "", 0), twoGPUs(t), newGPUParts, gpuCompute)
		wantAnswers(t, found, map[string]string{"gpu.compute/diagnostic/GPU (dcgm 1)": want}, true)
	}
	half := strings.Replace(dcgmPage("Pass", ""), `,{"entity_group":"GPU","entity_id":1,"status":"Pass"}]`, "]", 1)
	found := judged(t, loadPage("dcgm", half, "", 0), twoGPUs(t), newGPUParts, gpuCompute)
	wantAnswers(t, found, map[string]string{"gpu.compute/diagnostic/GPU 2 of 2": "not_run"}, true)
	rec := loadPage("dcgm-load", "", "", 0)
	f := judged(t, rec, twoGPUs(t), newGPUParts, gpuCompute)["gpu.compute/all/GPUs"]
	if gpuAnswer(f) != "not_run" || !strings.Contains(f.NotRun, "compares nothing") {
		t.Errorf("another load: %s: %s", gpuAnswer(f), f.NotRun)
	}
}
