package burnin

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// cabling tells where the cables of the network ports end, and judges those for which the
// batch states it. That BMC and host are one machine is part of identity.
var cabling = Check{
	Name:   "cabling",
	Title:  "Where the cables of the network ports end",
	Probes: []string{LLDP.Spec.Name},
	Judge:  judgeCabling,
}

func judgeCabling(r *Readings, _ *profiles.Profile, _ *profiles.Spec) []Finding {
	reading, plan := Read(r, LLDP, PhaseBefore), r.Machine().Cables
	return append(plannedCables(reading, plan), heardCables(reading, plan)...)
}

func cableOf(port string) Part { return Part{Class: ClassCable, Name: "NIC port " + port} }

// plannedCables judges each port that the plan names.
func plannedCables(reading Reading[[]LLDPNeighbour], plan map[string]string) []Finding {
	var out []Finding
	for _, port := range slices.Sorted(maps.Keys(plan)) {
		f := About("cabling", "plan", cableOf(port), reading.Ref)
		f.Limit, f.Relation = plan[port], string(profiles.Equal)
		f.Provenance = &Provenance{Kind: string(profiles.FromAgreed), Source: "plan of cables in the batch"}
		out = append(out, plannedCable(f, reading, port, plan))
	}
	return out
}

func plannedCable(f Finding, reading Reading[[]LLDPNeighbour], port string, plan map[string]string) Finding {
	if !reading.OK() {
		return f.Missing(reading.Err)
	}
	var ends []string
	for _, n := range reading.Value {
		if n.Port != port {
			continue
		}
		if n.at(plan[port]) {
			f.Measured = n.end()
			return f.decide(true)
		}
		ends = append(ends, n.end())
	}
	if len(ends) == 0 {
		return f.Missing(errors.New("no switch is heard on this port: no cable, no link, or the switch does not speak LLDP"))
	}
	f.Measured = strings.Join(ends, ", ")
	why := fmt.Sprintf("the cable ends at %s, the plan says %s", f.Measured, plan[port])
	for _, other := range slices.Sorted(maps.Keys(plan)) {
		for _, n := range reading.Value {
			if other != port && n.Port == port && n.at(plan[other]) {
				return f.decide(false).Because("%s: that is the end of NIC port %s, so two cables are crossed", why, other)
			}
		}
	}
	return f.decide(false).Because("%s", why)
}

// end is a port of a switch as a plan states it.
func (n LLDPNeighbour) end() string { return strings.TrimSpace(n.Switch + " " + n.SwitchPort) }

// at reports whether n is what a plan states: "leaf12 Ethernet7", or the switch alone. Names
// of switches may be with or without their domain. A port goes by its id or, where that is
// an address, by its description.
func (n LLDPNeighbour) at(planned string) bool {
	words := strings.Fields(planned)
	if len(words) == 0 {
		return false
	}
	if !sameSwitch(n.Switch, words[0]) {
		return false
	}
	port := strings.Join(words[1:], " ")
	return port == "" || strings.EqualFold(n.SwitchPort, port) || strings.Count(n.SwitchPort, ":") == 5 && strings.EqualFold(n.Descr, port)
}

// sameSwitch compares two names, of which one may be without its domain.
func sameSwitch(a, b string) bool {
	hostA, _, longA := strings.Cut(a, ".")
	hostB, _, longB := strings.Cut(b, ".")
	return strings.EqualFold(a, b) || longA != longB && strings.EqualFold(hostA, hostB)
}

// heardCables records what the ports hear of which the plan says nothing.
func heardCables(reading Reading[[]LLDPNeighbour], plan map[string]string) []Finding {
	all := About("cabling", "neighbour", adaptersPart, reading.Ref)
	switch {
	case !reading.OK():
		return []Finding{all.Missing(reading.Err)}
	case len(reading.Value) == 0:
		return []Finding{all.Missing(errors.New("no switch is heard on any port: it does not speak LLDP, or lldpd has just started"))}
	}
	var out []Finding
	heard := map[string]int{}
	for _, n := range reading.Value {
		name := cableOf(n.Port).Name
		if heard[n.Port]++; heard[n.Port] > 1 { // what stands between them passes LLDP on
			name = fmt.Sprintf("%s, neighbour %d", name, heard[n.Port])
		}
		f := About("cabling", "neighbour", Part{Class: ClassCable, Name: name}, reading.Ref)
		if _, planned := plan[n.Port]; planned {
			continue
		}
		f.Measured = n.end()
		out = append(out, f.Because("the batch does not state where this cable ends: recorded").recorded())
	}
	return out
}
