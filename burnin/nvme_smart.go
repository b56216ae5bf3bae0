package burnin

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// nvmeInstances lists the NVMe controllers on PCIe, one a line.
const nvmeInstances = `for c in /sys/class/nvme/nvme[0-9]*; do
  [ -r "$c/transport" ] && read -r t <"$c/transport" && [ "$t" = pcie ] && echo "${c##*/}"
done; :`

// NVMeSmart is the health log of each drive by nvme-cli. Its parser reads the JSON
// of versions 1 to 3 and the plain form, which 2.5 prints in place of JSON.
var NVMeSmart = Probe[SMARTLog]{
	Spec: ProbeSpec{
		Name:      "nvme-smart",
		Command:   always(`nvme smart-log -o json "/dev/$1" 2>/dev/null || nvme log smart -o json "/dev/$1" || nvme smart-log "/dev/$1"`),
		Phases:    []Phase{PhaseBefore, PhaseAfter},
		Tool:      "nvme",
		Version:   "nvme version",
		Deadline:  time.Minute,
		Root:      true,
		Instances: nvmeInstances,
	},
	Parse: parseNVMeSmart,
}

func parseNVMeSmart(e *Evidence) (SMARTLog, error) {
	body, _ := e.Body()
	l := SMARTLog{Device: e.Instance}
	doc, err := findJSON(body)
	fields := objectWith(doc, 5, slices.Concat(smartNames["spare"], smartNames["media"])...)
	if err != nil || fields == nil {
		fields = smartText(string(body))
	}
	l.fill(fields)
	if !l.known() {
		return SMARTLog{}, nvmeFailure("nvme-smart", string(body)+"\n"+string(e.Err))
	}
	return l, nil
}

// nvmeFailure says why nvme-cli gave no data.
func nvmeFailure(probe, text string) error {
	switch {
	case strings.Contains(text, "ermission denied"):
		return errors.New(probe + ": no permission to ask the drive; run as root")
	case strings.Contains(text, "No such file"), strings.Contains(text, "No such device"):
		return errors.New(probe + ": the drive is not there any more")
	default:
		line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		return fmt.Errorf("%s: the drive's health log is not in the answer (%.60q)", probe, line)
	}
}

// smartText reads "Data Units Written : 398403 (203.98 GB)".
func smartText(text string) map[string]any {
	fields := map[string]any{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		name = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), " ", "_")
		if _, twice := fields[name]; !twice {
			fields[name] = strings.TrimSpace(value)
		}
	}
	return fields
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
