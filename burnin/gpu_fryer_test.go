package burnin

import (
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

const (
	fryerHead = "Detected GPU #0: \"NVIDIA H100 80GB HBM3\" (11111111-2222-3333-4444-000000000000)\n" +
		"Detected GPU #1: \"NVIDIA H100 80GB HBM3\" (11111111-2222-3333-4444-000000000001)\n" +
		"Using precision(s): FP32  \nGPU #0: Using 71234 MB\nGPU #1: Using 71234 MB\nCreating random matrices\nMatrices created\n"
	fryerBoth  = "340 (373833 Gflops/s) - 338 (371634 Gflops/s) | Temperatures: 50°C - 51°C | Throttling: None - None\n"
	fryerHot   = "340 (373833 Gflops/s) - 200 (219902 Gflops/s) | Temperatures: 50°C - 91°C | Throttling: None - Thermal HW\n"
	fryerOne   = "340 (373833 Gflops/s) - 0 (0 Gflops/s) | Temperatures: 50°C - 31°C | Throttling: None - None\n"
	fryerTail  = "GPU #0: 373833 Gflops/s (min: 373000.10, max: 374000.20, dev: 120.30)\n         Temperature: 50.00°C (min: 48.00, max: 51.00)\n         Throttling HW: false, Thermal SW: false, Thermal HW: false\nGPU #1: 371634 Gflops/s (min: 371000.10, max: 372000.20, dev: 120.30)\n         Temperature: 51.00°C (min: 48.00, max: 52.00)\n         Throttling HW: false, Thermal SW: false, Thermal HW: false\n"
	fryerWell  = "All GPUs seem healthy\nFreeing GPUs...\n"
	fryerIll   = "Some GPUs are not healthy. Reasons:\n  - GPU 1 - GPU reported 0 FLOPS, meaning it did not do any work. Check the GPU state for any XID errors and reset the GPU if needed\nFreeing GPUs...\n"
	fryerCrash = "thread 'tokio-runtime-worker' panicked at src/main.rs:430:41:\nUnable to burn GPU #1: DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")\n"
)

// gpu-fryer proves that GPUs computed and never that they were right: its GPUs are
// healthy when they are fast.
func TestGPUFryer(t *testing.T) {
	const one, two, all = "gpu.compute/computed/GPU (gpu-fryer 0)", "gpu.compute/computed/GPU (gpu-fryer 1)", "gpu.compute/all/GPUs"
	hot := "gpu.compute/slowed_hw_thermal/GPU (gpu-fryer 1)"
	idle := strings.Replace(fryerTail, "GPU #1: 371634 Gflops/s (min: 371000.10", "GPU #1:      0 Gflops/s (min: 0.00", 1)
	for _, c := range []struct {
		name, out, err string
		exit           int
		want           map[string]string
	}{
		{"well", fryerHead + strings.Repeat(fryerBoth, 3) + fryerTail + fryerWell, "", 0, map[string]string{one: "pass", two: "pass", all: "not_run"}},
		{"one told nothing", fryerHead + strings.Repeat(fryerOne, 3) + idle + fryerIll, fryerCrash, 1, map[string]string{one: "pass", two: "fail", all: "not_run"}},
		{"one told nothing, and healthy (issue 11)", fryerHead + strings.Repeat(fryerOne, 3) + idle + fryerWell, "", 0, map[string]string{one: "pass", two: "fail"}},
		{"not healthy for a reason of its own", fryerHead + strings.Repeat(fryerBoth, 3) + fryerTail + "Some GPUs are not healthy. Reasons:\n  - GPU 1 - something new\n", "", 1, map[string]string{one: "pass", two: "not_run"}},
		{"hot", fryerHead + strings.Repeat(fryerHot, 3) + fryerTail + fryerWell, "", 0, map[string]string{two: "pass", hot: "fail"}},
		{"hot in the last table alone", fryerHead + strings.Repeat(fryerBoth, 3) + strings.TrimSuffix(fryerTail, "Thermal HW: false\n") + "Thermal HW: true\n" + fryerWell, "", 1, map[string]string{two: "pass", hot: "fail"}},
		{"too short", fryerHead + fryerBoth + fryerTail + fryerWell, "", 0, map[string]string{one: "not_run", two: "not_run"}},
		{"cut", fryerHead + strings.Repeat(fryerBoth, 3), "", 0, map[string]string{one: "not_run", two: "not_run", all: "not_run"}},
		{"one missing in the table", fryerHead + strings.Repeat(fryerBoth, 3) + fryerTail[:strings.Index(fryerTail, "GPU #1")] + fryerWell, "", 0, map[string]string{one: "pass", two: "not_run"}},
		{"no NVML", "", "thread 'main' panicked at src/main.rs:290:39:\nUnable to initialize NVML. Check if the NVIDIA driver is installed\n", 101, map[string]string{"gpu.compute/computed/GPUs": "not_run", all: "not_run"}},
		{"lines written into each other", fryerHead + strings.Repeat("340 (373833 Gflops/s) - 338 (37163 | Temperatures: 50°C | Throttling: None - None\n", 3) + fryerTail + fryerWell, "", 0, map[string]string{one: "not_run", two: "not_run"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := *gpuProfile(t, "hgx-h100-8")
			p.GPU.Count = ratedLimit(profiles.Equal, 2, profiles.Count)
			wantAnswers(t, judged(t, loadPage("gpu-fryer", c.out, c.err, c.exit), &p, newGPUParts, gpuCompute), c.want, false)
		})
	}
}

func TestGPUFryerCommand(t *testing.T) {
	got := gpuFryer(nil, 3*time.Second)
	for _, want := range []string{"CUDA_DEVICE_ORDER=PCI_BUS_ID", "--use-fp32", "--tflops-tolerance 100", " 10"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}

// TestGPUFryerLosesAGPU: begun again without the GPU that was lost it proves the others by
// what it said last, with what slowed them before.
func TestGPUFryerLosesAGPU(t *testing.T) {
	const ids = "GPU-11111111-2222-3333-4444-00000000000"
	const one, lost, hot = "gpu.compute/computed/GPU (gpu-fryer 0)", "gpu.compute/loaded/GPU " + ids + "1", "gpu.compute/slowed_hw_thermal/GPU (gpu-fryer 0)"
	again := strings.SplitAfter(fryerHead, "\n")[0] + "Using precision(s): FP32  \n" +
		strings.Repeat("340 (373833 Gflops/s) | Temperatures: 50°C | Throttling: None\n", 3) + fryerTail[:strings.Index(fryerTail, "GPU #1")] + fryerWell
	for _, c := range []struct {
		name, first, again string
		want               map[string]string
	}{
		{"the other is well", fryerHead + fryerBoth, again, map[string]string{one: "pass", lost: "fail"}},
		{"the other was hot before", fryerHead + strings.Replace(fryerBoth, "None - None", "Thermal HW - None", 1), again, map[string]string{one: "pass", hot: "fail", lost: "fail"}},
		{"cut again", fryerHead + fryerBoth, again[:strings.LastIndex(again, "GPU #0:")], map[string]string{"gpu.compute/computed/GPU (gpu-fryer 0)": "not_run", lost: "fail"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := loadPage("gpu-fryer", c.first, "", 139)
			next := *loadPage("gpu-fryer", c.again, "", 0).Evidence[0]
			next.Instance, next.Command = "2", visible+ids+"0\nexec gpu-fryer"
			rec.Evidence = append(rec.Evidence, &next)
			rec.Meta.Dropped = []Drop{{UUID: ids + "1", Why: "it fell off the bus (XID 79)"}}
			p := *gpuProfile(t, "hgx-h100-8")
			p.GPU.Count = ratedLimit(profiles.Equal, 2, profiles.Count)
			wantAnswers(t, judged(t, rec, &p, newGPUParts, gpuCompute), c.want, false)
		})
	}
}
