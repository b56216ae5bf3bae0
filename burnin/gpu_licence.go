package burnin

import "github.com/rackproof/rackproof/profiles"

// gpuLicences judges the vGPU licence of every GPU, where the profile wants one, and
// records it where a driver shows one.
func gpuLicences(readings []Reading[NvidiaLog], shown []gpuPart, p *profiles.Profile) []Finding {
	ask := askWord("vgpu_license", "vGPU licence is %v", func(g *NvidiaGPU) Opt[string] { return g.License }, p.GPU.License)
	var out []Finding
	for _, part := range shown {
		f := ask.put("gpu.driver", readings, part)
		if p.GPU.License.Set() || f.Measured != nil {
			out = append(out, f)
		}
	}
	return withClass(out, ClassDriver)
}
