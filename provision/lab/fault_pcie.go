package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// pcieFaults are those of the cards' links.
func pcieFaults() []Fault {
	return []Fault{
		{
			Name: "pcie-width", Value: "[CARD=]LANES, default gpu0=8", Does: "the card's link comes up with fewer lanes",
			put: func(_ context.Context, _ *Lab, m *Machine, value string) (string, error) {
				return "", m.degrade(value, "8", func(l pciLink, n int) pciLink { return pciLink{l.speed, n} }, 1, 2, 4, 8, 12, 16)
			},
			heal: healLinks,
		},
		{
			Name: "pcie-speed", Value: "[CARD=]GENERATION, default gpu0=3", Does: "the card's link comes up slower (4 is 16 GT/s, 3 is 8 GT/s)",
			put: func(_ context.Context, _ *Lab, m *Machine, value string) (string, error) {
				return "", m.degrade(value, "3", func(l pciLink, n int) pciLink { return pciLink{n, l.width} }, 1, 2, 3, 4)
			},
			heal: healLinks,
		},
		{
			Name: "gpu-off-bus", Value: "[CARD], default gpu0", Does: "the card answers all ones, as a GPU that fell off the bus",
			put: func(_ context.Context, _ *Lab, m *Machine, value string) (string, error) {
				card, err := m.card(value)
				if err != nil {
					return "", err
				}
				card.function.setDead(true)
				return "", nil
			},
			heal: healLinks,
		},
	}
}

// card finds a card by name; "" is the first GPU.
func (m *Machine) card(name string) (*pciCard, error) {
	if name == "" {
		name = gpuName(0)
	}
	var names []string
	for _, c := range m.cards {
		if !c.port {
			continue // the memory controller has no link
		}
		if c.name == name {
			return c, nil
		}
		names = append(names, c.name)
	}
	return nil, usagef("%s has no card %q; there are %s", m.spec.Name, name, strings.Join(names, ", "))
}

// degrade changes one side of a card's link to one of the values allowed.
func (m *Machine) degrade(value, def string, change func(pciLink, int) pciLink, allowed ...int) error {
	name, value := targeted(value, gpuName(0), def)
	card, err := m.card(name)
	if err != nil {
		return err
	}
	n, err := number(value, 0, 0, allowed[len(allowed)-1])
	if err != nil || !slices.Contains(allowed, n) {
		return usagef("value %q; give one of %s", value, strings.Trim(fmt.Sprint(allowed), "[]"))
	}
	card.function.setLink(change(card.function.negotiated(), n))
	return nil
}

// healLinks gives all cards their best link and brings dead ones back.
func healLinks(_ context.Context, _ *Lab, m *Machine) error {
	for _, c := range m.cards {
		c.function.setLink(pciLink{})
		c.function.setDead(false)
	}
	return nil
}
