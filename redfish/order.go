package redfish

import (
	"cmp"
	"slices"
	"strings"
)

// arrange puts parts in the order in which a person reads their labels, and
// makes every list a list also when it is empty.
func (inv *Inventory) arrange() {
	inv.CPUs = byLabel(inv.CPUs, func(c CPU) Part { return c.Part })
	inv.DIMMs = byLabel(inv.DIMMs, func(d DIMM) Part { return d.Part })
	inv.GPUs = byLabel(inv.GPUs, func(g GPU) Part { return g.Part })
	inv.NICs = byLabel(inv.NICs, func(n NIC) Part { return n.Part })
	inv.Drives = byLabel(inv.Drives, func(d Drive) Part { return d.Part })
	inv.PSUs = byLabel(inv.PSUs, func(p PSU) Part { return p.Part })
	if inv.Firmware == nil {
		inv.Firmware = []Firmware{}
	}
	if inv.EmptyDIMMs == nil {
		inv.EmptyDIMMs = []string{}
	}
	slices.SortFunc(inv.EmptyDIMMs, naturally)
}

func byLabel[T any](list []T, part func(T) Part) []T {
	if list == nil {
		return []T{}
	}
	slices.SortStableFunc(list, func(a, b T) int { return naturally(part(a).Label, part(b).Label) })
	return list
}

// naturally compares texts with their numbers by value: "DIMM 9" is before
// "DIMM 10".
func naturally(a, b string) int {
	for a != "" && b != "" {
		na, restA := leading(a)
		nb, restB := leading(b)
		if na != "" && nb != "" {
			x, y := strings.TrimLeft(na, "0"), strings.TrimLeft(nb, "0")
			if order := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); order != 0 {
				return order
			}
			a, b = restA, restB
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func leading(s string) (digits, rest string) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}
