package burnin

import (
	"fmt"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// gpuFabric asks every GPU whether it joined the NVSwitch fabric. Both words
// count: a GPU can have completed the attempt without success.
var gpuFabric = Check{
	Name:   "gpu.fabric",
	Title:  "Every GPU has joined the NVSwitch fabric",
	Probes: []string{NvidiaSMI.Spec.Name, FabricManager.Spec.Name},
	AtBoot: []string{"state", "status"},
	Judge:  judgeGPUFabric,
}

func judgeGPUFabric(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	const check = "gpu.fabric"
	if none := noGPUs(check, p); none != nil {
		return none
	}
	limits := p.NVLink.Fabric
	if !limits.State.Set() && !limits.Status.Set() {
		return []Finding{About(check, "all", fleetPart(p)).NotHere("the profile has no NVSwitch fabric")}
	}
	out := askGPUs(r, p, check,
		askWord("state", "the fabric is %v",
			func(g *NvidiaGPU) Opt[string] { return g.FabricState }, limits.State),
		askWord("status", "the GPU did not join the fabric: %v",
			func(g *NvidiaGPU) Opt[string] { return g.FabricStatus }, limits.Status),
		gpuAsk{quantity: "health", judge: fabricHealth},
	)
	for i := range out {
		out[i] = ofClass(out[i], ClassFabric)
	}
	return append(out, fabricService(r)...)
}

// fabricSound are the words of the fabric's health that mean no fault (NVML:
// nvmlGpuFabricInfo_v3_t, and the lines that nvidia-smi makes of its mask).
var fabricSound = map[string][]string{
	"summary":                 {"healthy"},
	"bandwidth":               {"full"},
	"incorrect_configuration": {"none"},
	"partition_assigned":      {"yes", "true", "no", "false"}, // partitions are a choice, no fault
}

// fabricHealth judges the lines in which the fabric tells its own health. GPUs and
// drivers that do not know them print N/A, and state and status decide alone.
func fabricHealth(f Finding, g *NvidiaGPU) Finding {
	var bad, said []string
	for _, w := range g.FabricHealth {
		if !w.Value.Set {
			continue
		}
		said = append(said, w.Value.V)
		sound, known := fabricSound[w.Name]
		if !known {
			sound = []string{"false", "no"}
		}
		if !containsWord(sound, w.Value.V) {
			bad = append(bad, strings.ReplaceAll(w.Name, "_", " ")+" "+w.Value.V)
		}
	}
	switch {
	case len(said) == 0:
		return f.NotHere("this GPU or driver does not tell the health of the fabric")
	case len(bad) > 0:
		f.Measured = strings.Join(bad, ", ")
		return f.Judged(Fail, "the fabric reports "+strings.Join(bad, ", "))
	}
	f.Measured = strings.Join(said, ", ")
	return f.Judged(Pass, "the fabric reports no fault")
}

func containsWord(words []string, word string) bool {
	for _, w := range words {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}

// fabricService compares the version of Fabric Manager with that of the driver,
// where the node has it: NVIDIA allows no difference.
func fabricService(r *Readings) []Finding {
	service := ReadAny(r, FabricManager, machinePhases...)
	if !service.OK() {
		return nil
	}
	for _, log := range nvidiaLogs(r) {
		driver := log.Value.Driver
		if driver == "" {
			continue
		}
		f := About("gpu.fabric", "manager_version", Part{Class: ClassFabric, Name: "Fabric Manager"}, service.Ref, log.Ref)
		f.Measured, f.Limit = service.Value.Version, driver
		if service.Value.Version == driver {
			return []Finding{f.Judged(Pass, "Fabric Manager and driver have one version")}
		}
		return []Finding{f.Judged(Fail, fmt.Sprintf("Fabric Manager is %s, the driver %s: they must be one version", service.Value.Version, driver))}
	}
	return nil
}
