package burnin

import "github.com/rackproof/rackproof/profiles"

// gpuMIG asks for the mode of multi-instance GPU, now and after the next reset:
// a GPU that is cut into instances has no NVLink and is not measured whole. Where the
// order wants instances, it asks which there are, or (mig_leave) whether they can be made.
var gpuMIG = Check{
	Name:   "gpu.mig",
	Title:  "Multi-instance mode is as the profile wants it",
	Probes: []string{NvidiaSMI.Spec.Name, MIGDevices.Spec.Name, migTrialName},
	Judge:  judgeGPUMIG,
}

func judgeGPUMIG(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	if none := noGPUs("gpu.mig", p); none != nil {
		return none
	}
	if !p.GPU.MIG.Set() {
		return []Finding{About("gpu.mig", "all", fleetPart(p)).NotHere("these GPUs have no multi-instance mode")}
	}
	return append(withClass(askGPUs(r, p, "gpu.mig",
		askWord("mode", "multi-instance mode is %v",
			func(g *NvidiaGPU) Opt[string] { return g.MIG.Current }, p.GPU.MIG),
		askWord("mode_pending", "multi-instance mode will be %v after the next reset",
			func(g *NvidiaGPU) Opt[string] { return g.MIG.Pending }, p.GPU.MIG),
	), ClassSetting), append(migLayouts(r, p), migTrials(r, p)...)...)
}
