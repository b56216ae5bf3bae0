package burnin

import (
	"maps"
	"strings"
	"testing"
)

// Whole outputs that are missing, cut or replaced by a failure.
func TestGPUChecksWithoutAnswer(t *testing.T) {
	t.Parallel()
	three, eighteen := 3, 18
	rows := []struct {
		name   string
		change func(of func(ref string) *Evidence)
		check  Check
		want   map[string]string
	}{
		{"nvidia-smi hangs", func(of func(string) *Evidence) {
			e := of("after/nvidia-smi")
			e.Out, e.Ended, e.Exit, e.Seconds = nil, EndedTimeout, nil, 120
		}, gpuDriver, map[string]string{"gpu.driver/answers/NVIDIA driver": "fail", "gpu.driver/state/GPU SXM1": "not_run", "gpu.driver/state/GPU SXM3": "not_run"}},
		{"nvidia-smi hangs, and ECC stays open", func(of func(string) *Evidence) {
			for _, ref := range []string{"before/nvidia-smi", "after/nvidia-smi"} {
				e := of(ref)
				e.Out, e.Ended, e.Exit = nil, EndedTimeout, nil
			}
		}, gpuECC, map[string]string{"gpu.ecc/all/GPUs": "not_run"}},
		{"the run ended before the second reading", func(of func(string) *Evidence) {
			e := of("after/nvidia-smi")
			e.Probe = "elsewhere"
		}, gpuMIG, map[string]string{
			"gpu.mig/mode/GPU SXM1": "not_run", "gpu.mig/mode/GPU SXM3": "not_run",
			"gpu.mig/mode_pending/GPU SXM1": "not_run", "gpu.mig/mode_pending/GPU SXM3": "not_run",
		}},
		{"driver and library differ", func(of func(string) *Evidence) {
			e := of("after/nvidia-smi")
			e.Out, e.Exit = []byte("Failed to initialize NVML: Driver/library version mismatch\n"), &eighteen
		}, gpuDriver, map[string]string{"gpu.driver/answers/NVIDIA driver": "fail", "gpu.driver/state/GPU SXM1": "not_run", "gpu.driver/state/GPU SXM3": "not_run"}},
		{"an exit status that means nothing to us", func(of func(string) *Evidence) {
			of("after/nvidia-smi").Exit = &three
		}, gpuDriver, map[string]string{"gpu.driver/answers/NVIDIA driver": "not_run"}},
		{"no device left", func(of func(string) *Evidence) {
			of("after/nvidia-smi").Out = []byte("No devices were found\n")
		}, gpuCount, map[string]string{
			"gpu.count/count/GPUs": "fail", "gpu.count/present/GPU SXM1": "not_run", "gpu.count/present/GPU SXM3": "not_run",
			"gpu.count/product/GPU SXM1": "not_run", "gpu.count/product/GPU SXM3": "not_run",
		}},
		{"one GPU left out of a whole log", func(of func(string) *Evidence) {
			e := of("after/nvidia-smi")
			text := string(e.Out)
			e.Out = []byte(text[:strings.LastIndex(text, "\t<gpu id")] + "</nvidia_smi_log>\n")
		}, gpuCount, map[string]string{"gpu.count/count/GPUs": "fail", "gpu.count/present/GPU SXM1": "fail", "gpu.count/product/GPU SXM1": "not_run"}},
		{"a log that was cut", func(of func(string) *Evidence) {
			e := of("after/nvidia-smi")
			text := string(e.Out)
			e.Out = []byte(text[:strings.LastIndex(text, "<remapped_rows>")])
		}, gpuRemap, map[string]string{
			"gpu.remap/failure/GPU SXM1": "not_run", "gpu.remap/pending/GPU SXM1": "not_run",
			"gpu.remap/uncorrectable_rows/GPU SXM1": "not_run", "gpu.remap/correctable_rows/GPU SXM1": "not_run",
		}},
		{"a GPU that is lost", func(of func(string) *Evidence) {
			e := of("after/nvidia-smi")
			text := string(e.Out)
			e.Out = []byte("Unable to determine the device handle for GPU1: 0000:A8:00.0: Unknown Error\n" +
				text[:strings.LastIndex(text, "\t<gpu id")] + "</nvidia_smi_log>\n")
		}, gpuDriver, map[string]string{"gpu.driver/state/GPU SXM1": "fail"}},
	}
	p := gpuProfile(t, "two-h100")
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			rec := gpuFolder(t, "gpu-two-h100")
			row.change(func(ref string) *Evidence { return gpuEvidence(t, rec, ref) })
			if got := notGoodAnswers(gpuAnswers(rec, p, row.check)); !maps.Equal(got, row.want) {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

// A host without the vendor's tool still shows on its PCI bus that GPUs are missing,
// and cannot show that they work.
func TestGPUCountByBus(t *testing.T) {
	t.Parallel()
	device := func(address string) PCIDevice {
		return PCIDevice{Address: address, Class: pciGPU, Vendor: vendorNV, Device: "2330"}
	}
	for _, row := range []struct {
		name    string
		devices []PCIDevice
		want    string
	}{
		{"none of two", nil, "fail"},
		{"one of two", []PCIDevice{device("0000:1b:00.0")}, "fail"},
		{"both", []PCIDevice{device("0000:1b:00.0"), device("0000:a8:00.0")}, "not_run"},
	} {
		e := &Evidence{Probe: PCISysfs.Spec.Name, Phase: PhaseBefore, Source: FromSSH, Ended: EndedExit, Out: []byte("x")}
		smi := &Evidence{Probe: NvidiaSMI.Spec.Name, Phase: PhaseBefore, Source: FromSSH, Ended: EndedNoTool}
		rec := &Record{Meta: Meta{Coverage: CoverHost}, Evidence: []*Evidence{e, smi}}
		r := NewReadings(rec)
		r.cache[e] = parsed{value: &PCITree{Devices: row.devices, Complete: true}}
		f := countGPUs(r, gpuProfile(t, "two-h100"))
		if got := gpuAnswer(f); got != row.want {
			t.Errorf("%s: count is %s (%s%s), want %s", row.name, got, f.Why, f.NotRun, row.want)
		}
	}
}
