package burnin

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// NVLink is the state of every link of every GPU. The rate is the raw signalling
// rate of one direction: 18 × 26.562 GB/s where the data sheet says 900 GB/s.
var NVLink = Probe[NVLinkStatus]{
	Spec: ProbeSpec{
		Name:     "nvlink",
		Command:  onlyWithNVLink("nvidia-smi nvlink -s"),
		Phases:   []Phase{PhaseBefore, PhaseAfter},
		Family:   "nvidia-smi",
		Tool:     "nvidia-smi",
		Deadline: time.Minute,
	},
	Parse: parseNVLink,
}

// onlyWithNVLink is a command that runs where the profile has NVLinks, or where
// there is no profile yet.
func onlyWithNVLink(line string) func(*profiles.Profile) string {
	return func(p *profiles.Profile) string {
		if p != nil && !p.NVLink.Links.Set() && !p.NVLink.Topology.Set() {
			return ""
		}
		return line
	}
}

// NVLinkStatus is what nvidia-smi nvlink -s printed.
type NVLinkStatus struct {
	GPUs     []NVLinkGPU
	complete bool // our end mark was there
}

// listed reports whether all links of a GPU were printed for certain: an output
// without end mark may end inside the last GPU.
func (s *NVLinkStatus) listed(g *NVLinkGPU) bool {
	return s.complete || g != &s.GPUs[len(s.GPUs)-1] || g.AllInactive || g.None
}

// NVLinkGPU is one GPU's links. Refused is the line printed in place of links that
// could not be asked ("not supported for Devices in MIG mode").
type NVLinkGPU struct {
	Index       int
	UUID        string
	Links       []NVLinkState
	AllInactive bool // the tool says so in one line, in place of the links
	None        bool // the tool says that the device has no NVLink
	Refused     string
}

// NVLinkState is one link; Rate is not set when the link is not active.
type NVLinkState struct {
	Link     int
	Rate     Opt[float64] // GB/s, one direction
	Inactive bool
}

var nvlinkGPU = regexp.MustCompile(`^GPU (\d{1,4}): .*?(?:\(UUID: ([^)]*)\))?\s*$`)

func parseNVLink(e *Evidence) (NVLinkStatus, error) {
	var s NVLinkStatus
	body, ended := e.Body()
	s.complete = ended
	for line := range strings.Lines(string(body)) {
		line = strings.TrimRight(line, " \t\r\n")
		if index, uuid, ok := nvlinkHead(line); ok {
			s.GPUs = append(s.GPUs, NVLinkGPU{Index: index, UUID: uuid})
			continue
		}
		if len(s.GPUs) > 0 && line != "" {
			s.GPUs[len(s.GPUs)-1].read(line)
		}
	}
	if len(s.GPUs) == 0 {
		return s, noNVLinkAnswer("nvlink -s", body, e)
	}
	return s, nil
}

// nvlinkHead reads "GPU 6: NVIDIA A100-SXM4-80GB (UUID: GPU-…)".
func nvlinkHead(line string) (index int, uuid string, ok bool) {
	if !strings.HasPrefix(line, "GPU ") {
		return 0, "", false
	}
	m := nvlinkGPU.FindStringSubmatch(line)
	if m == nil {
		return 0, "", false
	}
	index, err := strconv.Atoi(m[1])
	return index, m[2], err == nil
}

// noNVLinkAnswer says why output shows no GPU.
func noNVLinkAnswer(command string, body []byte, e *Evidence) error {
	if f := nvidiaFailure(string(body)+"\n"+string(e.Err), e.Exit); f != nil {
		return errors.New("nvidia-smi failed: " + f.Text)
	}
	return fmt.Errorf("this is no output of nvidia-smi %s: it shows no GPU", command)
}

// nvlinkLine reads "Link 17: 26.562 GB/s": the number of the link and what is said of it.
// A link of which nothing is said is one all the same.
func nvlinkLine(line string) (link int, said string, ok bool) {
	number, said, ok := strings.Cut(strings.TrimSpace(line), ":")
	number, named := strings.CutPrefix(number, "Link ")
	if !ok || !named || len(number) > 4 || said != "" && said[0] != ' ' {
		return 0, "", false
	}
	n, err := strconv.ParseUint(number, 10, 16)
	return int(n), strings.TrimSpace(said), err == nil
}

func (g *NVLinkGPU) read(line string) {
	lower := strings.ToLower(line)
	link, said, ok := nvlinkLine(line)
	switch {
	case ok:
		g.Links = append(g.Links, NVLinkState{
			Link: link, Rate: optQuantity(said, profiles.GBPerSecond, ""), Inactive: strings.Contains(lower, "inactive"),
		})
	case strings.Contains(lower, "all links are inactive"):
		g.AllInactive = true
	case strings.Contains(lower, "not have or support nvlink"):
		g.None = true
	case len(g.Links) == 0 || isRefusal(lower):
		g.Refused = strings.TrimSpace(line)
	}
}

// isRefusal tells a line of the tool from what stands behind it in a capture.
func isRefusal(lower string) bool {
	return containsAny(lower, []string{"nvml", "unable to", "not supported", "failed"})
}

// Active counts the links that carry traffic. It is an error when the tool did not
// say it of some link.
func (g *NVLinkGPU) Active() (int, error) {
	if g.Refused != "" {
		return 0, fmt.Errorf("nvidia-smi nvlink says %q", g.Refused)
	}
	active := 0
	for _, l := range g.Links {
		switch {
		case l.Rate.Set && l.Rate.V > 0:
			active++
		case !l.Inactive && !l.Rate.Set:
			return 0, l.Rate.Absent(fmt.Sprintf("link %d", l.Link))
		}
	}
	if len(g.Links) == 0 && !g.AllInactive && !g.None {
		return 0, errors.New("nvidia-smi nvlink prints no link of this GPU")
	}
	return active, nil
}

// nvlinkIn finds the GPU of a part among those that a tool lists by number and
// unique id: the id decides where both sides have one.
func nvlinkIn[T any](gpus []T, part gpuPart, key func(*T) (index int, uuid string)) *T {
	for i := range gpus {
		index, uuid := key(&gpus[i])
		uuid = realUUID(uuid)
		if uuid != "" && part.UUID != "" {
			if uuid == part.UUID {
				return &gpus[i]
			}
			continue
		}
		if part.Index != nil && *part.Index == index {
			return &gpus[i]
		}
	}
	return nil
}
