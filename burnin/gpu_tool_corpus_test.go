package burnin

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

// One row for each capture of a measuring tool, with the right reading of it.
func TestGPUToolCaptures(t *testing.T) {
	gpus := func(n float64, tests ...string) *profiles.Profile {
		p := gpuProfile(t, "hgx-a100-40gb-8")
		p.GPU.Count = countLimit(profiles.Equal, n)
		p.GPU.DCGM.Tests = nil
		if tests != nil {
			p.GPU.DCGM.Tests = &profiles.Limit{Relation: profiles.OneOf, Text: tests, Provenance: profiles.FromAgreed, Source: "the test"}
		}
		return p
	}
	const h2d = "gpu.copy/host_to_device"
	for _, c := range []struct {
		probe, file string
		profile     *profiles.Profile
		check       Check
		want        map[string]string
		strict      bool
	}{
		{"dcgm", "dcgm/gcm-dcgm-diag-r1-0.json", gpus(8, "software"), gpuDCGM, map[string]string{"gpu.dcgm/software/GPUs": "pass"}, true},
		{"dcgm", "dcgm/gcm-dcgm-diag-r1-1.json", gpus(8, "software"), gpuDCGM, map[string]string{"gpu.dcgm/software/GPUs": "fail"}, true},
		{"dcgm", "dcgm/glimmer-gb10-level1.json", gpus(1, "software"), gpuDCGM, map[string]string{"gpu.dcgm/software/GPU (dcgm 0)": "fail"}, true},
		{"dcgm", "dcgm/glimmer-gb10-level2-partial-skip.json", gpus(1, "software", "memory", "pcie"), gpuDCGM, map[string]string{
			"gpu.dcgm/software/GPU (dcgm 0)": "fail", "gpu.dcgm/memory/GPU (dcgm 0)": "not_run", "gpu.dcgm/pcie/GPU (dcgm 0)": "not_run",
		}, true},
		{"dcgm", "dcgm/glimmer-diagjson-L10-dcgm3Pass.txt", gpus(1, "software", "pcie"), gpuDCGM, map[string]string{
			"gpu.dcgm/software/GPU (dcgm 0)": "pass", "gpu.dcgm/pcie/GPU (dcgm 0)": "pass",
		}, true},
		{"nvbandwidth", "nvbandwidth/dcgm-verboseFullOutput.json", gpus(1), gpuCopy, map[string]string{h2d + "/GPU (nvbandwidth 0)": "fail", "gpu.copy/device_to_host/GPU (nvbandwidth 0)": "fail", "gpu.copy/verified/GPUs": "pass"}, true},
		{"nvbandwidth", "nvbandwidth/dcgm-resulttest-1.json", gpus(8), gpuCopy, map[string]string{"gpu.copy/verified/GPUs": "not_run"}, false},
		{"nvbandwidth", "nvbandwidth/dcgm-resulttest-2.json", gpus(8), gpuCopy, map[string]string{"gpu.copy/verified/GPUs": "not_run"}, false},
		{"nvbandwidth", "nvbandwidth/dcgm-resulttest-3.json", gpus(8), gpuCopy, map[string]string{"gpu.copy/verified/GPUs": "not_run", h2d + "/GPUs": "not_run"}, false},
		{"nvbandwidth", "nvbandwidth/dcgm-resulttest-4.json", gpus(8), gpuCopy, map[string]string{"gpu.copy/verified/GPUs": "not_run"}, false},
		{"nvbandwidth", "nvbandwidth/dcgm-resulttest-5.json", gpus(8), gpuCopy, map[string]string{"gpu.copy/verified/GPUs": "not_run"}, false},
		{"nvbandwidth", "nvbandwidth/nvbandwidth-readme-samples.txt", gpus(8), gpuCopy, map[string]string{
			h2d + "/GPU (nvbandwidth 1)": "pass", "gpu.copy/verified/GPUs": "pass", "gpu.copy/peer/GPUs": "not_run", "gpu.copy/device_to_host/GPUs": "not_run",
		}, true},
		{"nccl", "nccl/superbench-nccl_allreduce.log", gpus(8), gpuNCCL, map[string]string{"gpu.nccl/ranks/GPUs": "pass", "gpu.nccl/bus/GPUs": "pass", "gpu.nccl/wrong/GPUs": "not_run"}, true},
		{"nccl", "nccl/superbench-nccl_allgather.log", gpus(8), gpuNCCL, map[string]string{"gpu.nccl/ranks/GPUs": "pass", "gpu.nccl/wrong/GPUs": "not_run"}, false},
		{"nccl", "nccl/nccl-tests-287-single-gpu-zero-busbw.txt", gpus(8), gpuNCCL, map[string]string{"gpu.nccl/ranks/GPUs": "fail", "gpu.nccl/bus/GPUs": "not_run", "gpu.nccl/wrong/GPUs": "not_run"}, true},
		{"gpu-burn", "gpu-burn/superbench-gpu_burn.log", gpus(8), gpuCompute, map[string]string{"gpu.compute/errors/GPU (gpu-burn 0)": "pass", "gpu.compute/errors/GPU (gpu-burn 7)": "pass"}, false},
		{"gpu-burn", "gpu-burn/issue14-init-error-but-OK.txt", gpus(2), gpuCompute, map[string]string{"gpu.compute/errors/GPU (gpu-burn 0)": "fail", "gpu.compute/errors/GPU (gpu-burn 1)": "fail"}, true},
	} {
		t.Run(filepath.Base(c.file), func(t *testing.T) {
			found := judged(t, looseHost(map[string][]byte{"load/" + c.probe: corpus(t, c.file)}), c.profile, newGPUParts, c.check)
			wantAnswers(t, found, c.want, c.strict)
		})
	}
}

// Every capture of these tools has a row above.
func TestGPUToolCapturesAreAllJudged(t *testing.T) {
	want := map[string]int{"dcgm": 5, "nvbandwidth": 7, "nccl": 3, "gpu-burn": 2}
	for folder, n := range want {
		files, err := os.ReadDir(filepath.Join("..", "..", "shared", "corpus", folder))
		if os.IsNotExist(err) {
			t.Skip("the captures are not in ../shared/corpus")
		}
		if err != nil || len(files) != n {
			t.Errorf("%s holds %d captures, %d are judged: %v", folder, len(files), n, err)
		}
	}
}
