package burnin

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// NVMeList are the drives that nvme-cli finds. Its parser reads the flat JSON of
// version 1 and the nested one of version 2 and later (subsystems, controllers).
var NVMeList = Probe[NVMeDrives]{
	Spec: ProbeSpec{
		Name:     "nvme-list",
		Command:  always("nvme list -o json"),
		Phases:   []Phase{PhaseBefore, PhaseAfter},
		Tool:     "nvme",
		Version:  "nvme version",
		Deadline: time.Minute,
		Root:     true,
	},
	Parse: parseNVMeList,
}

// NVMeDrives is a list of drives.
type NVMeDrives struct {
	Complete bool // the list is whole
	Drives   []NVMeDrive
}

// NVMeDrive is one controller and what its namespaces hold together.
type NVMeDrive struct {
	Name     string // "nvme0"
	Serial   string
	Model    string
	Address  string       // PCI address, "" where the tool does not tell
	Capacity Opt[float64] // bytes
}

var nvmeName = regexp.MustCompile(`nvme\d+`)

func parseNVMeList(e *Evidence) (NVMeDrives, error) {
	body, complete := e.Body()
	doc, err := findJSON(body)
	if err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(string(body)+"\n"+string(e.Err)), "\n")
		return NVMeDrives{}, fmt.Errorf("nvme-list: %w (%.80q)", err, line)
	}
	list := NVMeDrives{Complete: complete}
	if top, ok := doc.(map[string]any); !ok || top["Devices"] == nil {
		return NVMeDrives{}, fmt.Errorf("nvme-list: the JSON holds no list of devices")
	}
	list.walk(doc, 8)
	return list, nil
}

// walk adds every object that is a drive: it has a serial number, and a name among
// the properties that versions use for it.
func (l *NVMeDrives) walk(v any, depth int) {
	if depth == 0 {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			l.walk(item, depth-1)
		}
	case map[string]any:
		name := nvmeName.FindString(firstWord(jsonWord(v["Controller"]), jsonWord(v["DevicePath"]), jsonWord(v["Name"])))
		serial, isDrive := v["SerialNumber"].(string)
		if isDrive && name != "" {
			l.add(name, strings.TrimSpace(serial), v)
			return
		}
		for _, key := range sortedKeys(v) {
			l.walk(v[key], depth-1)
		}
	}
}

func (l *NVMeDrives) add(name, serial string, fields map[string]any) {
	d := NVMeDrive{
		Name: name, Serial: plainIdentity(serial), Model: strings.TrimSpace(jsonWord(fields["ModelNumber"])),
		Address: normalAddress(jsonWord(fields["Address"])), Capacity: looseNumber(fields["PhysicalSize"]),
	}
	spaces, _ := fields["Namespaces"].([]any)
	for _, item := range spaces {
		if m, ok := item.(map[string]any); ok {
			d.Capacity = optSum(d.Capacity, looseNumber(m["PhysicalSize"]))
		}
	}
	for i := range l.Drives {
		if l.Drives[i].Name == name { // version 1 lists each namespace by itself
			l.Drives[i].Capacity = optSum(l.Drives[i].Capacity, d.Capacity)
			return
		}
	}
	l.Drives = append(l.Drives, d)
}

func jsonWord(v any) string {
	s, _ := v.(string)
	return s
}
