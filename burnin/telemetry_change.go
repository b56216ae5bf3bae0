package burnin

import (
	"fmt"
	"strings"
)

// changes writes by how much every counter grew from before the load to after it. One
// that only one side shows is written with that side alone.
func (t *telemetry) changes() {
	t.gpuChanges()
	t.linkChanges()
	t.busChanges()
	t.memoryChanges()
	t.driveChanges()
}

// change writes one counter, unless neither side shows it.
func (t *telemetry) change(of Part, counter string, before, after Opt[float64], from string) {
	if !before.Set && !after.Set {
		return
	}
	r := TelemetryRow{From: from, Counter: counter, Before: figure(before), After: figure(after)}.of(of)
	if before.Set && after.Set {
		delta := after.V - before.V
		r.Delta = &delta
	}
	t.write(r)
}

// gpuCounters are the counters of a full query.
var gpuCounters = []struct {
	name string
	of   func(*NvidiaGPU) Opt[float64]
}{
	{"pcie_replays", func(g *NvidiaGPU) Opt[float64] { return g.Replays }},
	{"ecc_sram_corrected", func(g *NvidiaGPU) Opt[float64] { return g.Volatile.SRAMCorrected }},
	{"ecc_sram_uncorrected", func(g *NvidiaGPU) Opt[float64] { return g.Volatile.SRAMUncorrected }},
	{"ecc_dram_corrected", func(g *NvidiaGPU) Opt[float64] { return g.Volatile.DRAMCorrected }},
	{"ecc_dram_uncorrected", func(g *NvidiaGPU) Opt[float64] { return g.Volatile.DRAMUncorrected }},
	{"ecc_sram_corrected_lifetime", func(g *NvidiaGPU) Opt[float64] { return g.Aggregate.SRAMCorrected }},
	{"ecc_sram_uncorrected_lifetime", func(g *NvidiaGPU) Opt[float64] { return g.Aggregate.SRAMUncorrected }},
	{"ecc_dram_corrected_lifetime", func(g *NvidiaGPU) Opt[float64] { return g.Aggregate.DRAMCorrected }},
	{"ecc_dram_uncorrected_lifetime", func(g *NvidiaGPU) Opt[float64] { return g.Aggregate.DRAMUncorrected }},
	{"remapped_rows_corrected", func(g *NvidiaGPU) Opt[float64] { return g.RemapCorrectable }},
	{"remapped_rows_uncorrected", func(g *NvidiaGPU) Opt[float64] { return g.RemapUncorrectable }},
	{"hw_thermal_slowdown_us", func(g *NvidiaGPU) Opt[float64] { return g.HWThermalTime }},
	{"hw_power_brake_us", func(g *NvidiaGPU) Opt[float64] { return g.BrakeTime }},
}

func (t *telemetry) gpuChanges() {
	before, after := Read(t.read, NvidiaSMI, PhaseBefore), Read(t.read, NvidiaSMI, PhaseAfter)
	for _, part := range t.gpus {
		a, b := &NvidiaGPU{}, &NvidiaGPU{}
		if g := before.Value.find(part); before.OK() && g != nil {
			a = g
		}
		if g := after.Value.find(part); after.OK() && g != nil {
			b = g
		}
		for _, c := range gpuCounters {
			t.change(part.Part, c.name, c.of(a), c.of(b), NvidiaSMI.Spec.Name)
		}
	}
}

func (t *telemetry) linkChanges() {
	before, after := Read(t.read, NVLinkErrors, PhaseBefore), Read(t.read, NVLinkErrors, PhaseAfter)
	for _, part := range t.gpus {
		a, b := nvlinkCounters(before, part), nvlinkCounters(after, part)
		for _, name := range sortedKeys(b) {
			t.change(part.Part, name, a[name], b[name], NVLinkErrors.Spec.Name)
		}
	}
}

// nvlinkCounters are the counters of all links of a GPU, "nvlink_3_replay_errors".
func nvlinkCounters(r Reading[NVLinkCounters], part gpuPart) map[string]Opt[float64] {
	all := map[string]Opt[float64]{}
	if !r.OK() {
		return all
	}
	for _, g := range r.Value.GPUs {
		if part.UUID == "" || g.UUID != part.UUID {
			continue
		}
		for link, counters := range g.Links {
			for name, v := range counters {
				all[fmt.Sprintf("nvlink_%d_%s", link, name)] = v
			}
		}
	}
	return all
}

func (t *telemetry) busChanges() {
	before, after := Read(t.read, PCISysfs, PhaseBefore), Read(t.read, PCISysfs, PhaseAfter)
	if !before.OK() || !after.OK() {
		return
	}
	for i := range after.Value.Devices {
		d := &after.Value.Devices[i]
		owner, known := t.owners[d.Address]
		if was := before.Value.At(d.Address); known && was != nil {
			t.deviceChanges(owner, was, d)
		}
	}
}

func (t *telemetry) deviceChanges(owner Part, was, is *PCIDevice) {
	for _, e := range is.Errors {
		for old := range was.errorsOf(e.Kind) {
			if old.Name == e.Name {
				t.change(owner, "aer_"+e.Kind+"_"+strings.ToLower(e.Name), count(old.Count), count(e.Count), PCISysfs.Spec.Name)
			}
		}
	}
	for i, port := range is.NetDevs {
		if i < len(was.NetDevs) && was.NetDevs[i].Name == port.Name {
			t.change(owner, "link_downs_"+port.Name, was.NetDevs[i].Downs, port.Downs, PCISysfs.Spec.Name)
		}
	}
}

func count(n uint64) Opt[float64] { return Opt[float64]{V: float64(n), Set: true} }

func (t *telemetry) memoryChanges() {
	before, after := Read(t.read, EDAC, PhaseBefore), Read(t.read, EDAC, PhaseAfter)
	was := map[string]EDACPlace{}
	for _, place := range before.Value.Places {
		was[place.ID] = place
	}
	for _, place := range after.Value.Places {
		part := dimmPart(place.Name(), "")
		t.change(part, "ecc_corrected", was[place.ID].Corrected, place.Corrected, EDAC.Spec.Name)
		t.change(part, "ecc_uncorrected", was[place.ID].Uncorrected, place.Uncorrected, EDAC.Spec.Name)
	}
}

// driveCounters are the counters of a drive's health log.
var driveCounters = []struct {
	name string
	of   func(*SMARTLog) Opt[float64]
}{
	{"media_errors", func(l *SMARTLog) Opt[float64] { return l.MediaErrors }},
	{"error_log_entries", func(l *SMARTLog) Opt[float64] { return l.ErrorLog }},
	{"power_on_hours", func(l *SMARTLog) Opt[float64] { return l.PowerOn }},
	{"power_cycles", func(l *SMARTLog) Opt[float64] { return l.PowerCycles }},
	{"data_read_tb", func(l *SMARTLog) Opt[float64] { return l.Read }},
	{"data_written_tb", func(l *SMARTLog) Opt[float64] { return l.Written }},
	{"over_temperature_minutes", func(l *SMARTLog) Opt[float64] { return l.HotMinutes }},
}

func (t *telemetry) driveChanges() {
	before, after := ReadAll(t.read, NVMeSmart, PhaseBefore), ReadAll(t.read, NVMeSmart, PhaseAfter)
	for _, name := range sortedKeys(after) {
		if !after[name].OK() {
			continue
		}
		b := after[name].Value
		part := Part{Class: ClassNVMe, Name: "NVMe " + firstWord(b.Device, name), Serial: b.Serial}
		for _, owner := range t.owners {
			if owner.Class == ClassNVMe && owner.Serial != "" && owner.Serial == b.Serial {
				part = owner
			}
		}
		a := before[name].Value // nothing where it was not read
		for _, c := range driveCounters {
			t.change(part, c.name, c.of(&a), c.of(&b), NVMeSmart.Spec.Name)
		}
	}
}
