package burnin

import "testing"

func TestParseFabricManager(t *testing.T) {
	t.Parallel()
	for out, want := range map[string]string{
		"Fabric Manager version is : 550.90.07\n": "550.90.07",
		"nv-fabricmanager version: 580.105.08\n":  "580.105.08",
		"not found\n":                             "",
		"":                                        "",
	} {
		got, err := parseFabricManager(&Evidence{Out: []byte(out)})
		if got.Version != want || (err != nil) != (want == "") {
			t.Errorf("%q reads %q, %v", out, got.Version, err)
		}
	}
}

// Fabric Manager and driver must be one version.
func TestFabricManagerVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"580.105.08": "pass", "580.95.05": "fail"} {
		rec := gpuFolder(t, "gpu-two-h100")
		rec.Evidence = append(rec.Evidence, &Evidence{
			Probe: FabricManager.Spec.Name, Phase: PhaseBefore, Ended: EndedExit, Out: []byte("Fabric Manager version is : " + version),
		})
		found := gpuAnswers(rec, gpuProfile(t, "two-h100"), gpuFabric)
		if got := gpuAnswer(found["gpu.fabric/manager_version/Fabric Manager"]); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}

func FuzzParseFabricManager(f *testing.F) {
	f.Add([]byte("Fabric Manager version is : 550.90.07\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		if s, err := parseFabricManager(&Evidence{Out: out}); err == nil && s.Version == "" {
			t.Error("read, but no version")
		}
	})
}
