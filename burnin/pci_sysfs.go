package burnin

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// PCISysfs is what the kernel shows of links and error counters under /sys, in a
// text of our own (see pciSysfsScript). Under load it is sampled without the error
// counters.
var PCISysfs = Probe[*PCITree]{
	Spec: ProbeSpec{
		Name:     "pci-sysfs",
		Command:  always("want=yes" + pciSysfsScript),
		Phases:   []Phase{PhaseBefore, PhaseLoad, PhaseAfter},
		Sampled:  true,
		Sample:   always("want=no" + pciSysfsScript),
		Deadline: 30 * time.Second,
	},
	Parse: parsePCISysfs,
}

const (
	pciSysfsHead = "#rackproof-pci-sysfs 1"
	pciSysfsEnd  = "#rackproof-pci-sysfs-end "
)

func parsePCISysfs(e *Evidence) (*PCITree, error) {
	body, _ := e.Body()
	devices := bytes.Count(body, []byte("\ndev\t"))
	p := sysfsParser{
		tree: &PCITree{Links: true, Devices: make([]PCIDevice, 0, devices)},
		at:   make(map[string]int, devices), moved: map[string]map[string]uint64{},
	}
	headed, ended := false, false
	var broken error
	var fields []string
	for line := range strings.Lines(string(body)) {
		line = chomp(line)
		switch {
		case line == pciSysfsHead:
			headed = true
		case strings.HasPrefix(line, pciSysfsEnd):
			n, err := strconv.Atoi(strings.TrimPrefix(line, pciSysfsEnd))
			ended = err == nil && n == len(p.tree.Devices)
		case headed && line != "":
			fields = appendFields(fields[:0], line)
			if err := p.line(fields); err != nil {
				broken = errors.Join(broken, err)
			}
		}
	}
	if !headed {
		return nil, errors.New("pci-sysfs: the output is not that of rackproof's own probe")
	}
	if ended && broken != nil { // without the end mark the last line may just be cut
		return nil, fmt.Errorf("pci-sysfs: %w", broken)
	}
	p.finish()
	p.tree.Complete = ended
	return p.tree.indexed(), nil
}

// appendFields is strings.Split at tabulators, without a list of its own.
func appendFields(fields []string, line string) []string {
	for {
		field, rest, more := strings.Cut(line, "\t")
		fields = append(fields, field)
		if !more {
			return fields
		}
		line = rest
	}
}

// sysfsParser builds a tree line by line.
type sysfsParser struct {
	tree  *PCITree
	at    map[string]int               // address → index
	moved map[string]map[string]uint64 // address → counter → bytes
	slots [][2]string
}

func (p *sysfsParser) line(f []string) error {
	if len(f) < 3 {
		return fmt.Errorf("the line %.60q is cut short", strings.Join(f, " "))
	}
	kind, address := f[0], f[1]
	switch kind {
	case "dev":
		p.device(address, f[2:])
		return nil
	case "slot":
		p.slots = append(p.slots, [2]string{address, f[2]})
		return nil
	}
	// What is said of a device nearly always stands behind it.
	i := len(p.tree.Devices) - 1
	if i < 0 || p.tree.Devices[i].Address != address {
		var ok bool
		if i, ok = p.at[normalAddress(address)]; !ok {
			return fmt.Errorf("a line about %s stands before the device", address)
		}
	}
	return p.detail(&p.tree.Devices[i], kind, f[2:])
}

func (p *sysfsParser) device(address string, fields []string) {
	d := PCIDevice{Address: normalAddress(address), Class: "????", Vendor: "????", Device: "????"}
	var link PCILink
	for _, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "parent":
			d.Parent = normalAddress(value) // "-" is no address
		case "class":
			d.Class = hexDigits(value, 6)[:4]
		case "vendor":
			d.Vendor = hexDigits(value, 4)
		case "device":
			d.Device = hexDigits(value, 4)
		case "max_link_speed":
			d.Max.Speed = pciSpeed(value)
		case "max_link_width":
			d.Max.Width = atoi(value)
		case "current_link_speed":
			link.Speed = pciSpeed(value)
		case "current_link_width":
			link.Width = atoi(value)
		case "driver":
			d.Driver = value
		case "virtual":
			d.Virtual = value != ""
		case "numa_node":
			if n, err := strconv.Atoi(value); err == nil && n >= 0 { // -1: the kernel does not know
				d.NUMA = Opt[int]{V: n, Set: true, Text: value}
			}
		}
	}
	d.setLink(link)
	p.at[d.Address] = len(p.tree.Devices)
	p.tree.Devices = append(p.tree.Devices, d)
}

func (p *sysfsParser) detail(d *PCIDevice, kind string, f []string) error {
	switch kind {
	case "aer":
		return d.addError(f)
	case "net":
		if len(f) < 4 {
			return fmt.Errorf("a net line of %s is cut short", d.Address)
		}
		d.NetDevs = append(d.NetDevs, PCINetDev{Name: f[0], MAC: strings.ToLower(f[1])})
		p.count(d, "net "+f[0], f[2:4], 1)
	case "port":
		return d.addPort(f)
	case "ib":
		if len(f) < 3 {
			return fmt.Errorf("an ib line of %s is cut short", d.Address)
		}
		p.count(d, "ib "+f[0], f[1:3], 4) // port_rcv_data counts words of four bytes (IB spec, PortCounters)
	case "nvme":
		if len(f) < 4 {
			return fmt.Errorf("an nvme line of %s is cut short", d.Address)
		}
		d.Drives = append(d.Drives, PCIDrive{Name: f[0], State: f[1], Serial: f[2], Model: f[3]})
	case "temp":
		return d.addTemperature(f)
	case "rootaer":
		if len(f) < 3 {
			return fmt.Errorf("a rootaer line of %s is cut short", d.Address)
		}
		d.Told = map[string]Opt[float64]{"correctable": optCount(f[0]), "nonfatal": optCount(f[1]), "fatal": optCount(f[2])}
	case "blk":
		return p.namespace(d, f)
	}
	return nil // a kind of a later version
}

// namespace counts one block device. With multipath a namespace shows twice, as a
// hidden path (nvme0c0n1) and as its head (nvme0n1), and which of them counts
// depends on the kernel: the larger one is taken.
func (p *sysfsParser) namespace(d *PCIDevice, f []string) error {
	if len(f) < 4 {
		return fmt.Errorf("a blk line of %s is cut short", d.Address)
	}
	size, err := strconv.ParseUint(f[1], 10, 50)
	if err != nil {
		size = 0 // not shown
	}
	name := f[0]
	if c, n := strings.LastIndexByte(name, 'c'), strings.LastIndexByte(name, 'n'); c > 0 && n > c {
		name = name[:c] + name[n:]
	}
	first := p.count(d, "blk "+name, f[2:4], 512)
	if first && len(d.Drives) > 0 {
		d.Drives[len(d.Drives)-1].Bytes += size * 512
	}
	return nil
}

// count keeps the larger of the readings of one counter, and reports whether it is
// the first.
func (p *sysfsParser) count(d *PCIDevice, name string, values []string, unit uint64) (first bool) {
	sum := uint64(0)
	for _, v := range values {
		n, err := strconv.ParseUint(v, 10, 54)
		if err != nil {
			return false // a port that is down keeps no counters
		}
		sum += n * unit
	}
	counters := p.moved[d.Address]
	if counters == nil {
		counters = map[string]uint64{}
		p.moved[d.Address] = counters
	}
	old, seen := counters[name]
	counters[name] = max(old, sum)
	return !seen
}

func (p *sysfsParser) finish() {
	for i, s := range p.slots {
		p.slots[i][0] = strings.TrimSuffix(normalAddress(s[0]+".0"), "0")
	}
	for i := range p.tree.Devices {
		d := &p.tree.Devices[i]
		for _, n := range p.moved[d.Address] {
			d.Moved = Opt[uint64]{V: d.Moved.V + n, Set: true}
		}
		for _, s := range p.slots {
			if strings.HasPrefix(d.Address, s[0]) {
				d.Slot = s[1]
			}
		}
	}
}

// addPort reads the link of a network port. A port that is down, or whose speed
// nobody knows, has none: the kernel prints nothing or -1.
func (d *PCIDevice) addPort(f []string) error {
	if len(f) < 4 {
		return fmt.Errorf("a port line of %s is cut short", d.Address)
	}
	for i := range d.NetDevs {
		if n := &d.NetDevs[i]; n.Name == f[0] {
			n.State, n.Speed, n.Downs = f[1], optCount(f[2]), optCount(f[3])
		}
	}
	return nil
}

// addTemperature reads the temperature of a drive; one that does not answer has none.
func (d *PCIDevice) addTemperature(f []string) error {
	if len(f) < 2 {
		return fmt.Errorf("a temp line of %s is cut short", d.Address)
	}
	milli, err := strconv.ParseFloat(f[1], 64)
	if err != nil || milli < -273150 || milli > 1e6 {
		return nil // a word is no temperature
	}
	for i := range d.Drives {
		if d.Drives[i].Name == f[0] {
			d.Drives[i].Temperature = Opt[float64]{V: milli / 1000, Set: true, Text: f[1]}
		}
	}
	return nil
}

// addError reads one line of aer_dev_correctable and its like. The kernel's own
// total is left out: it is the sum of the others.
func (d *PCIDevice) addError(f []string) error {
	if len(f) < 3 {
		return fmt.Errorf("an aer line of %s is cut short", d.Address)
	}
	if strings.HasPrefix(f[1], "TOTAL_") {
		return nil
	}
	n, err := strconv.ParseUint(f[2], 10, 62)
	if err != nil {
		return fmt.Errorf("the error counter %s of %s reads %q", f[1], d.Address, f[2])
	}
	if d.Errors == nil {
		d.Errors = make([]PCIError, 0, 48) // as many as the kernel has names
	}
	d.Errors = append(d.Errors, PCIError{f[0], f[1], n})
	return nil
}

// hexDigits cuts "0x030200" to n digits; a value that is not hex gives n times "?".
func hexDigits(text string, n int) string {
	text = strings.ToLower(strings.TrimPrefix(text, "0x"))
	if _, err := strconv.ParseUint(text, 16, 32); err != nil || len(text) != n {
		return strings.Repeat("?", n)
	}
	return text
}

func atoi(text string) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return 0
	}
	return n
}
