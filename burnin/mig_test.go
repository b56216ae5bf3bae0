package burnin

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

const migPage = `GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-aaaa)
  MIG 3g.40gb     Device  0: (UUID: MIG-1)
  MIG 1g.10gb     Device  1: (UUID: MIG-2)
  MIG 1g.10gb     Device  2: (UUID: MIG-3)
GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-bbbb)
  MIG 3g.40gb     Device  0: (UUID: MIG-4)
  MIG 1g.10gb     Device  1: (UUID: MIG-5)
  MIG 1g.10gb     Device  2: (UUID: MIG-6)
`

// migLog is a query of two GPUs with a licence.
func migLog(license string) string {
	var b strings.Builder
	b.WriteString("==============NVSMI LOG==============\n\nDriver Version                            : 570.172.08\nAttached GPUs                             : 2\n")
	for _, gpu := range []string{"00000000:19:00.0", "00000000:3B:00.0"} {
		uuid := map[string]string{"00000000:19:00.0": "GPU-aaaa", "00000000:3B:00.0": "GPU-bbbb"}[gpu]
		b.WriteString("GPU " + gpu + "\n    Product Name                          : NVIDIA H100 80GB HBM3\n    GPU UUID                              : " + uuid +
			"\n    MIG Mode\n        Current                           : Enabled\n        Pending                           : Enabled\n" +
			"    vGPU Software Licensed Product\n        Product Name                      : NVIDIA Virtual Compute Server\n        License Status                    : " + license + "\n    Processes                             : None\n")
	}
	return b.String()
}

func TestMIGLayout(t *testing.T) {
	word := func(s string) *profiles.Limit { return &profiles.Limit{Relation: profiles.Equal, Text: []string{s}} }
	first, second := "gpu.mig/layout/GPU 0000:19:00.0", "gpu.mig/layout/GPU 0000:3b:00.0"
	for _, c := range []struct {
		name, out, want string
		answers         map[string]string
	}{
		{"as ordered, in another order", migPage, "1x 3g.40gb, 2x 1g.10gb", map[string]string{first: "pass", second: "pass"}},
		{"an instance too few", strings.Replace(migPage, "  MIG 1g.10gb     Device  2: (UUID: MIG-3)\n", "", 1), "1x 3g.40gb, 2x 1g.10gb", map[string]string{first: "fail", second: "pass"}},
		{"none", "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-aaaa)\nGPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-bbbb)\n", "7x 1g.10gb", map[string]string{first: "fail", second: "fail"}},
		{"one GPU is not listed", strings.Split(migPage, "GPU 1")[0], "1x 3g.40gb, 2x 1g.10gb", map[string]string{first: "pass", second: "not_run"}},
		{"something else", "hello\n", "7x 1g.10gb", map[string]string{first: "not_run", second: "not_run"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := phases("nvidia-smi", migLog("Licensed"), "")
			rec.Evidence = append(rec.Evidence, phases("mig", c.out, "").Evidence...)
			p := &profiles.Profile{GPU: profiles.GPU{Count: countLimit(profiles.Equal, 2), MIG: word("Enabled"), MIGLayout: word(c.want)}}
			wantAnswers(t, judged(t, rec, p, newGPUParts, gpuMIG), c.answers, true)
		})
	}
	cut := phases("nvidia-smi", migLog("Licensed"), "")
	cut.Evidence = append(cut.Evidence, looseHost(map[string][]byte{"mig": []byte(migPage[:len(migPage)-60])}).Evidence...)
	p := &profiles.Profile{GPU: profiles.GPU{Count: countLimit(profiles.Equal, 2), MIG: word("Enabled"), MIGLayout: word("1x 3g.40gb, 2x 1g.10gb")}}
	wantAnswers(t, judged(t, cut, p, newGPUParts, gpuMIG), map[string]string{first: "pass", second: "not_run"}, true)
}

func TestVGPULicence(t *testing.T) {
	const id = "gpu.driver/vgpu_license/GPU 0000:19:00.0"
	licensed := &profiles.Limit{Relation: profiles.Equal, Text: []string{"Licensed"}}
	for _, c := range []struct {
		text  string
		limit *profiles.Limit
		want  string
	}{
		{"Licensed (Expiry: 2026-12-1 9:0:0 GMT)", licensed, "pass"},
		{"Unlicensed (Unrestricted)", licensed, "fail"},
		{"N/A", licensed, "not_run"},
		{"Licensed", nil, "not_applicable"},
	} {
		p := &profiles.Profile{GPU: profiles.GPU{Count: countLimit(profiles.Equal, 2), License: c.limit}}
		got := judged(t, phases("nvidia-smi", migLog(c.text), ""), p, newGPUParts, gpuDriver)
		if f := got[id]; gpuAnswer(f) != c.want {
			t.Errorf("%s is %s (%s%s), want %s", c.text, gpuAnswer(f), f.Why, f.NotRun, c.want)
		}
	}
	if got := judged(t, phases("nvidia-smi", migLog("N/A"), ""), &profiles.Profile{GPU: profiles.GPU{Count: countLimit(profiles.Equal, 2)}}, newGPUParts, gpuDriver); got[id].ID != "" {
		t.Errorf("a licence that nobody wants and nobody shows: %+v", got[id])
	}
}

func FuzzMIG(f *testing.F) {
	fuzzParser(f, "mig", migPage, "  MIG 1g.10gb     Device  0: (UUID: MIG-1)\n")
}

func FuzzMIGTrial(f *testing.F) {
	fuzzParser(f, "mig-trial", "#mig-trial run all work nvidia-smi\n\n#mig-trial rc 0\n#mig-trial run GPU-a mode-1 x\nEnabled MIG Mode\n#mig-trial rc 0\n#mig-trial holder GPU-a 1 x\n#mig-trial end\n", "#mig-trial refused x\n")
}

func TestMIGTrialHolder(t *testing.T) {
	t.Parallel()
	out := newMIGNode(t, "blocked").trial(t, profiles.MIGRemoved)
	out = strings.Replace(out, "#mig-trial run GPU-bbbb destroy-compute", "#mig-trial holder GPU-bbbb 2180 nv-hostengine\n#mig-trial holder GPU-bbbb - kernel module nvidia_drm\n#mig-trial run GPU-bbbb destroy-compute", 1)
	f := judged(t, migTrialRecord(out), migTrialProfile(profiles.MIGRemoved), newGPUParts, gpuMIG)["gpu.mig/instances/GPU 0000:3b:00.0"]
	if !strings.Contains(f.NotRun, "; held by nv-hostengine (2180), kernel module nvidia_drm: stop it") {
		t.Errorf("%s", f.NotRun)
	}
}

// A trial says nothing where no GPU is known to judge.
func TestMIGTrialOfNoGPU(t *testing.T) {
	t.Parallel()
	rec := migTrialRecord(newMIGNode(t, "").trial(t, profiles.MIGRemoved))
	rec.Evidence = rec.Evidence[len(rec.Evidence)-1:] // nothing but the trial
	p := migTrialProfile(profiles.MIGRemoved)
	p.GPU.Count = nil
	got := migTrials(NewReadings(rec), p)
	if len(got) != 1 || got[0].NotRun != "no evidence shows a GPU" {
		t.Errorf("findings %+v", got)
	}
}
