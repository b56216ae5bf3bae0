package burnin

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

const containersGood = `nvidia.com/gpu=0
nvidia.com/gpu=1
nvidia.com/gpu=GPU-aaaa
nvidia.com/gpu=GPU-bbbb
nvidia.com/gpu=all
#containers cdi 0
NVRM version:   570.172.08
CUDA version:   12.8

Device Index:   0
GPU UUID:       GPU-aaaa

Device Index:   1
GPU UUID:       GPU-bbbb
#containers container-cli 0
        "allocatable": {
            "cpu": "96",
            "nvidia.com/gpu": "2"
        },
        "capacity": {
            "cpu": "96",
            "nvidia.com/gpu": "2"
        },
#containers kubernetes 0
` + containersEnd + "\n"

func TestContainers(t *testing.T) {
	const cdi, cli, kube = "containers/gpus/containers by cdi", "containers/gpus/containers by container-cli", "containers/gpus/containers by kubernetes"
	all := &profiles.Limit{Relation: profiles.OneOf, Text: []string{"cdi", "container-cli", "kubernetes"}}
	swapped := func(old, with string) string { return strings.Replace(containersGood, old, with, 1) }
	for _, c := range []struct {
		name, out string
		answers   map[string]string
	}{
		{"good", containersGood, map[string]string{cdi: "pass", cli: "pass", kube: "pass"}},
		{"one GPU is not in the list of devices", strings.NewReplacer("nvidia.com/gpu=1\n", "", "nvidia.com/gpu=GPU-bbbb\n", "").Replace(containersGood), map[string]string{cdi: "fail"}},
		{"one GPU is not given out", swapped(`"nvidia.com/gpu": "2"`, `"nvidia.com/gpu": "1"`), map[string]string{kube: "fail", cdi: "pass"}},
		{"no device plug-in", strings.ReplaceAll(containersGood, ",\n            \"nvidia.com/gpu\": \"2\"", ""), map[string]string{kube: "fail"}},
		{"no node of this name", containersGood[:strings.Index(containersGood, `        "alloc`)] + "#containers kubernetes 0\n" + containersEnd + "\n", map[string]string{kube: "not_run"}},
		{"the library cannot begin", swapped("#containers container-cli 0", "#containers container-cli 1"), map[string]string{cli: "not_run"}},
		{"a tool that is not there", swapped("#containers cdi 0\n", ""), map[string]string{cdi: "not_run"}},
		{"something else", "hello\n", map[string]string{cdi: "not_run", cli: "not_run", kube: "not_run"}},
		{"nothing", "", map[string]string{cdi: "not_run", cli: "not_run", kube: "not_run"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &profiles.Profile{Containers: profiles.Containers{Seen: all}, GPU: profiles.GPU{Count: countLimit(profiles.Equal, 2)}}
			wantAnswers(t, judged(t, phases("containers", c.out, ""), p, newGPUParts, containers), c.answers, true)
		})
	}
	none := judged(t, phases("containers", containersGood, ""), &profiles.Profile{}, newGPUParts, containers)
	wantAnswers(t, none, map[string]string{"containers/gpus/containers": "not_applicable"}, true)
}

func FuzzContainers(f *testing.F) { fuzzParser(f, "containers", containersGood) }
