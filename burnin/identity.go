package burnin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// identity asks whether this is the machine that the batch means, and whether the
// host that was measured and the BMC that was driven are one machine.
var identity = Check{
	Name:   "identity",
	Title:  "The machine is the one that was ordered, and BMC and host are one machine",
	Probes: []string{"dmidecode", "os", "pci-sysfs", "bmc-lan", "bmc-inventory"},
	Judge:  judgeIdentity,
}

var machinePart = Part{Class: ClassMachine, Name: "machine"}

// known is what the evidence says of who the machine is.
type known struct {
	host, bmc       Identity
	hostRef, bmcRef string
	hostErr, bmcErr error
	lan             Reading[BMCLan]
	bmcMACs         []string
}

func judgeIdentity(r *Readings, _ *profiles.Profile, _ *profiles.Spec) []Finding {
	k := whoIsIt(r)
	want := r.Machine().Wanted
	out := []Finding{k.serial(want.Serial)}
	if want.UUID != "" {
		out = append(out, k.uuid(want.UUID))
	}
	if want.MAC != "" {
		out = append(out, k.mac(want.MAC))
	}
	return append(out, k.pair(r))
}

func whoIsIt(r *Readings) known {
	var k known
	k.host, k.hostRef, k.hostErr = hostIdentity(r)
	k.host.NICMACs = hostMACs(r)
	bmc := Read(r, BMCInventory, PhaseBMC)
	k.bmc, k.bmcMACs, k.bmcRef, k.bmcErr = bmc.Value.Identity, bmc.Value.MACs, bmc.Ref, bmc.Err
	k.lan = ReadAny(r, IPMILan, PhaseBefore, PhaseAfter)
	return k
}

// hostMACs are the addresses of the host's own network ports.
func hostMACs(r *Readings) []string {
	var out []string
	for _, tree := range pciTrees(r) {
		for i := range tree.Value.Devices {
			for _, n := range tree.Value.Devices[i].NetDevs {
				if mac := plainMAC(n.MAC); mac != "" && !slices.Contains(out, mac) {
					out = append(out, mac)
				}
			}
		}
	}
	return out
}

// hostIdentity is what the booted host shows of its firmware's identity: by
// dmidecode, else by sysfs.
func hostIdentity(r *Readings) (id Identity, ref string, err error) {
	dmi := ReadAny(r, Dmidecode, PhaseBefore, PhaseAfter)
	if dmi.OK() {
		t := dmi.Value
		return Identity{
			Manufacturer: t.System.Manufacturer, Model: t.System.Product, UUID: t.UUID, SKU: t.SKU,
			SystemSerial: t.System.Serial, ChassisSerial: t.Chassis.Serial, BoardSerial: t.Board.Serial,
		}, dmi.Ref, nil
	}
	facts := ReadAny(r, OSInfo, PhaseBefore, PhaseAfter)
	if facts.OK() && (facts.Value.Identity.UUID != "" || len(facts.Value.Identity.serials()) > 0) {
		return facts.Value.Identity, facts.Ref, nil
	}
	return Identity{}, dmi.Ref, dmi.Err
}

// members are the serial numbers of host and BMC together, without repeats.
func (k *known) members() []identityMember {
	var out []identityMember
	for _, m := range slices.Concat(k.host.serials(), k.bmc.serials()) {
		if !slices.ContainsFunc(out, func(o identityMember) bool { return o.value == m.value }) {
			out = append(out, m)
		}
	}
	return out
}

func listed(members []identityMember) string {
	words := make([]string, len(members))
	for i, m := range members {
		words[i] = m.name + " " + m.value
	}
	return strings.Join(words, ", ")
}

// serial judges the serial of the batch against every number on the machine: which
// one stands on the sticker depends on the maker.
func (k *known) serial(want string) Finding {
	f := About("identity", "serial", machinePart, k.hostRef, k.bmcRef)
	members := k.members()
	if len(members) == 0 {
		return f.Missing(fmt.Errorf("no serial number of this machine is known: %w", k.absent()))
	}
	f.Measured = members[0].value
	if want == "" {
		f.Scope = profiles.Recorded
		return f.NotHere("the batch names no serial number; the machine shows " + listed(members))
	}
	f.Limit, f.Relation, f.Provenance = want, string(profiles.Equal), &Provenance{Kind: string(profiles.FromAgreed), Source: "batch file"}
	for _, side := range []struct {
		name string
		id   *Identity
	}{{"host", &k.host}, {"BMC", &k.bmc}} {
		if member, ok := side.id.matchSerial(want); ok {
			f.Measured = want
			return f.Judged(Pass, fmt.Sprintf("%s is the %s (%s)", want, member, side.name))
		}
	}
	return f.Judged(Fail, fmt.Sprintf("the batch says S/N %s, this machine shows %s: wrong machine in this place, or wrong line in the batch", want, listed(members)))
}

// absent says why nothing is known of the machine.
func (k *known) absent() error {
	switch {
	case k.hostErr != nil:
		return k.hostErr
	case k.bmcErr != nil && !errors.Is(k.bmcErr, ErrNotRun):
		return k.bmcErr
	default:
		return errors.New("the firmware holds only placeholders")
	}
}

func (k *known) uuid(want string) Finding {
	f := About("identity", "uuid", machinePart, k.hostRef, k.bmcRef)
	have := firstWord(k.host.UUID, k.bmc.UUID)
	if have == "" {
		return f.Missing(fmt.Errorf("no UUID of this machine is known: %w", k.absent()))
	}
	f.Measured, f.Limit, f.Relation = have, want, string(profiles.Equal)
	if sameUUID(want, k.host.UUID) || sameUUID(want, k.bmc.UUID) {
		return f.Judged(Pass, "the UUID is that of the batch")
	}
	return f.Judged(Fail, fmt.Sprintf("the batch says UUID %s, this machine shows %s: wrong machine in this place, or wrong line in the batch", want, have))
}

// mac judges the MAC of the batch, which may be that of the BMC or of any port.
func (k *known) mac(want string) Finding {
	f := About("identity", "mac", machinePart, k.lan.Ref, k.bmcRef)
	all := slices.Concat(k.lan.Value.MACs, k.bmcMACs, k.host.NICMACs, k.bmc.NICMACs)
	if len(all) == 0 {
		return f.Missing(fmt.Errorf("no MAC address of this machine is known: %w", firstError(k.lan.Err, k.bmcErr)))
	}
	f.Measured, f.Limit, f.Relation = all[0], want, string(profiles.Equal)
	if slices.Contains(all, plainMAC(want)) {
		return f.Judged(Pass, "the MAC address is that of the batch")
	}
	if len(k.bmc.NICMACs) == 0 && len(k.host.NICMACs) == 0 {
		return f.Missing(fmt.Errorf("the batch says MAC %s; the BMC's is %s, and the ports of the host are not known", want, strings.Join(all, ", ")))
	}
	return f.Judged(Fail, fmt.Sprintf("the batch says MAC %s, this machine shows %s", want, strings.Join(all, ", ")))
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return errors.New("not shown")
}
