package burnin

import (
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// LSCPU is what the kernel knows of the processors. Its parser reads the JSON of
// util-linux 2.30 and later, flat or nested, and the plain form.
var LSCPU = Probe[CPUInfo]{
	Spec: ProbeSpec{
		Name:     "lscpu",
		Command:  always("lscpu -J 2>/dev/null || lscpu"),
		Phases:   []Phase{PhaseBefore},
		Tool:     "lscpu",
		Version:  "lscpu --version",
		Deadline: 30 * time.Second,
	},
	Parse: parseLSCPU,
}

// CPUInfo are the processors of a machine.
type CPUInfo struct {
	Model                          string
	Sockets, CoresPerSocket, Nodes Opt[float64]
	ThreadsPerCore, CPUs           Opt[float64]
	Hypervisor                     string // "KVM"; "" on bare metal
	Fields                         map[string]string
}

func parseLSCPU(e *Evidence) (CPUInfo, error) {
	body, _ := e.Body()
	fields := map[string]string{}
	if strings.HasPrefix(strings.TrimSpace(string(body)), "{") {
		var doc struct {
			LSCPU []lscpuField `json:"lscpu"`
		}
		if err := json.Unmarshal(body, &doc); err != nil {
			return CPUInfo{}, errors.Join(errors.New("lscpu: the JSON cannot be read"), err)
		}
		flattenLSCPU(doc.LSCPU, fields)
	} else {
		for line := range strings.Lines(string(body)) {
			if name, value, ok := strings.Cut(line, ":"); ok {
				fields[strings.TrimSpace(name)] = strings.TrimSpace(value)
			}
		}
	}
	if fields["CPU(s)"] == "" {
		return CPUInfo{}, errors.New("lscpu: the output names no number of CPUs")
	}
	return CPUInfo{
		Model:   fields["Model name"],
		Sockets: optCount(fields["Socket(s)"]), CoresPerSocket: optCount(fields["Core(s) per socket"]),
		Nodes: optCount(fields["NUMA node(s)"]), ThreadsPerCore: optCount(fields["Thread(s) per core"]),
		CPUs: optCount(fields["CPU(s)"]), Hypervisor: fields["Hypervisor vendor"], Fields: fields,
	}, nil
}

// lscpuField is one line of lscpu -J; newer versions nest them.
type lscpuField struct {
	Field    string       `json:"field"`
	Data     string       `json:"data"`
	Children []lscpuField `json:"children"`
}

func flattenLSCPU(in []lscpuField, out map[string]string) {
	for _, f := range in {
		out[strings.TrimSuffix(f.Field, ":")] = f.Data
		flattenLSCPU(f.Children, out)
	}
}
