package burnin

import "github.com/rackproof/rackproof/profiles"

var gpuMemory = Check{
	Name:   "gpu.memory",
	Title:  "Every GPU has its whole memory and its whole window on the PCI bus",
	Probes: []string{NvidiaSMI.Spec.Name},
	Judge:  judgeGPUMemory,
}

func judgeGPUMemory(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	if none := noGPUs("gpu.memory", p); none != nil {
		return none
	}
	return askGPUs(r, p, "gpu.memory",
		gpuAsk{quantity: "memory", why: "it shows %v MiB of memory", judge: func(f Finding, g *NvidiaGPU) Finding {
			return f.number(g.Memory, profiles.MiB, p.GPU.Memory)
		}},
		gpuAsk{quantity: "bar1", why: "its window on the PCI bus is %v MiB", judge: func(f Finding, g *NvidiaGPU) Finding {
			return f.number(g.BAR1, profiles.MiB, p.GPU.BAR1)
		}},
	)
}
