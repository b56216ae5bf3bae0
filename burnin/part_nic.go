package burnin

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// nicPart is one network adapter: all functions of one card are one part.
type nicPart struct {
	Part
	Shown bool
}

// nicParts lists the adapters that the profile is about, and those that it expects
// and nothing shows. A server also has small adapters on board, which have no x16
// link and never will: an adapter counts where its model is one that the profile
// names, or, when it names none, where the adapter itself could be as wide and fast
// as the profile wants. Where only a number was ordered, every adapter counts.
func nicParts(r *Readings, p *profiles.Profile) []nicPart {
	var out []nicPart
	for _, tree := range pciTrees(r) {
		for _, d := range tree.Value.Of(pciNIC, pciFabric) {
			card, _, _ := strings.Cut(d.Address, ".")
			i := slices.IndexFunc(out, func(n nicPart) bool { return strings.HasPrefix(n.Address, card+".") })
			if i < 0 && meantNIC(d, namesOf(r, d.Address), p) {
				out = append(out, nicPart{Part: Part{Class: ClassNIC, Address: d.Address, Name: "NIC " + d.Address}, Shown: true})
			}
		}
	}
	ports := portNames(r)
	for i := range out {
		card, _, _ := strings.Cut(out[i].Address, ".")
		if names := ports[card]; len(names) > 0 {
			out[i].Name = "NIC port " + strings.Join(names, ", ")
		}
	}
	want := 0
	if p.NIC.Count.Set() && p.NIC.Count.Relation != profiles.Max {
		want = int(p.NIC.Count.Number(profiles.Count))
	}
	for n := len(out) + 1; n <= want; n++ {
		out = append(out, nicPart{Part: Part{Class: ClassNIC, Name: fmt.Sprintf("NIC %d of %d", n, want)}})
	}
	return out
}

// meantNIC reports whether a profile's limits of adapters are about this one.
func meantNIC(d *PCIDevice, names []string, p *profiles.Profile) bool {
	if p.NIC.Models.Set() {
		return slices.ContainsFunc(p.NIC.Models.Text, func(model string) bool {
			return model == d.ID() || slices.ContainsFunc(names, func(name string) bool { return isModel(name, model) })
		})
	}
	class := p.PCIe.NIC
	switch {
	case !class.Width.Set() && !class.Speed.Set():
		return p.NIC.Count.Set()
	case class.Width.Set() && d.Max.Width != 0 && float64(d.Max.Width) < class.Width.Number(profiles.Lanes):
		return false
	case class.Speed.Set() && d.Max.Speed != 0 && d.Max.Speed < class.Speed.Number(profiles.GTPerSecond):
		return false
	}
	return true
}

// isModel compares a model's name with one of the profile, which may be a glob or a
// part of it: "ConnectX-7".
func isModel(name, model string) bool {
	name, model = strings.ToLower(name), strings.ToLower(model)
	matched, err := path.Match(model, name)
	return err == nil && matched || strings.Contains(name, model)
}

// namesOf are the words that tools have for a device; sysfs has none.
func namesOf(r *Readings, address string) []string {
	var out []string
	for _, tree := range pciTrees(r) {
		if d := tree.Value.At(address); d != nil && d.Name != "" {
			out = append(out, d.Name)
		}
	}
	return out
}

// portNames are the names of the ports of each card, by its address without function.
func portNames(r *Readings) map[string][]string {
	out := map[string][]string{}
	for _, tree := range pciTrees(r) {
		for i := range tree.Value.Devices {
			d := &tree.Value.Devices[i]
			card, _, _ := strings.Cut(d.Address, ".")
			for _, n := range d.NetDevs {
				if !d.Virtual && !slices.Contains(out[card], n.Name) {
					out[card] = append(out[card], n.Name)
				}
			}
		}
	}
	for _, names := range out {
		slices.Sort(names)
	}
	return out
}
