package redfish

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Inventory reads every part that the BMC knows. A part that could not be read is
// named in Partial, never taken for absent. The error is for a system that could
// not be read at all.
func (c *Client) Inventory(ctx context.Context) (Inventory, error) {
	var unread gaps
	host, err := c.host(ctx)
	if err != nil {
		return Inventory{}, err
	}
	chassis := each[chassisDoc](ctx, c, host.Links.value.Chassis, &unread)
	var inv Inventory
	together(
		func() { inv.System = c.identity(ctx, host, chassis, &unread) },
		func() {
			procs := c.processors(ctx, host.CPUs, &unread)
			inv.CPUs, inv.GPUs = cpus(procs), c.behaviour.gpus(ctx, c, procs, chassis, &unread)
		},
		func() { inv.DIMMs, inv.EmptyDIMMs = c.dimms(ctx, host.Memory, &unread) },
		func() { inv.Drives = c.drives(ctx, host.Storage, chassis, &unread) },
		func() {
			for _, ch := range chassis {
				if ch != nil {
					inv.NICs = append(inv.NICs, c.nics(ctx, ch.Adapters, &unread)...)
				}
			}
		},
		func() {
			for _, ch := range chassis {
				if ch != nil {
					inv.PSUs = append(inv.PSUs, c.psus(ctx, ch, &unread)...)
				}
			}
		},
		func() { inv.Firmware = c.firmware(ctx, &unread) },
	)
	inv.arrange()
	slices.Sort(unread.list)
	inv.Partial = slices.Compact(unread.list)
	if err := ctx.Err(); err != nil {
		return inv, fmt.Errorf("BMC %s: inventory: %w", c.cfg.Addr, context.Cause(ctx))
	}
	return inv, nil
}

// Firmware reads the versions that run, without those kept aside for going back.
// An entry that could not be read is logged; Inventory names it in Partial.
func (c *Client) Firmware(ctx context.Context) ([]Firmware, error) {
	var unread gaps
	list := c.firmware(ctx, &unread)
	if len(list) == 0 && len(unread.list) > 0 {
		return nil, fmt.Errorf("BMC %s: firmware inventory: %s", c.cfg.Addr, unread.list[0])
	}
	unread.log(ctx, c)
	return list, ctx.Err()
}

func (c *Client) firmware(ctx context.Context, unread *gaps) []Firmware {
	if c.root.Update == "" {
		return nil
	}
	var service struct {
		Inventory link `json:"FirmwareInventory"`
	}
	if _, err := c.get(ctx, c.root.Update, &service); err != nil {
		unread.add(c.root.Update, err)
		return nil
	}
	if service.Inventory == "" {
		return nil
	}
	var list []Firmware
	docs, uris := resourcesThat[softwareDoc](ctx, c, service.Inventory, c.behaviour.installed, unread)
	for i, d := range docs {
		if d != nil {
			list = append(list, Firmware{
				ID: uris[i].id(), Name: firstOf(string(d.Name), uris[i].id()), Version: string(d.Version), Updateable: d.Updateable.pointer(), URI: string(uris[i]),
			})
		}
	}
	slices.SortFunc(list, func(a, b Firmware) int { return strings.Compare(a.URI, b.URI) })
	return list
}

// chassis reads those that the host system belongs to.
func (c *Client) chassis(ctx context.Context, unread *gaps) []*chassisDoc {
	host, err := c.host(ctx)
	if err != nil {
		unread.add(c.system, err)
		return nil
	}
	return each[chassisDoc](ctx, c, host.Links.value.Chassis, unread)
}

func (c *Client) processors(ctx context.Context, uri link, unread *gaps) []*processorDoc {
	docs, uris := resources[processorDoc](ctx, c, uri, unread)
	var list []*processorDoc
	for i, d := range docs {
		if d != nil {
			d.uri = uris[i]
			list = append(list, d)
		}
	}
	return list
}

func cpus(procs []*processorDoc) []CPU {
	var list []CPU
	for _, p := range procs {
		if p.Type != "" && p.Type != "CPU" || p.absent() {
			continue
		}
		cpu := CPU{Part: p.part(p.uri), Cores: p.Cores.positive(), Threads: p.Threads.positive(), MaxMHz: p.MaxMHz.positive()}
		cpu.Label = firstOf(cpu.Label, p.Socket.clean())
		// A DGX H100 writes the model's name into EffectiveFamily, a number
		// elsewhere, and leaves Model out.
		if family := p.CPUID.value.Family.clean(); cpu.Model == "" && strings.Contains(family, " ") {
			cpu.Model = family
		}
		list = append(list, cpu)
	}
	return list
}

func (c *Client) dimms(ctx context.Context, uri link, unread *gaps) (list []DIMM, empty []string) {
	docs, uris := resources[memoryDoc](ctx, c, uri, unread)
	for i, d := range docs {
		if d == nil {
			continue
		}
		part := d.part(uris[i])
		part.Label = firstOf(part.Label, d.Locator.clean(), part.Name)
		if d.absent() || d.Capacity.ok && d.Capacity.value == 0 && part.Serial == "" {
			empty = append(empty, part.Label)
			continue
		}
		list = append(list, DIMM{
			Part: part, SizeMiB: d.Capacity.positive(), SpeedMTs: d.Speed.positive(), RatedMTs: d.Allowed.largest().positive(),
			Type: d.Device.clean(), ECC: d.ECC.clean(), BusBits: d.Bus.positive(), DataBits: d.Data.positive(), RankCount: d.Ranks.positive(),
		})
	}
	return list, empty
}
