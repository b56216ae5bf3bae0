package redfish

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bougou/go-ipmi/pkg/types"
)

// Entities of parts (IPMI 2.0, table 43-13).
const (
	entityMemoryModule = 8
	entityPowerSupply  = 10
	entityMemory       = 32
)

// Inventory tells what the FRU inventories say: the machine itself, and power
// supplies and memory modules that have one. IPMI knows of little else, so what it
// does not tell is named in Partial, and nothing may be taken for absent because it
// is not listed.
func (c *IPMI) Inventory(ctx context.Context) (Inventory, error) {
	var unread gaps
	id, device, err := c.identity(ctx, &unread)
	if err != nil {
		return Inventory{}, err
	}
	inv := Inventory{System: id, Firmware: []Firmware{{Name: "BMC", Version: device.firmware, URI: "ipmi:/device"}}}
	records, remarks, err := c.records(ctx)
	if err != nil {
		unread.add("ipmi:/sdr", err)
	}
	for _, why := range remarks {
		unread.add("ipmi:/sdr", errors.New(why))
	}
	for _, s := range records {
		if s.kind == types.SDRRecordTypeFRUDeviceLocator && s.owner == types.BMC_SA && s.fruLogical && s.fruDevice != 0 {
			c.addPart(ctx, &inv, s, &unread)
		}
	}
	inv.arrange()
	c.keep("parts", map[string]any{"psus": inv.PSUs, "dimms": inv.DIMMs, "empty_dimm_slots": inv.EmptyDIMMs})
	for _, what := range []string{"CPUs", "memory modules", "GPUs", "network adapters", "drives"} {
		unread.add("ipmi", fmt.Errorf("does not list %s", what))
	}
	slices.Sort(unread.list)
	inv.Partial = slices.Compact(unread.list)
	if err := ctx.Err(); err != nil {
		return inv, fmt.Errorf("BMC %s: inventory: %w", c.cfg.Addr, context.Cause(ctx))
	}
	return inv, nil
}

// addPart reads the inventory of one part. Its place is empty where the BMC has none
// of it now.
func (c *IPMI) addPart(ctx context.Context, inv *Inventory, s sdr, unread *gaps) {
	supply, module := s.entity == entityPowerSupply, s.entity == entityMemory || s.entity == entityMemoryModule
	if !supply && !module {
		return
	}
	uri := fmt.Sprintf("ipmi:/fru/%d", s.fruDevice)
	fru, err := c.readFRU(ctx, s.fruDevice)
	switch {
	case codeOf(err) == codeNotPresent:
		if module {
			inv.EmptyDIMMs = append(inv.EmptyDIMMs, s.label(0))
		}
		return
	case err != nil:
		unread.add(link(uri), fmt.Errorf("%s: %w", s.label(0), err))
		return
	}
	for _, why := range fru.remarks {
		unread.add(link(uri), errors.New(s.label(0)+": "+why))
	}
	part := fru.part(s.label(0), uri)
	if supply {
		inv.PSUs = append(inv.PSUs, PSU{Part: part})
		return
	}
	inv.DIMMs = append(inv.DIMMs, DIMM{Part: part})
}

// Firmware tells the version of the BMC; IPMI knows of no other.
func (c *IPMI) Firmware(ctx context.Context) ([]Firmware, error) {
	device, err := c.device(ctx)
	if err != nil {
		return nil, err
	}
	return []Firmware{{Name: "BMC", Version: device.firmware, URI: "ipmi:/device"}}, nil
}
