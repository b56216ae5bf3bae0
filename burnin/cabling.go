package burnin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// cabling tells where the cables of the network ports end: a record for whoever has the
// plan. That BMC and host are one machine is part of identity.
var cabling = Check{
	Name:   "cabling",
	Title:  "Where the cables of the network ports end",
	Probes: []string{LLDP.Spec.Name},
	Judge:  judgeCabling,
}

func judgeCabling(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	reading := Read(r, LLDP, PhaseBefore)
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
		name := "NIC port " + n.Port
		if heard[n.Port]++; heard[n.Port] > 1 { // what stands between them passes LLDP on
			name = fmt.Sprintf("%s, neighbour %d", name, heard[n.Port])
		}
		f := About("cabling", "neighbour", Part{Class: ClassCable, Name: name}, reading.Ref)
		f.Measured = strings.TrimSpace(n.Switch + " " + n.SwitchPort)
		out = append(out, f.recorded().Because("the batch states no plan of cables: recorded"))
	}
	return out
}
