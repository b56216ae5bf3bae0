package burnin

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// gpuPart is one GPU that the evidence shows or the profile expects.
type gpuPart struct {
	Part
	UUID   string
	Module string
	Shown  bool // some evidence of the host shows it; else it is only expected
	BMC    bool // only the BMC lists it
}

// errGPUNotShown is why nothing is known of a GPU that the profile expects.
var errGPUNotShown = fmt.Errorf("no evidence shows this GPU")

// gpuParts lists the GPUs of the machine, joined from what nvidia-smi, the PCI bus,
// NVLink and the BMC tell, and then those that the profile expects and nothing
// shows, so that no missing GPU can go unnoticed in any check.
func gpuParts(r *Readings, p *profiles.Profile) []gpuPart {
	return r.gpus.of(p, func() []gpuPart { return listGPUs(r, p) })
}

func listGPUs(r *Readings, p *profiles.Profile) []gpuPart {
	var l gpuList
	l.fromNvidia(r)
	l.fromPCI(r)
	l.fromNVLink(r)
	l.dropSharedSerials()
	labels := gpuLabels(r)
	slots := gpuSlots(r)
	for i := range l {
		l[i].Class = gpuClass(p)
		l[i].Name = l.nameOf(&l[i], p, labels, slots)
	}
	return l.withExpected(p, labels)
}

// gpuClass is the ladder of advice that holds for the GPUs of a profile.
func gpuClass(p *profiles.Profile) Class {
	if p.GPU.Form == "sxm" {
		return ClassSXM
	}
	return ClassPCIeGPU
}

// wantedGPUs is how many GPUs the profile expects.
func wantedGPUs(p *profiles.Profile) (n int, set bool) {
	if !p.GPU.Count.Set() {
		return 0, false
	}
	return int(p.GPU.Count.Number(profiles.Count)), true
}

// fleetPart is what all GPUs of a machine are called together.
func fleetPart(p *profiles.Profile) Part { return Part{Class: gpuClass(p), Name: "GPUs"} }

type gpuList []gpuPart

// at returns the part that a tool means, adding it where it is new. The PCI address
// decides; where there is none, the unique id, then the tool's number.
func (l *gpuList) at(address, uuid string, index int) *gpuPart {
	uuid = realUUID(uuid)
	i := slices.IndexFunc(*l, func(g gpuPart) bool {
		switch {
		case address != "" && g.Address != "":
			return g.Address == address
		case uuid != "" && g.UUID != "":
			return g.UUID == uuid
		default:
			return index >= 0 && g.Index != nil && *g.Index == index
		}
	})
	if i < 0 {
		*l = append(*l, gpuPart{Part: Part{Address: address}, UUID: uuid, Shown: true})
		i = len(*l) - 1
	}
	g := &(*l)[i]
	g.Address = firstWord(g.Address, address)
	g.UUID = firstWord(g.UUID, uuid)
	if g.Index == nil && index >= 0 {
		g.Index = &index
	}
	return g
}

// realUUID blanks the id that captures made anonymous carry for all GPUs.
func realUUID(uuid string) string {
	if strings.Trim(uuid, "GPU-0") == "" {
		return ""
	}
	return uuid
}

func (l *gpuList) fromNvidia(r *Readings) {
	for _, reading := range nvidiaLogs(r) {
		for _, g := range reading.Value.GPUs {
			part := l.at(g.Address, g.UUID.V, g.Index)
			part.Serial = firstWord(part.Serial, g.Serial.V)
			part.Module = firstWord(part.Module, g.Module.V)
		}
		for _, m := range reading.Value.Messages {
			if m.Kind == NvidiaLost && (m.Address != "" || m.Index >= 0) {
				l.at(m.Address, "", m.Index)
			}
		}
	}
}

func (l *gpuList) fromPCI(r *Readings) {
	for _, tree := range pciTrees(r) {
		for _, d := range tree.Value.NVIDIA() {
			l.at(d.Address, "", -1)
		}
	}
}

// fromNVLink adds GPUs that only nvidia-smi nvlink or topo shows: they have a
// number and no address.
func (l *gpuList) fromNVLink(r *Readings) {
	for _, phase := range machinePhases {
		for _, g := range Read(r, NVLink, phase).Value.GPUs {
			l.at("", g.UUID, g.Index)
		}
		for _, g := range Read(r, NVLinkErrors, phase).Value.GPUs {
			l.at("", g.UUID, g.Index)
		}
		for _, index := range Read(r, GPUTopology, phase).Value.GPUs {
			l.at("", "", index)
		}
	}
}

// dropSharedSerials blanks numbers that are no serials: all zeros, or shared.
func (l gpuList) dropSharedSerials() {
	count := map[string]int{}
	for _, g := range l {
		count[g.Serial]++
	}
	for i := range l {
		if count[l[i].Serial] > 1 || strings.Trim(l[i].Serial, "0") == "" {
			l[i].Serial = ""
		}
	}
}

// nameOf names a GPU by the label that a technician finds: the BMC's, the number of
// the module, the slot, and only then the PCI address.
func (l gpuList) nameOf(g *gpuPart, p *profiles.Profile, labels []BMCPart, slots map[string]string) string {
	for _, b := range labels {
		if b.Serial != "" && b.Serial == g.Serial {
			return "GPU " + b.Label
		}
	}
	switch {
	case p.GPU.Form == "sxm" && g.Module != "" && l.uniqueModule(g.Module):
		return "GPU SXM" + g.Module
	case slots[g.Address] != "":
		return "GPU " + slots[g.Address]
	case g.Address != "":
		return "GPU " + g.Address
	case g.Index != nil:
		return fmt.Sprintf("GPU (nvidia-smi %d)", *g.Index)
	default:
		return "GPU without address"
	}
}

func (l gpuList) uniqueModule(module string) bool {
	n := 0
	for _, g := range l {
		if g.Module == module {
			n++
		}
	}
	return n == 1
}

// withExpected adds the parts that the profile expects and nothing shows. The BMC's
// list names them by subtraction, where it leaves no more than are missing; else
// they have a number only.
func (l gpuList) withExpected(p *profiles.Profile, labels []BMCPart) []gpuPart {
	want, _ := wantedGPUs(p)
	left := slices.DeleteFunc(slices.Clone(labels), func(b BMCPart) bool {
		return slices.ContainsFunc(l, func(g gpuPart) bool {
			return b.Serial != "" && g.Serial == b.Serial || g.Name == "GPU "+b.Label
		})
	})
	if len(l)+len(left) <= want {
		for _, b := range left {
			l = append(l, gpuPart{Part: Part{Class: gpuClass(p), Name: "GPU " + b.Label, Serial: b.Serial}, BMC: true})
		}
	}
	for n := len(l) + 1; n <= want; n++ {
		l = append(l, gpuPart{Part: Part{Class: gpuClass(p), Name: fmt.Sprintf("GPU %d of %d", n, want)}})
	}
	return l
}

// gpuLabels are the GPUs that the BMC lists with a label.
func gpuLabels(r *Readings) []BMCPart {
	return slices.DeleteFunc(slices.Clone(Read(r, BMCInventory, PhaseBMC).Value.GPUs), func(b BMCPart) bool { return b.Label == "" })
}

// gpuSlots are the names that the firmware gives to slots, by the address of each
// GPU in one. The firmware's address is the GPU's own or that of a bridge above it.
func gpuSlots(r *Readings) map[string]string {
	names := map[string]string{}
	for _, slot := range ReadAny(r, Dmidecode, machinePhases...).Value.Slots {
		if slot.Designation != "" && slot.Address != "" {
			names[slot.Address] = slot.Designation
		}
	}
	out := map[string]string{}
	for _, tree := range pciTrees(r) {
		for _, d := range tree.Value.NVIDIA() {
			for _, above := range append([]*PCIDevice{d}, tree.Value.Above(d.Address)...) {
				if name := names[above.Address]; name != "" && out[d.Address] == "" {
					out[d.Address] = name
				}
			}
		}
	}
	return out
}

func firstWord(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

var pciAddress = regexp.MustCompile(`^(?i)(?:(?:pci:)?([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?$`)

// normalAddress writes a PCI address as parts carry it: 0000:a8:00.0. It reads what
// tools print (00000000:A8:00.0, a8:00.0, PCI:0000:a8:00) and returns "" for
// anything else.
func normalAddress(s string) string {
	if isNormalAddress(s) { // most are, and there are many
		return s
	}
	m := pciAddress.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return ""
	}
	domain, err := strconv.ParseUint("0"+m[1], 16, 64)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%04x:%s:%s.%s", domain, strings.ToLower(m[2]), strings.ToLower(m[3]), firstWord(m[4], "0"))
}

// isNormalAddress reports whether an address is written as parts carry it.
func isNormalAddress(s string) bool {
	const form = "0000:00:00.0"
	if len(s) != len(form) {
		return false
	}
	for i := range len(form) {
		c := s[i]
		switch {
		case form[i] != '0' && c != form[i], i == len(form)-1 && (c < '0' || c > '7'):
			return false
		case form[i] == '0' && (c < '0' || c > '9') && (c < 'a' || c > 'f'):
			return false
		}
	}
	return true
}

// pciID turns nvidia-smi's device id, device and vendor in one number
// ("0x233010DE"), into the form of profiles: "10de:2330".
func pciID(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	s = strings.TrimPrefix(s, "0x")
	if len(s) != 8 {
		return ""
	}
	if _, err := strconv.ParseUint(s, 16, 32); err != nil {
		return ""
	}
	return s[4:] + ":" + s[:4]
}
