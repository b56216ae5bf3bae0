package burnin

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Facts is what a node says of itself in one round trip, before any probe.
type Facts struct {
	Host    string
	Clock   string // of the node, RFC 3339
	BootID  string
	UID     int
	CPUs    int
	GPUs    int      // NVIDIA GPUs on the PCI bus, whether or not a driver is loaded
	GPUIDs  []string // their PCI ids, "10de:2330", one for each
	NVMes   int
	Vendor  string // DMI, as are the next two
	Product string
	Board   string
	OS      string // ID of os-release
	tools   map[string]bool
	standIn map[string]bool // programs that only print in place of the real ones

	skew time.Duration // node's clock minus ours
}

// simulatedOS is what the simulated rack's hosts call themselves.
const simulatedOS = "rackproof-simulated"

// Simulated reports whether the node says that it is a simulated one.
func (f *Facts) Simulated() bool { return f.OS == simulatedOS }

// StandsIn reports whether the node says that a program is not the real one but
// prints in its place, as the lab's image does (/etc/rackproof/stand-ins).
func (f *Facts) StandsIn(tool string) bool { return f.standIn[tool] }

// Has reports whether a program is on the node.
func (f *Facts) Has(tool string) bool { return tool == "" || f.tools[tool] }

const factsScript = `
echo "host $(uname -n)"
echo "clock $(date -u +%Y-%m-%dT%H:%M:%SZ)"
echo "boot $(cat /proc/sys/kernel/random/boot_id 2>/dev/null)"
echo "uid $(id -u)"
echo "os $(sed -n 's/^ID=//p' /etc/os-release 2>/dev/null)"
echo "cpus $(getconf _NPROCESSORS_ONLN)"
for k in sys_vendor product_name board_name; do
	if [ -r /sys/class/dmi/id/$k ]; then echo "$k $(cat /sys/class/dmi/id/$k)"; fi
done
n=0
for d in /sys/bus/pci/devices/*; do
	{ read -r vendor <"$d/vendor" && read -r class <"$d/class"; } 2>/dev/null || continue
	case $vendor$class in 0x10de0x030[02]*) ;; *) continue ;; esac
	n=$((n + 1))
	if read -r device <"$d/device"; then echo "gpu 10de:${device#0x}"; fi 2>/dev/null
done
echo "gpus $n"
n=0
for d in /sys/class/nvme/nvme*; do [ -e "$d" ] && n=$((n + 1)); done
echo "nvmes $n"
if [ -r /etc/rackproof/stand-ins ]; then
	while read -r t; do echo "stand-in $t"; done </etc/rackproof/stand-ins
fi
for t; do case $t in *' '*) ;; *) command -v "$t" >/dev/null 2>&1 && echo "tool $t" ;; esac; done
echo end`

// askLimit bounds a short question to the node. It is far above what a healthy node
// needs, because one that is busy, or emulated, answers slowly and is not broken.
const askLimit = 90 * time.Second

// askNode asks the node about itself, which of tools it has, and in the same round trip
// for the survey of probes.
func askNode(ctx context.Context, sh Shell, tools []string, probes []ProbeSpec) (*Facts, *survey, error) {
	sections, script := surveyScript(probes)
	began := time.Now()
	out, err := sh.Run(ctx, Command{Line: nodeLine("facts", append(tools, sections...), factsScript+script), Deadline: askLimit})
	if err != nil {
		return nil, nil, err
	}
	f, err := parseFacts(out.Out)
	if err != nil {
		return nil, nil, fmt.Errorf("the node does not answer as a Linux host does (%s): %w%s", endWords(out), err, firstLine(out.Err))
	}
	if clock, err := time.Parse(time.RFC3339, f.Clock); err == nil {
		f.skew = clock.Sub(began.Add(time.Since(began) / 2)).Round(time.Second)
	}
	return f, parseSurvey(out.Out), nil
}

func parseFacts(b []byte) (*Facts, error) {
	f := &Facts{UID: -1, tools: map[string]bool{}, standIn: map[string]bool{}}
	numbers := map[string]*int{"uid": &f.UID, "cpus": &f.CPUs, "gpus": &f.GPUs, "nvmes": &f.NVMes}
	words := map[string]*string{
		"host": &f.Host, "clock": &f.Clock, "boot": &f.BootID,
		"sys_vendor": &f.Vendor, "product_name": &f.Product, "board_name": &f.Board, "os": &f.OS,
	}
	whole := false
	for line := range bytes.Lines(b) {
		key, value, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if key == "end" { // the survey is behind it
			whole = true
			break
		}
		switch {
		case key == "tool":
			f.tools[value] = true
		case key == "gpu":
			f.GPUIDs = append(f.GPUIDs, value)
		case key == "stand-in":
			f.standIn[value] = true
		case words[key] != nil:
			*words[key] = strings.TrimSpace(value)
		case numbers[key] != nil:
			n, err := strconv.Atoi(value)
			if err != nil {
				return nil, fmt.Errorf("%s is %q, want a number", key, value)
			}
			*numbers[key] = n
		}
	}
	if !whole {
		return nil, fmt.Errorf("the answer is cut after %d bytes", len(b))
	}
	return f, nil
}

// tools are the programs that probes and loads need, each once.
func tools(probes []ProbeSpec, more ...string) []string {
	set := map[string]bool{}
	for _, p := range probes {
		set[p.Tool] = true
	}
	for _, t := range more {
		set[t] = true
	}
	delete(set, "")
	return slices.Sorted(maps.Keys(set))
}

// survey is what is asked beside the facts: the instances of probes that are run once
// per device, and the versions of tools.
type survey struct {
	instances map[string][]string
	versions  map[string]string
}

const sectionMark = "#rackproof-section "

// surveyScript runs every Instances and Version line of probes whose tool is there;
// vendor tools that may hang come last, so that a hang costs no more than their
// versions.
func surveyScript(probes []ProbeSpec) (sections []string, script string) {
	var b strings.Builder
	section := func(kind string, p ProbeSpec, line string) {
		sections = append(sections, kind+" "+p.Name)
		fmt.Fprintf(&b, "\nif command -v %s >/dev/null 2>&1; then echo '%s%s %s'; { %s\n} 2>/dev/null </dev/null | head -n 200; fi",
			shellQuote(or(p.Tool, "sh")), sectionMark, kind, p.Name, line)
	}
	for _, p := range probes {
		if p.Instances != "" {
			section("instances", p, p.Instances)
		}
	}
	late := slices.Clone(probes)
	slices.SortStableFunc(late, func(a, b ProbeSpec) int { return strings.Compare(a.Family, b.Family) })
	for _, p := range late {
		if p.Version != "" {
			section("version", p, p.Version)
		}
	}
	return sections, b.String()
}

func parseSurvey(b []byte) *survey {
	s := &survey{instances: map[string][]string{}, versions: map[string]string{}}
	var kind, probe string
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if head, ok := strings.CutPrefix(line, sectionMark); ok {
			kind, probe, _ = strings.Cut(head, " ")
			continue
		}
		switch {
		case line == "":
		case kind == "instances" && instanceName.MatchString(line):
			s.instances[probe] = append(s.instances[probe], line)
		case kind == "version" && s.versions[probe] == "":
			s.versions[probe] = line
		}
	}
	return s
}

func endWords(o Output) string {
	if o.Exit != nil {
		return fmt.Sprintf("exit %d", *o.Exit)
	}
	return string(o.Ended)
}

// firstLine is the first line of a stream, set off for the end of a message.
func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	if len(line) == 0 {
		return ""
	}
	return ": " + string(line[:min(len(line), 200)])
}
