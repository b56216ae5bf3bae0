package burnin

import (
	"strings"
	"time"
)

// NVLinkErrors are the error counters of every link. Through Hopper they are
// Replay, Recovery and CRC errors; NVLink 5 counts other things under other names,
// among them bits corrected by FEC, which are no errors.
var NVLinkErrors = Probe[NVLinkCounters]{
	Spec: ProbeSpec{
		Name:     "nvlink-errors",
		Command:  onlyWithNVLink("nvidia-smi nvlink -e"),
		Phases:   []Phase{PhaseBefore, PhaseAfter},
		Family:   "nvidia-smi",
		Tool:     "nvidia-smi",
		Deadline: time.Minute,
	},
	Parse: parseNVLinkErrors,
}

// NVLinkCounters is what nvidia-smi nvlink -e printed.
type NVLinkCounters struct{ GPUs []NVLinkGPUCounters }

// NVLinkGPUCounters are one GPU's counters by link and name ("crc_errors").
type NVLinkGPUCounters struct {
	Index   int
	UUID    string
	Links   map[int]map[string]Opt[float64]
	Refused string // printed in place of counters
}

func parseNVLinkErrors(e *Evidence) (NVLinkCounters, error) {
	body, _ := e.Body()
	var c NVLinkCounters
	for line := range strings.Lines(string(body)) {
		line = strings.TrimRight(line, " \t\r\n")
		if index, uuid, ok := nvlinkHead(line); ok {
			c.GPUs = append(c.GPUs, NVLinkGPUCounters{Index: index, UUID: uuid, Links: map[int]map[string]Opt[float64]{}})
			continue
		}
		if len(c.GPUs) > 0 && line != "" {
			c.GPUs[len(c.GPUs)-1].read(line)
		}
	}
	if len(c.GPUs) == 0 {
		return c, noNVLinkAnswer("nvlink -e", body, e)
	}
	return c, nil
}

// read reads "Link 0: Replay Errors: 0". The name may hold a number
// ("FEC Errors - 0") or a colon, so the last colon parts name and value.
func (g *NVLinkGPUCounters) read(line string) {
	link, said, ok := nvlinkLine(line)
	colon := strings.LastIndexByte(said, ':')
	if !ok || colon < 1 {
		if len(g.Links) == 0 || isRefusal(strings.ToLower(line)) {
			g.Refused = strings.TrimSpace(line)
		}
		return
	}
	if g.Links[link] == nil {
		g.Links[link] = map[string]Opt[float64]{}
	}
	g.Links[link][fieldName(said[:colon])] = optCount(said[colon+1:])
}
