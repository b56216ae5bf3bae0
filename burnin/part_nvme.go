package burnin

import (
	"fmt"
	"slices"

	"github.com/rackproof/rackproof/profiles"
)

// nvmePart is one NVMe drive that the evidence shows or the profile expects.
type nvmePart struct {
	Part
	Device   string       // "nvme0", "" when only the PCI bus shows it
	Capacity Opt[float64] // bytes
	Shown    bool         // some evidence of the host shows it
	noLog    error        // why no health log of it is there
	slot     string
	loose    bool // seen only by a health log handed over: says nothing of what else is in the machine
}

// nvmeParts lists the NVMe drives of the machine, joined by PCI address, else by
// the name of the device, and then those that are expected and not shown: by the
// BMC's bays where it lists them, else by number. Serial numbers join with the BMC
// only, because captures made anonymous carry one serial for all.
func nvmeParts(r *Readings, p *profiles.Profile) []nvmePart {
	return r.drives.of(p, func() []nvmePart { return listDrives(r, p) })
}

func listDrives(r *Readings, p *profiles.Profile) []nvmePart {
	var l nvmeList
	l.fromPCI(r)
	for _, list := range phaseReadings(r, NVMeList) {
		for _, d := range list.Value.Drives {
			part := l.at(d.Address, d.Name)
			part.loose = false
			part.fill(d.Serial, d.Capacity)
		}
	}
	for _, probe := range []Probe[SMARTLog]{Smartctl, NVMeSmart} {
		l.fromHealth(r, probe)
	}
	slices.SortStableFunc(l, func(a, b nvmePart) int { return naturally(a.Device+a.Address, b.Device+b.Address) })
	bays := Read(r, BMCInventory, PhaseBMC).Value.Drives
	for i := range l {
		l[i].Class, l[i].Name = ClassNVMe, l.nameOf(&l[i], bays)
	}
	return l.withExpected(p, bays)
}

type nvmeList []nvmePart

// at returns the part with an address or name, adding it where it is new.
func (l *nvmeList) at(address, device string) *nvmePart {
	for i := range *l {
		d := &(*l)[i]
		switch {
		case address != "" && d.Address == address:
			d.Device = firstWord(d.Device, device)
			return d
		case device != "" && d.Device == device && (address == "" || d.Address == ""):
			d.Address = firstWord(d.Address, address)
			return d
		}
	}
	*l = append(*l, nvmePart{Part: Part{Address: address}, Device: device, Shown: true, loose: true})
	return &(*l)[len(*l)-1]
}

func (d *nvmePart) fill(serial string, capacity Opt[float64]) {
	d.Serial = firstWord(d.Serial, plainIdentity(serial))
	if !d.Capacity.Set {
		d.Capacity = capacity
	}
}

func (l *nvmeList) fromPCI(r *Readings) {
	for _, tree := range pciTrees(r) {
		for _, dev := range tree.Value.Of(pciNVMe) {
			if len(dev.Drives) == 0 {
				part := l.at(dev.Address, "")
				part.slot, part.loose = firstWord(part.slot, dev.Slot), false
			}
			for _, c := range dev.Drives {
				part := l.at(dev.Address, c.Name)
				part.slot, part.loose = firstWord(part.slot, dev.Slot), false
				part.fill(c.Serial, Opt[float64]{V: float64(c.Bytes), Set: c.Bytes > 0})
			}
		}
	}
}

func (l *nvmeList) fromHealth(r *Readings, probe Probe[SMARTLog]) {
	for _, phase := range machinePhases {
		all := ReadAll(r, probe, phase)
		for _, name := range sortedKeys(all) {
			reading := all[name]
			if device := firstWord(name, reading.Value.Device); device != "" && !reading.Value.ATA {
				l.at("", device).fill(reading.Value.Serial, reading.Value.Capacity)
			}
		}
	}
}

// nameOf names a drive by its bay, its slot, or the kernel's name with the address.
func (l nvmeList) nameOf(d *nvmePart, bays []BMCPart) string {
	serials, slots := 0, 0
	for _, o := range l {
		if o.Serial == d.Serial {
			serials++
		}
		if o.slot == d.slot {
			slots++
		}
	}
	for _, b := range bays {
		if b.Serial != "" && b.Serial == d.Serial && serials == 1 && b.Label != "" {
			return "NVMe " + b.Label
		}
	}
	switch {
	case d.slot != "" && slots == 1:
		return "NVMe slot " + d.slot
	case d.Device != "" && d.Address != "":
		return fmt.Sprintf("NVMe %s (PCI %s)", d.Device, d.Address)
	default:
		return "NVMe " + firstWord(d.Device, d.Address)
	}
}

// withExpected adds the drives that are expected and that nothing shows.
func (l nvmeList) withExpected(p *profiles.Profile, bays []BMCPart) []nvmePart {
	want := 0
	if n := p.NVMe.Count; n.Set() && n.Relation != profiles.Max {
		want = int(n.Number(profiles.Count))
	}
	for _, b := range bays {
		known := slices.ContainsFunc(l, func(d nvmePart) bool { return d.Serial == b.Serial })
		if b.NVMe && b.Present && b.Serial != "" && !known && len(l) < want {
			l = append(l, nvmePart{Part: Part{Class: ClassNVMe, Name: "NVMe " + b.Label, Serial: b.Serial}})
		}
	}
	for n := len(l) + 1; n <= want; n++ {
		l = append(l, nvmePart{Part: Part{Class: ClassNVMe, Name: fmt.Sprintf("NVMe %d of %d", n, want)}})
	}
	return l
}

// naturally orders names with the numbers in them: nvme9 before nvme10.
func naturally(a, b string) int {
	if len(a) != len(b) && nvmeName.MatchString(a) && nvmeName.MatchString(b) {
		return len(a) - len(b)
	}
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	return 0
}

// errDriveNotShown is why nothing is known of a drive that the profile expects.
var errDriveNotShown = fmt.Errorf("no evidence shows this drive")
