package burnin

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// ContainerGPUs shows which GPUs containers would see. It starts no container and asks
// only: the list of the Container Device Interface, the container library's own view,
// and what Kubernetes has counted of this node. Each answer is behind a line
// "#containers NAME EXIT".
var ContainerGPUs = Probe[ContainerView]{
	Spec: ProbeSpec{
		Name: "containers",
		Command: func(p *profiles.Profile) string {
			if p == nil || !p.Containers.Seen.Set() {
				return ""
			}
			return containersScript
		},
		Phases:   []Phase{PhaseBefore},
		Family:   "nvidia-smi",
		Deadline: time.Minute,
		Root:     true,
	},
	Parse: parseContainers,
}

const containersScript = `
if command -v nvidia-ctk >/dev/null 2>&1; then nvidia-ctk cdi list 2>/dev/null; echo "#containers cdi $?"; fi
if command -v nvidia-container-cli >/dev/null 2>&1; then nvidia-container-cli info 2>&1; echo "#containers container-cli $?"; fi
if command -v kubectl >/dev/null 2>&1; then
  config=; for f in "$KUBECONFIG" /etc/kubernetes/kubelet.conf /var/lib/kubelet/kubeconfig; do [ -n "$f" ] && [ -r "$f" ] && config=$f && break; done
  kubectl ${config:+--kubeconfig "$config"} --request-timeout=20s get node "$(uname -n | tr A-Z a-z)" -o json 2>/dev/null | sed -n '/"allocatable": {/,/}/p;/"capacity": {/,/}/p'
  echo "#containers kubernetes $?"
fi
echo "#rackproof-containers-end"
`

// containerTools are the programs by the ways that they show.
var containerTools = map[string]string{"cdi": "nvidia-ctk", "container-cli": "nvidia-container-cli", "kubernetes": "kubectl"}

const containersEnd = "#rackproof-containers-end"

// ContainerView is how many GPUs each way shows, by its name in a profile: "cdi",
// "container-cli", "kubernetes".
type ContainerView struct {
	GPUs     map[string]Opt[float64]
	Failed   map[string]string // what a way says of why it shows none
	Complete bool
}

var (
	containersPart = regexp.MustCompile(`^#containers (cdi|container-cli|kubernetes) (\d+)$`)
	cdiGPU         = regexp.MustCompile(`(?m)^nvidia\.com/gpu=(\d+)$`)
	cdiUUID        = regexp.MustCompile(`(?m)^nvidia\.com/gpu=(GPU-\S+)$`)
	cliGPU         = regexp.MustCompile(`(?m)^GPU UUID:\s+GPU-\S+`)
	kubeBlock      = regexp.MustCompile(`(?s)"(allocatable|capacity)": \{(.*?)\}`)
)

func parseContainers(e *Evidence) (ContainerView, error) {
	body, _ := e.Body()
	v := ContainerView{GPUs: map[string]Opt[float64]{}, Failed: map[string]string{}}
	var part []string
	for line := range strings.Lines(string(body)) {
		line = chomp(line)
		switch m := containersPart.FindStringSubmatch(line); {
		case m != nil:
			v.read(m[1], strings.Join(part, "\n"), m[2])
			part = nil
		case line == containersEnd:
			v.Complete = true
		default:
			part = append(part, line)
		}
	}
	if !v.Complete && len(v.GPUs) == 0 {
		return ContainerView{}, errors.New("containers: the output is not that of rackproof's own probe, or was cut" + firstLine(e.Err))
	}
	return v, nil
}

// read counts the GPUs of one answer; of an error it keeps the words.
func (v *ContainerView) read(way, text, exit string) {
	n := Opt[float64]{Text: "nothing"}
	switch {
	case exit != "0":
		v.Failed[way] = fmt.Sprintf("it ended with exit status %s%s", exit, firstLine([]byte(text)))
	case way == "cdi":
		n = Opt[float64]{V: float64(max(len(cdiGPU.FindAllString(text, -1)), len(cdiUUID.FindAllString(text, -1)))), Set: true}
	case way == "container-cli":
		n = Opt[float64]{V: float64(len(cliGPU.FindAllString(text, -1))), Set: true}
	default:
		n = kubernetesGPUs(text)
	}
	v.GPUs[way] = n
}

// kubernetesGPUs is the fewer of what the node has and what may be given out: a GPU
// that the device plug-in found unhealthy is in the first alone.
func kubernetesGPUs(text string) Opt[float64] {
	fewest := Opt[float64]{Text: "no node"}
	for _, m := range kubeBlock.FindAllStringSubmatch(text, -1) {
		var fields map[string]string
		if json.Unmarshal([]byte("{"+m[2]+"}"), &fields) != nil {
			return Opt[float64]{Text: m[2]}
		}
		n := Opt[float64]{Set: true} // no device plug-in has told of any
		if word, ok := fields["nvidia.com/gpu"]; ok {
			n = optCount(word)
		}
		if !fewest.Set || n.V < fewest.V {
			fewest = n
		}
	}
	return fewest
}
