package burnin

import (
	"errors"
	"regexp"
	"strings"
	"time"
)

// Ethtool is what the driver says of each physical network port: its link, its counters of
// broken frames, and its module. Its parser also reads a plain `ethtool PORT`, with -S and
// -m behind it.
var Ethtool = Probe[EthtoolReport]{
	Spec: ProbeSpec{
		Name:     "ethtool",
		Command:  always(ethtoolScript),
		Phases:   []Phase{PhaseBefore, PhaseAfter},
		Tool:     "ethtool",
		Version:  "ethtool --version",
		Deadline: time.Minute,
		Root:     true, // the module's memory is for root
	},
	Parse: parseEthtool,
}

// ethtoolScript asks every port that is hardware and no virtual function. A port whose
// module cannot be read (copper on board) says so, and the next is asked.
const ethtoolScript = `
n=0
echo "#rackproof-ethtool 1"
for d in /sys/class/net/*; do
  [ -e "$d/device" ] && [ ! -e "$d/device/physfn" ] || continue
  i=${d##*/}; n=$((n + 1))
  ethtool "$i" 2>/dev/null || echo "Settings for $i:"
  ethtool -S "$i" 2>/dev/null | grep -iE 'NIC statistics|crc|fcs|symbol|fec|corr'
  echo "#module"
  ethtool -m "$i" 2>/dev/null
done
echo "#rackproof-ethtool-end $n"
`

const ethtoolEnd = "#rackproof-ethtool-end "

// EthtoolReport is what ethtool shows of the ports.
type EthtoolReport struct {
	Ports    []EthtoolPort
	Complete bool // all ports that there are were asked
}

// EthtoolPort is one port. What is not printed is "" or not set.
type EthtoolPort struct {
	Name     string
	Link     string                  // "yes", "no"
	Speed    Opt[float64]            // Mb/s; not set without a link
	Counters map[string]Opt[float64] // by the driver's own names
	Module   EthtoolModule
}

// EthtoolModule is the optical module or cable in a port.
type EthtoolModule struct {
	Vendor, Model, Serial string
	Alarms                []string // "Laser rx power low alarm": set since it was last read (SFF-8636, latched)
}

// At returns a port by its name, or nil.
func (r *EthtoolReport) At(name string) *EthtoolPort {
	for i := range r.Ports {
		if r.Ports[i].Name == name {
			return &r.Ports[i]
		}
	}
	return nil
}

var (
	ethtoolHead  = regexp.MustCompile(`^Settings for (\S+):$`)
	ethtoolSpeed = regexp.MustCompile(`^(\d+)Mb/s`)
)

func parseEthtool(e *Evidence) (EthtoolReport, error) {
	body, _ := e.Body()
	r := ethtoolReader{}
	ended := ""
	for _, line := range lines(body) {
		if n, ok := strings.CutPrefix(line, ethtoolEnd); ok {
			ended = n
			continue
		}
		r.line(line)
	}
	if len(r.report.Ports) == 0 && ended != "0" {
		return r.report, errors.New("ethtool: the output shows no port" + firstLine(e.Err))
	}
	r.report.Complete = ended != "" && atoi(ended) == len(r.report.Ports)
	return r.report, nil
}

// ethtoolReader reads line by line; section is what the lines tell of.
type ethtoolReader struct {
	report  EthtoolReport
	section string // "link", "counters", "module"
}

func (r *ethtoolReader) line(line string) {
	if strings.HasPrefix(line, "Settings for ") {
		if m := ethtoolHead.FindStringSubmatch(line); m != nil {
			r.report.Ports = append(r.report.Ports, EthtoolPort{Name: m[1], Counters: map[string]Opt[float64]{}})
			r.section = "link"
			return
		}
	}
	switch {
	case line == "#module":
		r.section = "module"
		return
	case strings.HasPrefix(line, "NIC statistics:"):
		r.section = "counters"
		return
	}
	name, value, ok := strings.Cut(line, ":")
	if !ok || name == "" || len(r.report.Ports) == 0 {
		return
	}
	const blanks = " \t\f\r"
	name, value = strings.TrimRight(name, blanks), strings.TrimLeft(value, blanks)
	port := &r.report.Ports[len(r.report.Ports)-1]
	if name == "Identifier" { // -m without our mark
		r.section = "module"
	}
	switch r.section {
	case "counters":
		port.Counters[name] = optCount(value)
	case "module":
		port.Module.field(name, value)
	default:
		port.field(name, value)
	}
}

func (p *EthtoolPort) field(name, value string) {
	switch name {
	case "Link detected":
		p.Link, _, _ = strings.Cut(value, " ") // "no (No cable)"
	case "Speed":
		if m := ethtoolSpeed.FindStringSubmatch(value); m != nil {
			p.Speed = optCount(m[1])
		}
	}
}

func (m *EthtoolModule) field(name, value string) {
	switch name {
	case "Vendor name":
		m.Vendor = value
	case "Vendor PN":
		m.Model = value
	case "Vendor SN":
		m.Serial = value
	default:
		if strings.HasSuffix(name, "alarm") && value == "On" {
			m.Alarms = append(m.Alarms, name)
		}
	}
}
