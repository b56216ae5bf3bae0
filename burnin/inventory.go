package burnin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// InventoryGroup is the parts of one kind, as the evidence shows them.
type InventoryGroup struct {
	Title string         `json:"title"` // "GPUs"
	Rows  []InventoryRow `json:"rows"`
}

// InventoryRow is one part by the label of its place.
type InventoryRow struct {
	Place      string `json:"place"`
	Model      string `json:"model,omitempty"`
	Serial     string `json:"serial,omitempty"`
	PartNumber string `json:"part_number,omitempty"`
	Detail     string `json:"detail,omitempty"`
}

// Inventory lists the parts of the machine by label with their serials: from the
// host, and from the BMC what only it knows. Groups of which nothing is known are
// left out.
func Inventory(rec *Record, p *profiles.Profile) []InventoryGroup {
	r := NewReadings(rec)
	bmc := ReadAny(r, BMCInventory, PhaseBMC).Value
	groups := []InventoryGroup{
		{"CPUs", inventoryCPUs(r)},
		{"GPUs", inventoryGPUs(r, p)},
		{"DIMMs", inventoryDIMMs(r, bmc)},
		{"drives", inventoryDrives(r, bmc)},
		{"network ports", inventoryPorts(r)},
		{"power supplies", fromBMC(bmc.PSUs)},
		{"firmware versions", firmwareRows(bmc.Firmware)},
	}
	return slices.DeleteFunc(groups, func(g InventoryGroup) bool { return len(g.Rows) == 0 })
}

func inventoryCPUs(r *Readings) []InventoryRow {
	cpu := ReadAny(r, LSCPU, PhaseBefore, PhaseAfter)
	if !cpu.OK() || !cpu.Value.Sockets.Set {
		return nil
	}
	var rows []InventoryRow
	for i := range int(cpu.Value.Sockets.V) {
		row := InventoryRow{Place: fmt.Sprintf("CPU %d", i), Model: cpu.Value.Model}
		if cores := cpu.Value.CoresPerSocket; cores.Set {
			row.Detail = fmt.Sprintf("%.0f cores", cores.V)
		}
		rows = append(rows, row)
	}
	return rows
}

func inventoryGPUs(r *Readings, p *profiles.Profile) []InventoryRow {
	byAddress := map[string]NvidiaGPU{}
	for _, log := range nvidiaLogs(r) {
		for _, g := range log.Value.GPUs {
			if old, ok := byAddress[g.Address]; !ok || !old.VBIOS.Set {
				byAddress[g.Address] = g
			}
		}
	}
	var rows []InventoryRow
	for _, part := range gpuParts(r, p) {
		if !part.Shown && !part.BMC {
			continue
		}
		g := byAddress[part.Address]
		detail := []string{"PCI " + part.Address}
		if g.VBIOS.Set {
			detail = append(detail, "VBIOS "+g.VBIOS.V)
		}
		if g.Memory.Set {
			detail = append(detail, fmt.Sprintf("%.0f MiB", g.Memory.V))
		}
		rows = append(rows, InventoryRow{
			Place: part.Name, Model: g.Product.V, Serial: part.Serial, PartNumber: g.Board.V, Detail: strings.Join(detail, ", "),
		})
	}
	slices.SortStableFunc(rows, func(a, b InventoryRow) int { return strings.Compare(a.Place, b.Place) })
	return rows
}

func inventoryDIMMs(r *Readings, bmc BMCTree) []InventoryRow {
	dmi := ReadAny(r, Dmidecode, PhaseBefore, PhaseAfter)
	if !dmi.OK() || !dmi.Value.HasMemory {
		return fromBMC(bmc.DIMMs)
	}
	var rows []InventoryRow
	for _, m := range dmi.Value.Modules {
		if m.Empty {
			continue
		}
		row := InventoryRow{Place: m.Locator, Model: strings.TrimSpace(m.Manufacturer + " " + m.Type), Serial: m.Serial, PartNumber: m.PartNumber}
		if m.Size.Set {
			row.Detail = fmt.Sprintf("%.0f GiB", m.Size.V/1024)
		}
		if m.Configured.Set {
			row.Detail += fmt.Sprintf(" at %.0f MT/s", m.Configured.V)
		}
		rows = append(rows, row)
	}
	return rows
}

// inventoryDrives lists the drives of the host with the bays that the BMC knows
// by serial, then those that only the BMC lists.
func inventoryDrives(r *Readings, bmc BMCTree) []InventoryRow {
	bays := map[string]string{}
	for _, d := range bmc.Drives {
		bays[d.Serial] = d.Label
	}
	var rows []InventoryRow
	seen := map[string]bool{}
	for _, tree := range pciTrees(r) {
		for _, dev := range tree.Value.Devices {
			for _, d := range dev.Drives {
				if seen[d.Serial] {
					continue
				}
				seen[d.Serial] = true
				rows = append(rows, InventoryRow{
					Place: firstWord(bays[d.Serial], d.Name), Model: d.Model, Serial: d.Serial,
					Detail: fmt.Sprintf("%s, PCI %s, %.2f TB", d.Name, dev.Address, float64(d.Bytes)/1e12),
				})
			}
		}
	}
	for _, row := range fromBMC(bmc.Drives) {
		if !seen[row.Serial] {
			row.Detail = "listed by the BMC only"
			rows = append(rows, row)
		}
	}
	return rows
}

func inventoryPorts(r *Readings) []InventoryRow {
	var rows []InventoryRow
	seen := map[string]bool{}
	for _, tree := range pciTrees(r) {
		for _, dev := range tree.Value.Devices {
			for _, n := range dev.NetDevs {
				if dev.Virtual || seen[n.Name] {
					continue
				}
				seen[n.Name] = true
				rows = append(rows, InventoryRow{Place: n.Name, Model: firstWord(dev.Name, dev.ID()), Serial: n.MAC, Detail: "PCI " + dev.Address})
			}
		}
	}
	return rows
}

func fromBMC(parts []BMCPart) []InventoryRow {
	var rows []InventoryRow
	for _, p := range parts {
		if p.Present {
			rows = append(rows, InventoryRow{Place: p.Label, Model: p.Model, Serial: p.Serial})
		}
	}
	return rows
}

// firmwareRows lists the versions in the BMC's firmware inventory.
func firmwareRows(parts []BMCPart) []InventoryRow {
	var rows []InventoryRow
	for _, p := range parts {
		if p.Model != "" {
			rows = append(rows, InventoryRow{Place: p.Label, Model: p.Model})
		}
	}
	return rows
}

// machineLine names the machine by what the batch says and what it says itself.
func machineLine(r *Readings) MachineLine {
	m := r.Machine()
	line := MachineLine{Name: firstWord(m.Name, r.rec.Meta.Machine), Rack: m.Rack, U: m.U, Attempt: r.rec.Meta.Attempt}
	line.Identity = ReadAny(r, BMCInventory, PhaseBMC).Value.Identity
	host, _, _ := hostIdentity(r)
	line.Identity.fill(host)
	return line
}

// fill takes from other what is blank.
func (i *Identity) fill(other Identity) {
	for _, f := range []struct {
		to   *string
		from string
	}{
		{&i.Manufacturer, other.Manufacturer},
		{&i.Model, other.Model},
		{&i.UUID, other.UUID},
		{&i.SystemSerial, other.SystemSerial},
		{&i.ChassisSerial, other.ChassisSerial},
		{&i.BoardSerial, other.BoardSerial},
		{&i.ServiceTag, other.ServiceTag},
		{&i.SKU, other.SKU},
		{&i.BMCMAC, other.BMCMAC},
	} {
		*f.to = firstWord(*f.to, f.from)
	}
	if len(i.NICMACs) == 0 {
		i.NICMACs = other.NICMACs
	}
}
