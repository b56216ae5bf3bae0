package burnin

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// IBStatus shows the ports of InfiniBand devices, as sysfs has them. Its parser reads
// ibstat, ibstatus and ibv_devinfo too. Adapters whose ports are Ethernet are listed
// with them, and say so.
var IBStatus = Probe[IBReport]{
	Spec: ProbeSpec{
		Name:     "ib-status",
		Command:  always(ibStatusScript),
		Phases:   []Phase{PhaseBefore, PhaseAfter},
		Deadline: 30 * time.Second,
	},
	Parse: parseIBStatus,
}

// ibStatusScript prints a line for each port: name=value, behind tabs.
const ibStatusScript = `
tab=$(printf '\t'); n=0
echo "#rackproof-ib-status 1"
for p in /sys/class/infiniband/*/ports/*; do
  [ -d "$p" ] || continue
  d=${p%/ports/*}; line="port$tab${d##*/}$tab${p##*/}"
  a=$(cd -P "$d/device" 2>/dev/null && pwd) && line="$line${tab}pci=${a##*/}"
  for f in state phys_state rate link_layer counters/symbol_error counters/link_downed counters/link_error_recovery counters/port_rcv_errors; do
    v=; [ -r "$p/$f" ] && read -r v 2>/dev/null <"$p/$f"; [ -n "$v" ] && line="$line$tab${f##*/}=$v"
  done
  echo "$line"; n=$((n + 1))
done
echo "#rackproof-ib-status-end $n"
`

const (
	ibStatusHead = "#rackproof-ib-status 1"
	ibStatusEnd  = "#rackproof-ib-status-end "
)

// IBReport is what one tool showed of the ports.
type IBReport struct {
	Ports    []IBPort
	Complete bool     // a port that is not in it was not there
	Failed   []string // "ibpanic: …": a device that could not be read any more
}

// IBPort is one port of a device.
type IBPort struct {
	Device   string // "mlx5_0"
	Number   int
	Address  string       // PCI; "" when not shown
	State    string       // "active", "down", "init" …; "" when not shown
	Physical string       // "linkup", "polling" …; "" when not shown
	Layer    string       // "infiniband", "ethernet"
	Rate     Opt[float64] // Gb/s; of a port without a link it means nothing
	Counters map[string]Opt[float64]
}

// Name is the port as tools name it: "mlx5_0", and "mlx5_0/2" of a second one.
func (p *IBPort) Name() string {
	if p.Number <= 1 {
		return p.Device
	}
	return fmt.Sprintf("%s/%d", p.Device, p.Number)
}

// InfiniBand reports whether the port is one: older tools do not name the layer.
func (p *IBPort) InfiniBand() bool { return p.Layer == "infiniband" || p.Layer == "" }

// Active reports whether the port has a link that a subnet manager has taken up.
func (p *IBPort) Active() bool {
	return p.State == "active" && (p.Physical == "linkup" || p.Physical == "")
}

// At returns a port by its name, or nil.
func (r *IBReport) At(name string) *IBPort {
	for i := range r.Ports {
		if r.Ports[i].Name() == name {
			return &r.Ports[i]
		}
	}
	return nil
}

var (
	ibDevice  = regexp.MustCompile(`^(?:CA '([^']+)'|hca_id:\s*(\S+))$`)
	ibPortOf  = regexp.MustCompile(`^Infiniband device '([^']+)' port (\d+) status:$`)
	ibPort    = regexp.MustCompile(`^[Pp]ort(?:\s+(\d+):|:\s*(\d+))$`)
	ibOrdinal = regexp.MustCompile(`^\d+:\s*|\s*\(\d+\)$|^PORT_`) // "4: ACTIVE", "PORT_ACTIVE (4)"
)

func parseIBStatus(e *Evidence) (IBReport, error) {
	body, _ := e.Body()
	text := string(body)
	var r IBReport
	head := strings.Contains(text, ibStatusHead)
	if head {
		r.readSysfs(text)
	} else {
		r.readText(text)
	}
	for _, line := range append(lines(body), lines(e.Err)...) {
		if strings.HasPrefix(line, "ibpanic:") {
			r.Failed = append(r.Failed, line)
		}
	}
	if !head && len(r.Ports) == 0 && len(r.Failed) == 0 {
		return IBReport{}, errors.New("ib-status: the output shows no port" + firstLine(e.Err))
	}
	return r, nil
}

// readSysfs reads the lines of our own script.
func (r *IBReport) readSysfs(text string) {
	for line := range strings.Lines(text) {
		line = chomp(line)
		if count, ok := strings.CutPrefix(line, ibStatusEnd); ok {
			n, err := strconv.Atoi(strings.TrimSpace(count))
			r.Complete = err == nil && n == len(r.Ports)
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) < 3 || fields[0] != "port" {
			continue
		}
		p := IBPort{Device: fields[1], Number: atoi(fields[2]), Counters: map[string]Opt[float64]{}}
		for _, f := range fields[3:] {
			name, value, _ := strings.Cut(f, "=")
			switch name {
			case "pci":
				p.Address = normalAddress(value)
			default:
				p.set(name, value)
			}
		}
		r.Ports = append(r.Ports, p)
	}
}

// readText reads what the tools of rdma-core and infiniband-diags print.
func (r *IBReport) readText(text string) {
	device := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := ibDevice.FindStringSubmatch(line); m != nil {
			device = m[1] + m[2]
			continue
		}
		if m := ibPortOf.FindStringSubmatch(line); m != nil {
			r.Ports = append(r.Ports, IBPort{Device: m[1], Number: atoi(m[2])})
			device = m[1]
			continue
		}
		if m := ibPort.FindStringSubmatch(line); m != nil && device != "" {
			r.Ports = append(r.Ports, IBPort{Device: device, Number: atoi(m[1] + m[2])})
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if ok && len(r.Ports) > 0 && r.Ports[len(r.Ports)-1].Device == device {
			r.Ports[len(r.Ports)-1].set(strings.ReplaceAll(strings.ToLower(name), " ", "_"), strings.TrimSpace(value))
		}
	}
}

// set reads one field of a port, by its name in sysfs or in a tool.
func (p *IBPort) set(name, value string) {
	switch name {
	case "state":
		p.State = ibWord(value)
	case "phys_state", "physical_state":
		p.Physical = ibWord(value)
	case "link_layer":
		p.Layer = ibWord(value)
	case "rate": // "200 Gb/sec (4X HDR)", "10"
		if v := leadingNumber(value); v > 0 {
			p.Rate = Opt[float64]{V: v, Set: true, Text: value}
		}
	default:
		if p.Counters != nil {
			p.Counters[name] = optCount(value)
		}
	}
}

// ibWord is a word without its number, in lower case.
func ibWord(text string) string {
	text = strings.TrimSpace(text)
	for prior := ""; prior != text; {
		prior, text = text, ibOrdinal.ReplaceAllString(text, "")
	}
	return strings.ToLower(strings.TrimSpace(text))
}
