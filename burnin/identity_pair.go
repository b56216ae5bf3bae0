package burnin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// mark is one comparison of host and BMC.
type mark struct {
	name      string
	same      bool
	host, bmc string
}

// pair asks whether host and BMC are one machine. Only like is compared with like:
// the UUID in both byte orders, the BMC's MAC as each of them knows it. Two serial
// numbers that differ prove nothing, because makers put different ones into the two places.
func (k *known) pair(r *Readings) Finding {
	f := About("identity", "bmc_host", machinePart, k.hostRef, k.lan.Ref, k.bmcRef)
	if errors.Is(k.bmcErr, ErrNotRun) && r.Coverage() != CoverFull {
		f.Scope = profiles.OutOfScope
		return f.NotHere("there is no evidence of a BMC")
	}
	if k.bmcErr != nil {
		return f.Missing(k.bmcErr)
	}
	marks := k.marks()
	var same, other []string
	for _, m := range marks {
		if m.same {
			same = append(same, m.name)
			f.Measured = m.host
			continue
		}
		other = append(other, fmt.Sprintf("%s: host %s, BMC %s", m.name, m.host, m.bmc))
	}
	proof := r.Machine().Proof
	switch {
	case len(other) == 0 && len(same) > 0:
		return f.Judged(Pass, "host and BMC are one machine: same "+strings.Join(same, ", "))
	case len(other) == 0 && proof != "":
		return f.Judged(Pass, "host and BMC are one machine: "+proof)
	case len(other) > 0 && len(same) == 0 && proof == "":
		f.Class = ClassPair
		return f.Judged(Fail, "BMC and host are two machines (cabling or address list): "+strings.Join(other, "; "))
	case len(other) > 0:
		return f.Judged(Warn, fmt.Sprintf("host and BMC are one machine (%s), but differ in %s: was a board swapped?",
			strings.Join(append(same, proof), ", "), strings.Join(other, "; ")))
	}
	return f.Missing(fmt.Errorf("host and BMC cannot be compared: %w", k.notComparable()))
}

// marks are all comparisons that can be made.
func (k *known) marks() []mark {
	var out []mark
	if k.host.UUID != "" && k.bmc.UUID != "" {
		out = append(out, mark{"UUID", sameUUID(k.host.UUID, k.bmc.UUID), k.host.UUID, k.bmc.UUID})
	}
	if k.lan.OK() && len(k.bmcMACs) > 0 {
		both := slices.ContainsFunc(k.lan.Value.MACs, func(mac string) bool { return slices.Contains(k.bmcMACs, mac) })
		out = append(out, mark{"BMC MAC", both, k.lan.Value.MACs[0], k.bmcMACs[0]})
	}
	for _, serial := range []string{k.host.SystemSerial, k.host.ChassisSerial, k.host.BoardSerial} {
		if member, ok := k.bmc.matchSerial(serial); ok && serial != "" {
			out = append(out, mark{"serial (" + member + ")", true, serial, serial})
			break
		}
	}
	return out
}

func (k *known) notComparable() error {
	switch {
	case k.hostErr != nil:
		return k.hostErr
	case k.bmc.UUID == "" && len(k.bmcMACs) == 0:
		return errors.New("the BMC shows neither UUID nor MAC")
	default:
		return errors.New("neither UUID nor BMC MAC is known on both sides")
	}
}
