package nodetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// measures are the programs that measure alone, by a piece of their command line, with
// what they print.
var measures = []struct {
	command string
	print   func(*system) string
}{
	{" nvbandwidth -j ", (*system).nvbandwidth},
	{" all_reduce_perf ", (*system).allReduce},
	{" dcgmi diag ", (*system).dcgmDiag},
}

// measureLength is how long a measuring program takes on a simulated machine.
const measureLength = time.Second

// measure is what u prints when it measures.
func (u *unit) measure() func(*system) string {
	if u.kind == "load" && strings.Contains(u.command, migTrialMark) { // it calls nvbandwidth too
		return func(s *system) string { return s.migTrial(u.command) }
	}
	for _, m := range measures {
		if u.kind == "load" && strings.Contains(u.command, m.command) {
			return m.print
		}
	}
	return nil
}

// noCUDA reports whether no program of CUDA can begin.
func (m *Machine) noCUDA() bool { return m.HungSMI || m.Driver != m.Module }

// hostRate is what a GPU copies from or to the host, in GB/s: nine tenths of what its
// lanes carry, as healthy machines show.
func (s *system) hostRate(g *GPU) float64 {
	perLane := map[int]float64{4: 26.0 / 16, 5: 55.2 / 16, 6: 110.0 / 16}[s.M.GPUKind.Gen]
	return perLane*float64(g.Width) - 0.04*float64(g.Index%3)
}

// peerRate is what one GPU reads of another, in GB/s: over NVLink four fifths of its
// links' raw rate, else what the narrower of both links to the host carries.
func (s *system) peerRate(a, b *GPU) float64 {
	k := s.M.GPUKind
	if k.Links == 0 {
		return 0.9 * min(s.hostRate(a), s.hostRate(b))
	}
	share := map[bool]float64{true: 0.8, false: 0.92}[k.LinkRate > 26]
	up := k.Links - max(len(a.DownLinks), len(b.DownLinks))
	return share*k.LinkRate*float64(up) - 0.1*float64((a.Index+b.Index)%4)
}

// nvbandwidth prints its JSON.
func (s *system) nvbandwidth() string {
	type row = map[string]any
	root := row{"CUDA Runtime Version": 12080, "Driver Version": s.M.Driver, "git_version": "simulated", "version": "v0.8"}
	if s.M.noCUDA() {
		root["error"] = "[CUDA_ERROR_SYSTEM_DRIVER_MISMATCH] system has unsupported display driver / cuda driver combination in expression cuInit(0)"
		return styled(row{"nvbandwidth": root})
	}
	var up, down, local []string
	var peers [][]string
	var devices []string
	for i := range s.M.GPUs {
		g := &s.M.GPUs[i]
		devices = append(devices, fmt.Sprintf("%d: %s (%s): (%s)", i, s.M.GPUKind.Product, strings.TrimSuffix(longAddress(g.Address), ".0"), s.hostname()))
		up, down = append(up, figure(s.hostRate(g))), append(down, figure(s.hostRate(g)-0.2))
		local = append(local, figure(float64(s.M.GPUKind.MemoryMHz)+0.5*float64(i)))
		var line []string
		for j := range s.M.GPUs {
			if i == j {
				line = append(line, "N/A")
				continue
			}
			line = append(line, figure(s.peerRate(g, &s.M.GPUs[j])))
		}
		peers = append(peers, line)
	}
	test := func(name, about string, cells [][]string) row {
		return row{"name": name, "status": "Passed", "bandwidth_description": about + " bandwidth (GB/s)", "bandwidth_matrix": cells}
	}
	root["GPU Device list"] = devices
	root["testcases"] = []row{
		test("host_to_device_memcpy_ce", "memcpy CE CPU(row) -> GPU(column)", [][]string{up}),
		test("device_to_host_memcpy_ce", "memcpy CE CPU(row) <- GPU(column)", [][]string{down}),
		test("device_to_device_memcpy_read_ce", "memcpy CE GPU(row) -> GPU(column)", peers),
		test("device_local_copy", "memcpy local GPU(column)", [][]string{local}),
	}
	return styled(row{"nvbandwidth": root})
}

func figure(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

func styled(v any) string {
	b, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		return ""
	}
	return string(b) + "\n"
}

// busRates are the bus bandwidths of an all-reduce in GB/s that healthy machines show, by
// GPU; over PCIe it is what the host's links carry.
var busRates = map[string]float64{
	"NVIDIA H100 80GB HBM3": 476.2, "NVIDIA H200": 473.1, "NVIDIA A100-SXM4-80GB": 235.0, "NVIDIA A100-SXM4-40GB": 235.0,
	"NVIDIA B200": 838.4, "NVIDIA B300 SXM6 AC": 840.1,
}

// allReduce prints what all_reduce_perf does, at the one size that it was asked for.
func (s *system) allReduce() string {
	if s.M.noCUDA() {
		return "Test CUDA failure common.cu:1024 'system has unsupported display driver / cuda driver combination'\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# nThread 1 nGpus %d minBytes 17179869184 maxBytes 17179869184 step: 1048576(bytes) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n", len(s.M.GPUs))
	for i, g := range s.M.GPUs {
		fmt.Fprintf(&b, "#  Rank %2d Group  0 Pid   4711 on %10s device %2d [%s] %s\n", i, s.hostname(), i, strings.TrimSuffix(g.Address, ".0"), s.M.GPUKind.Product)
	}
	bytes := 16 << 30
	if s.M.GPUKind.MiB < 80000 {
		bytes = 8 << 30
	}
	bus, known := busRates[s.M.GPUKind.Product]
	if !known {
		bus = 0.8 * s.hostRate(&s.M.GPUs[0])
	}
	n := float64(len(s.M.GPUs))
	alg := bus * n / (2 * (n - 1))
	us := float64(bytes) / alg / 1e3
	fmt.Fprintf(&b, "#\n#                                                              out-of-place                       in-place          \n"+
		"#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"+
		"#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n"+
		" %d    %d     float     sum      -1   %.0f  %.2f  %.2f      0   %.0f  %.2f  %.2f      0\n"+
		"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : %g \n#\n# Collective test concluded: all_reduce_perf\n",
		bytes, bytes/4, us, alg, bus, us, alg, bus, bus)
	return b.String()
}

// dcgmDiag prints what dcgmi diag -j of DCGM 4 does.
func (s *system) dcgmDiag() string {
	type row = map[string]any
	category := func(name string, tests ...string) row {
		var list []row
		for _, test := range tests {
			var results []row
			for i := range s.M.GPUs {
				results = append(results, row{"entity_group": "GPU", "entity_group_id": 1, "entity_id": i, "status": "Pass"})
			}
			list = append(list, row{"name": test, "results": results, "test_summary": row{"status": "Pass"}})
		}
		return row{"category": name, "tests": list}
	}
	var entities []row
	for i, g := range s.M.GPUs {
		entities = append(entities, row{"entity_id": i, "device_id": s.M.GPUKind.DeviceID, "serial_num": g.Serial})
	}
	diag := row{"test_categories": []row{
		category("Deployment", "software"), category("Hardware", "memory", "diagnostic"), category("Integration", "pcie"),
		category("Stress", "memory_bandwidth", "targeted_stress", "targeted_power"),
	}}
	if s.M.noCUDA() {
		diag = row{"runtime_error": "the NVIDIA driver does not answer"}
	}
	return styled(row{
		"DCGM Diagnostic": diag, "entity_groups": []row{{"entity_group": "GPU", "entity_group_id": 1, "entities": entities}},
		"metadata": row{"version": "4.5.3", "Driver Version Detected": s.M.Driver},
	})
}

// gpuBurn is gpu_burn's output: reports of progress, each over the one before it, and the
// table.
func (s *system) gpuBurn(u *unit) string {
	var b, table strings.Builder
	gpus := slices.DeleteFunc(slices.Clone(s.M.GPUs), func(g GPU) bool { return !u.sees(&g) })
	for _, share := range []int{10, 50, 100} {
		var done, wrong, temps []string
		for _, g := range gpus {
			products, rate, errs := max(int(u.length.Seconds())*share/4, share/10), 50120-37*g.Index, "0 "
			if share == 100 && s.lost(&g) {
				products, rate, errs = -1, 0, "-1  (DIED!)"
			}
			done = append(done, fmt.Sprintf("%d (%d Gflop/s) ", products, rate))
			wrong, temps = append(wrong, errs), append(temps, strconv.Itoa(52+g.Index%4)+" C ")
		}
		fmt.Fprintf(&b, "\r%d.0%%  proc'd: %s  errors: %s  temps: %s", share, strings.Join(done, "- "), strings.Join(wrong, "- "), strings.Join(temps, "- "))
	}
	if u.exit != 0 {
		return b.String()[:b.Len()/2] // it died while it wrote
	}
	for i, g := range gpus {
		word := "OK"
		if s.lost(&g) {
			word = "FAULTY"
		}
		fmt.Fprintf(&table, "\tGPU %d: %s\n", i, word)
	}
	return b.String() + "\nKilling processes with SIGTERM (soft kill)\ndone\n\nTested " + itoa(len(gpus)) + " GPUs:\n" + table.String()
}
