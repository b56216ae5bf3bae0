package burnin

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// MIGDevices lists the instances of every GPU, by nvidia-smi -L. It is asked where the
// profile wants a layout to be there; one that is tried, the trial lists.
var MIGDevices = Probe[MIGList]{
	Spec: ProbeSpec{
		Name: "mig",
		Command: func(p *profiles.Profile) string {
			if p == nil || !p.GPU.MIGLayout.Set() || p.GPU.MIGLeave != "" {
				return ""
			}
			return "nvidia-smi -L"
		},
		Phases:   []Phase{PhaseBefore, PhaseAfter},
		Family:   "nvidia-smi",
		Tool:     "nvidia-smi",
		Deadline: time.Minute,
	},
	Parse: parseMIG,
}

// MIGList is what nvidia-smi -L printed.
type MIGList struct {
	GPUs     []MIGGPU
	Complete bool // a GPU or instance that is not in it was not there
}

// MIGGPU is one GPU with the profiles of its instances: "1g.10gb", in their order.
type MIGGPU struct {
	Index     int
	UUID      string
	Instances []string
}

// "  MIG 1g.10gb     Device  0: (UUID: MIG-…)", "  MIG 1c.3g.20gb  Device  1: (UUID: MIG-…)"
var migDevice = regexp.MustCompile(`^\s+MIG (\S+)\s+Device\s+\d+: \(UUID: MIG-\S+\)$`)

func parseMIG(e *Evidence) (MIGList, error) {
	body, complete := e.Body()
	l := MIGList{Complete: complete}
	for line := range strings.Lines(string(body)) {
		line = strings.TrimRight(line, " \t\r\n")
		if m := nvlinkGPU.FindStringSubmatch(line); m != nil {
			l.GPUs = append(l.GPUs, MIGGPU{Index: atoi(m[1]), UUID: m[2]})
			continue
		}
		if m := migDevice.FindStringSubmatch(line); m != nil && len(l.GPUs) > 0 {
			g := &l.GPUs[len(l.GPUs)-1]
			g.Instances = append(g.Instances, m[1])
		}
	}
	if len(l.GPUs) == 0 {
		return MIGList{}, errors.New("mig: the output lists no GPU" + firstLine(append(slices.Clone(body), e.Err...)))
	}
	return l, nil
}

// Layout is the instances as a profile writes them: "1x 3g.40gb, 4x 1g.10gb".
func (g *MIGGPU) Layout() string {
	if len(g.Instances) == 0 {
		return "none"
	}
	counts := map[string]int{}
	for _, name := range g.Instances {
		counts[name]++
	}
	var words []string
	for _, name := range sortedKeys(counts) {
		words = append(words, fmt.Sprintf("%dx %s", counts[name], name))
	}
	return migLayout(strings.Join(words, ", "))
}

// migLayout puts a layout into one order.
func migLayout(text string) string {
	words := strings.Split(text, ",")
	for i := range words {
		words[i] = strings.TrimSpace(words[i])
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// migLayouts judges the instances of every GPU in every reading.
func migLayouts(r *Readings, p *profiles.Profile) []Finding {
	if !p.GPU.MIGLayout.Set() || p.GPU.MIGLeave != "" {
		return nil
	}
	want := *p.GPU.MIGLayout
	want.Text = slices.Clone(want.Text)
	for i := range want.Text {
		want.Text[i] = migLayout(want.Text[i])
	}
	readings := phaseReadings(r, MIGDevices)
	var out []Finding
	for _, part := range gpuParts(r, p) {
		f := About("gpu.mig", "layout", part.Part)
		if len(readings) == 0 {
			out = append(out, f.Missing(fmt.Errorf("mig: %w", ErrNotRun)))
			continue
		}
		out = append(out, worstOf(readings, f, func(f Finding, l MIGList) Finding { return l.layout(f, part, &want) }))
	}
	return withClass(out, ClassSetting)
}

// layout judges one GPU. Instances that a cut list does not show may be there.
func (l *MIGList) layout(f Finding, part gpuPart, want *profiles.Limit) Finding {
	i := slices.IndexFunc(l.GPUs, func(g MIGGPU) bool {
		return part.UUID != "" && g.UUID == part.UUID || part.UUID == "" && part.Index != nil && g.Index == *part.Index
	})
	if i < 0 {
		return f.Missing(errors.New("nvidia-smi -L does not list this GPU"))
	}
	f = f.Word(l.GPUs[i].Layout(), want)
	if f.Verdict == Fail && !l.Complete && i == len(l.GPUs)-1 {
		return f.Missing(errors.New("the list is not known to be whole"))
	}
	return f
}
