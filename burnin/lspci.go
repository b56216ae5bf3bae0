package burnin

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// LSPCI is the long listing of the PCI bus. Its parser reads the forms of pciutils
// up to 3.7 (which marks good links "(ok)") and from 3.8 (which does not), with and
// without -nn, and the numeric form of -n. Marks are not believed: "downgraded"
// compares with what the port could do, the profile with what the machine needs.
var LSPCI = Probe[*PCITree]{
	Spec: ProbeSpec{
		Name:     "lspci",
		Command:  always("lspci -D -vvv -nn"),
		Phases:   []Phase{PhaseBefore, PhaseAfter},
		Tool:     "lspci",
		Version:  "lspci --version",
		Deadline: time.Minute,
		Root:     true, // without root the link registers are "<access denied>"
	},
	Parse: parseLSPCI,
}

var (
	lspciHead     = regexp.MustCompile(`^((?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]) (.+)$`)
	lspciCode     = regexp.MustCompile(`^\[[0-9a-f]{4}\]$`)
	lspciIDs      = regexp.MustCompile(`\[([0-9a-f]{4}):([0-9a-f]{4})\]`)
	lspciNumeric  = regexp.MustCompile(`^([0-9a-f]{4}):([0-9a-f]{4})\b`)
	lspciDeviceID = regexp.MustCompile(`\bDevice ([0-9a-f]{4})\b`)
	lspciRev      = regexp.MustCompile(` \(rev ([0-9a-f]{2})\)`)
	lspciLink     = regexp.MustCompile(`Speed ([^,(]+?)(?: \([^)]*\))?, Width x(\d+)`)
	lspciBus      = regexp.MustCompile(`secondary=([0-9a-f]{2})\b`)
)

// lspciClasses are the words of pci.ids for the classes that we look at; lspci
// prints the number only with -nn.
var lspciClasses = map[string]string{
	"3D controller":                  pciGPU,
	"VGA compatible controller":      pciVGA,
	"Non-Volatile memory controller": pciNVMe,
	"Ethernet controller":            pciNIC,
	"Infiniband controller":          pciFabric,
	"InfiniBand controller":          pciFabric,
	"PCI bridge":                     pciBridge,
}

// lspciVendors are the vendors that we must know by name where -nn was not given.
var lspciVendors = map[string]string{
	"NVIDIA Corporation":    vendorNV,
	"nVidia Corporation":    vendorNV,
	"Mellanox Technologies": "15b3",
}

func parseLSPCI(e *Evidence) (*PCITree, error) {
	body, complete := e.Body()
	t := &PCITree{Complete: complete}
	behind := map[string]string{} // domain:bus → bridge that leads to it
	var d *PCIDevice
	for line := range strings.Lines(string(body)) {
		line = strings.TrimRight(line, " \r\n")
		if !strings.HasPrefix(line, "\t") { // most lines are of a device already named
			if address, head, ok := lspciHeadOf(line); ok {
				t.Devices = append(t.Devices, lspciDevice(address, head))
				d = &t.Devices[len(t.Devices)-1]
				continue
			}
		}
		if d != nil {
			lspciField(t, d, strings.TrimSpace(line), behind)
		}
	}
	if len(t.Devices) == 0 {
		return nil, errors.New("lspci: the output lists no device")
	}
	for i := range t.Devices {
		d := &t.Devices[i]
		d.Parent = behind[busOf(d.Address)]
	}
	return t.indexed(), nil
}

// lspciHeadOf reads the first line about a device.
func lspciHeadOf(line string) (address, head string, ok bool) {
	if address, head, _ := strings.Cut(line, " "); head != "" && isNormalAddress(address) { // as -D prints it
		return address, head, true
	}
	m := lspciHead.FindStringSubmatch(line)
	if m == nil {
		return "", "", false
	}
	return normalAddress(m[1]), m[2], true
}

// busOf cuts an address to its domain and bus.
func busOf(address string) string {
	if i := strings.LastIndexByte(address, ':'); i >= 0 {
		return address[:i]
	}
	return address
}

func lspciDevice(address, head string) PCIDevice {
	d := PCIDevice{Address: address}
	class, rest, ok := strings.Cut(head, ":")
	if !ok {
		d.Name = head
		return d
	}
	code := ""
	if i := strings.LastIndexByte(class, '['); i >= 0 && lspciCode.MatchString(class[i:]) {
		class, code = class[:i], class[i+1:len(class)-1]
	}
	class, rest = strings.TrimSpace(class), strings.TrimPrefix(rest, " ")
	if code == "" {
		code = lspciClasses[class]
	}
	if len(class) == 4 { // lspci -n
		if n := lspciNumeric.FindStringSubmatch(rest); n != nil {
			code, d.Vendor, d.Device = class, n[1], n[2]
		}
	}
	d.Class = code
	if rev := lspciRev.FindStringSubmatchIndex(rest); rev != nil {
		if rest[rev[2]:rev[3]] == "ff" {
			d.Dead = "lspci reads revision ff: it does not answer"
		}
		rest = rest[:rev[0]]
	}
	d.Name, _, _ = strings.Cut(rest, " (prog-if")
	if ids := lspciIDs.FindAllStringSubmatch(rest, -1); len(ids) > 0 {
		last := ids[len(ids)-1]
		d.Vendor, d.Device = last[1], last[2]
		d.Name = strings.TrimSpace(strings.Replace(d.Name, last[0], "", 1))
	} else if d.Vendor == "" {
		d.Vendor, d.Device = lspciNamed(rest)
	}
	return d
}

// lspciNamed tells the vendor by its name, and the device where pci.ids was too
// old to know it and lspci printed "Device 2330".
func lspciNamed(words string) (vendor, device string) {
	for name, id := range lspciVendors {
		if strings.HasPrefix(words, name) {
			vendor = id
		}
	}
	if m := lspciDeviceID.FindStringSubmatch(words); m != nil {
		device = m[1]
	}
	return vendor, device
}

func lspciField(t *PCITree, d *PCIDevice, line string, behind map[string]string) {
	name, value, _ := strings.Cut(line, ":")
	switch name {
	case "LnkSta":
		t.Links = true
		d.setLink(lspciLinkState(value))
	case "LnkCap":
		d.Max = lspciLinkState(value)
	case "Bus":
		if m := lspciBus.FindStringSubmatch(value); m != nil {
			domain, _, _ := strings.Cut(d.Address, ":")
			behind[domain+":"+m[1]] = d.Address
		}
	case "NUMA node":
		if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil {
			d.NUMA = Opt[int]{V: n, Set: true, Text: value}
		}
	case "Physical Slot":
		d.Slot = strings.TrimSpace(value)
	case "ACSCtl":
		d.ACS = optWord(value)
	case "Kernel driver in use":
		d.Driver = strings.TrimSpace(value)
	default:
		if strings.HasPrefix(line, "!!! Unknown header type") {
			d.Dead = "lspci reads an unknown header type: it does not answer"
		}
	}
}

// setLink keeps a link state, unless it is what a device that is off the bus reads as.
func (d *PCIDevice) setLink(l PCILink) {
	if l.Width == deadWidth || l.Width == deadWidth8 {
		d.Dead = fmt.Sprintf("its link reads width %d, which is all ones: it does not answer", l.Width)
		l = PCILink{}
	}
	d.Link = l
}

func lspciLinkState(text string) PCILink {
	_, link, _ := strings.Cut(text, "Speed ")
	speed, rest, ok := strings.Cut(link, ", Width x")
	if !ok {
		return PCILink{}
	}
	digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	if speed == "" || digits == "" || strings.ContainsAny(speed, ",()") { // a mark stands behind the speed
		m := lspciLink.FindStringSubmatch(text)
		if m == nil {
			return PCILink{}
		}
		speed, digits = m[1], m[2]
	}
	width, err := strconv.Atoi(digits)
	if err != nil {
		return PCILink{}
	}
	return PCILink{Speed: pciSpeed(speed), Width: width}
}

// leadingNumber reads the number that a text begins with; zero when it has none.
func leadingNumber(text string) float64 {
	text = strings.TrimSpace(text)
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end >= 0 {
		text = text[:end]
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return v
}
