package burnin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// nicLink asks whether the network adapters of the profile are there, and how their
// ports fare: linked, at what speed, without a break under load. A port that nobody
// has cabled is no fault unless the profile says how many must have a link.
var nicLink = Check{
	Name:   "nic.link",
	Title:  "All network adapters are there, and the links of their ports hold",
	Probes: []string{PCISysfs.Spec.Name, LSPCI.Spec.Name, Ethtool.Spec.Name, KernelLog.Spec.Name},
	AtBoot: []string{"count", "links_up", "speed"},
	Same:   true,
	Judge:  judgeNICLink,
}

var adaptersPart = Part{Class: ClassNIC, Name: "network adapters"}

func judgeNICLink(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	readings := phaseReadings(r, PCISysfs)
	messages := messagesFor(r, p, "nic.link")
	count := countNICs(r, p)
	if count.NotRun == "" && count.Measured == nil && len(messages) == 0 {
		return []Finding{count}
	}
	out := []Finding{count}
	known := map[string]bool{}
	before, after := Read(r, Ethtool, PhaseBefore), Read(r, Ethtool, PhaseAfter)
	for _, name := range meantPorts(r, p) {
		known[name] = true
		port := Part{Class: ClassCable, Name: "NIC port " + name}
		about := func(quantity string) Finding { return About("nic.link", quantity, port, refsOf(readings)...) }
		out = append(out, portSpeed(about("speed"), readings, name, p.NIC.Speed)...)
		if !r.loaded() && shownIn(readings, name) < 2 && logged(messages, name) == "" {
			continue // links that came and went before are no part of a test
		}
		out = append(out, portFlaps(about("flaps"), readings, name, messages, p))
		if after.Evidence == nil {
			continue
		}
		told := func(quantity string) Finding { return About("nic.link", quantity, port, before.Ref, after.Ref) }
		out = append(out, portErrors(told("errors"), before, after, name, p.NIC.Errors))
		out = append(out, portModule(told("module"), before, after, name)...)
	}
	if p.NIC.LinksUp.Set() {
		out = append(out, linksUp(About("nic.link", "links_up", adaptersPart, refsOf(readings)...), readings, known, p.NIC.LinksUp))
	}
	return append(out, strayPorts(messages, known, p)...)
}

// countNICs counts the adapters that the profile means on the bus; the fewest of all
// whole listings counts.
func countNICs(r *Readings, p *profiles.Profile) Finding {
	f := About("nic.link", "count", adaptersPart)
	if !p.NIC.Count.Set() && !p.NIC.Models.Set() {
		return f.NotHere("the profile names no network adapter")
	}
	fewest, open := -1, error(nil)
	for _, probe := range []Probe[*PCITree]{PCISysfs, LSPCI} {
		for _, reading := range phaseReadings(r, probe) {
			err := reading.Err
			if err == nil {
				err = wholeOr(reading.Value.Complete, reading.Evidence)
			}
			if err != nil {
				open = err
				continue
			}
			f.Evidence = append(f.Evidence, reading.Ref)
			if n := len(meantCards(r, reading.Value, p)); fewest < 0 || n < fewest {
				fewest = n
			}
		}
		if fewest >= 0 {
			break // the second tool shows the same bus
		}
	}
	if fewest < 0 {
		if open == nil {
			open = fmt.Errorf("pci-sysfs and lspci: %w", ErrNotRun)
		}
		return f.absent(open, p.NIC.Count)
	}
	f = f.Number(float64(fewest), profiles.Count, p.NIC.Count)
	switch {
	case f.Verdict == Pass && open != nil: // not counted again behind the load
		return f.Missing(open)
	case f.Verdict == Fail:
		return f.Because("%d of %s adapters are on the PCI bus", fewest, p.NIC.Count)
	}
	return f
}

// meantCards are the cards, by address without function, that the profile means.
func meantCards(r *Readings, tree *PCITree, p *profiles.Profile) []string {
	var out []string
	for _, d := range tree.Of(pciNIC, pciFabric) {
		card, _, _ := strings.Cut(d.Address, ".")
		if d.Dead == "" && !slices.Contains(out, card) && meantNIC(d, namesOf(r, d.Address), p) {
			out = append(out, card)
		}
	}
	return out
}

// meantPorts are the names of the ports of all adapters that the profile means.
func meantPorts(r *Readings, p *profiles.Profile) []string {
	names := portNames(r)
	var out []string
	for _, part := range nicParts(r, p) {
		card, _, _ := strings.Cut(part.Address, ".")
		out = append(out, names[card]...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// portIn returns a port as one reading shows it, or nil.
func portIn(t *PCITree, name string) *PCINetDev {
	for i := range t.Devices {
		for j := range t.Devices[i].NetDevs {
			if n := &t.Devices[i].NetDevs[j]; n.Name == name && n.State != "" {
				return n
			}
		}
	}
	return nil
}

// shownIn is how many readings show a port.
func shownIn(readings []Reading[*PCITree], name string) int {
	n := 0
	for _, reading := range readings {
		if reading.OK() && portIn(reading.Value, name) != nil {
			n++
		}
	}
	return n
}

// portSpeed judges the slowest speed of a port that has a link.
func portSpeed(f Finding, readings []Reading[*PCITree], name string, limit *profiles.Limit) []Finding {
	slowest, linked := Opt[float64]{}, false
	for _, reading := range readings {
		if !reading.OK() {
			continue
		}
		n := portIn(reading.Value, name)
		if n == nil || n.State != "up" {
			continue
		}
		speed := scaled(n.Speed, 1e-3)
		linked = true
		if !slowest.Set || speed.Set && speed.V < slowest.V {
			slowest = speed
		}
	}
	switch {
	case !slowest.Set && !limit.Set():
		return nil
	case !linked:
		return []Finding{f.NotHere("no link on this port")} // links_up counts it
	}
	return []Finding{f.number(slowest, profiles.GbPerSecond, limit)}
}

// portFlaps judges how often a port lost its link over the run: by the kernel's
// counter, and by what its driver wrote into the log.
func portFlaps(f Finding, readings []Reading[*PCITree], name string, messages []kernelMessage, p *profiles.Profile) Finding {
	var first, last Opt[float64]
	seen := 0
	for _, reading := range readings {
		if !reading.OK() {
			continue
		}
		if n := portIn(reading.Value, name); n != nil {
			if last = n.Downs; seen == 0 {
				first = n.Downs
			}
			seen++
		}
	}
	f = f.change(first, last, seen > 1, p.NIC.Flaps)
	lost, _ := f.Measured.(float64)
	told := logged(messages, name)
	switch {
	case f.Verdict == Fail:
		return f.Because("the link was lost %.0f times during the test%s", lost, told)
	case f.NotRun == "" && (seen > 1 && lost > 0 || told != ""):
		f.Scope = "" // also where the profile has no limit
		return f.Judged(Warn, "the link was lost during the test"+told)
	}
	return f
}

// logged is the last message about a port during the test, or "".
func logged(messages []kernelMessage, port string) string {
	for _, m := range slices.Backward(messages) {
		if m.Part == port && m.During {
			return ": " + strings.TrimSpace(m.Text)
		}
	}
	return ""
}

// linksUp counts the ports that have a link in every reading.
func linksUp(f Finding, readings []Reading[*PCITree], ports map[string]bool, limit *profiles.Limit) Finding {
	if err := anyAbsent(readings); err != nil || len(readings) == 0 {
		return f.Missing(fmt.Errorf("pci-sysfs was not read in every phase: %w", firstError(err, ErrNotRun)))
	}
	up := 0
	for name := range ports {
		if portIn(readings[0].Value, name) == nil && portIn(readings[len(readings)-1].Value, name) == nil {
			return f.Missing(fmt.Errorf("the evidence does not show whether port %s has a link", name))
		}
	}
	for _, name := range sortedKeys(ports) {
		linked := !slices.ContainsFunc(readings, func(reading Reading[*PCITree]) bool {
			n := portIn(reading.Value, name)
			return n == nil || n.State != "up"
		})
		if linked {
			up++
		}
	}
	return f.Number(float64(up), profiles.Count, limit)
}

// strayPorts are ports of other adapters that lost their link during the test.
func strayPorts(messages []kernelMessage, known map[string]bool, p *profiles.Profile) []Finding {
	var out []Finding
	for _, m := range messages {
		verdict := kernelVerdict(p.Kernel[m.Rule], m.During)
		if known[m.Part] || verdict <= Pass {
			continue
		}
		known[m.Part] = true
		f := About("nic.link", "flaps", Part{Class: ClassCable, Name: "NIC port " + m.Part}, m.Ref)
		f.Measured = m.Text
		out = append(out, f.Judged(verdict, "the link was lost during the test"+logged(messages, m.Part)))
	}
	return out
}
