package burnin

import (
	"fmt"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// nvidiaSampleFields are cheap and known to every driver since 460; one that a driver
// does not know would make it print none at all.
const nvidiaSampleFields = "timestamp,index,pci.bus_id,serial,uuid,name,driver_version,utilization.gpu,pstate," +
	"pcie.link.gen.current,pcie.link.width.current,temperature.gpu,temperature.memory,power.draw,power.limit,clocks.sm,clocks.mem," +
	"memory.total,ecc.errors.uncorrected.volatile.total"

// nvidiaSampleCommand is one cheap sample. Drivers since 535 call the reasons for slower
// clocks by another name and print the margin to the temperature limit; one that knows
// neither refuses with exit status 2, as nvidia-smi(1) says, and is asked the old way.
func nvidiaSampleCommand() string {
	query := func(more string) string {
		return "nvidia-smi --query-gpu=" + nvidiaSampleFields + "," + more + " --format=csv"
	}
	return "out=$(" + query("temperature.gpu.tlimit,clocks_event_reasons.active") + `); rc=$?
case $rc in
2) ` + query("clocks_throttle_reasons.active") + ` ;;
*) printf '%s\n' "$out"; (exit "$rc") ;;
esac`
}

// csvColumn is where one column of --query-gpu goes.
type csvColumn struct {
	name string
	set  func(*NvidiaGPU, csvCell)
}

// csvCell is a value with the unit its column's head names: "[MiB]", or none.
type csvCell struct {
	text string
	unit profiles.Unit
}

// csvColumns are the columns that are read. Others are left alone.
var csvColumns = []csvColumn{
	{"index", func(g *NvidiaGPU, c csvCell) {
		if n := optCount(c.text); n.Set && n.V < 1<<16 {
			g.Index = int(n.V)
		}
	}},
	{"pci.bus_id", func(g *NvidiaGPU, c csvCell) { g.Address = normalAddress(c.text) }},
	{"pci.device_id", func(g *NvidiaGPU, c csvCell) { g.PCIID = pciID(c.text) }},
	{"name", func(g *NvidiaGPU, c csvCell) { g.Product = optWord(c.text) }},
	{"serial", func(g *NvidiaGPU, c csvCell) { g.Serial = optWord(c.text) }},
	{"uuid", func(g *NvidiaGPU, c csvCell) { g.UUID = optWord(c.text) }},
	{"platform.module_id", func(g *NvidiaGPU, c csvCell) { g.Module = optWord(c.text) }},
	{"vbios_version", func(g *NvidiaGPU, c csvCell) { g.VBIOS = optWord(c.text) }},
	{"pstate", func(g *NvidiaGPU, c csvCell) { g.PerformanceState = optWord(c.text) }},
	{"gpu_recovery_action", func(g *NvidiaGPU, c csvCell) { g.RecoveryAction = optWord(c.text) }},
	{"mig.mode.current", func(g *NvidiaGPU, c csvCell) { g.MIG.Current = optWord(c.text) }},
	{"mig.mode.pending", func(g *NvidiaGPU, c csvCell) { g.MIG.Pending = optWord(c.text) }},
	{"ecc.mode.current", func(g *NvidiaGPU, c csvCell) { g.ECCMode.Current = optWord(c.text) }},
	{"ecc.mode.pending", func(g *NvidiaGPU, c csvCell) { g.ECCMode.Pending = optWord(c.text) }},
	{"ecc.errors.corrected.volatile.dram", func(g *NvidiaGPU, c csvCell) { g.Volatile.DRAMCorrected = optCount(c.text) }},
	{"ecc.errors.corrected.volatile.sram", func(g *NvidiaGPU, c csvCell) { g.Volatile.SRAMCorrected = optCount(c.text) }},
	{"ecc.errors.uncorrected.volatile.dram", func(g *NvidiaGPU, c csvCell) { g.Volatile.DRAMUncorrected = optCount(c.text) }},
	{"ecc.errors.uncorrected.volatile.sram", func(g *NvidiaGPU, c csvCell) { g.Volatile.SRAMUncorrected = optCount(c.text) }},
	{"ecc.errors.uncorrected.volatile.total", func(g *NvidiaGPU, c csvCell) { g.UncorrectedTotal = optCount(c.text) }},
	{"memory.total", func(g *NvidiaGPU, c csvCell) { g.Memory = optQuantity(c.text, profiles.MiB, c.unit) }},
	{"utilization.gpu", func(g *NvidiaGPU, c csvCell) { g.Utilisation = optQuantity(c.text, profiles.Percent, c.unit) }},
	{"temperature.gpu", func(g *NvidiaGPU, c csvCell) { g.Temperature = optQuantity(c.text, profiles.Celsius, profiles.Celsius) }},
	{"power.draw", func(g *NvidiaGPU, c csvCell) { g.PowerDraw = optQuantity(c.text, profiles.Watt, c.unit) }},
	{"temperature.gpu.tlimit", func(g *NvidiaGPU, c csvCell) { g.Margin = optQuantity(c.text, profiles.Celsius, profiles.Celsius) }},
	{"temperature.memory", func(g *NvidiaGPU, c csvCell) {
		g.MemoryTemperature = optQuantity(c.text, profiles.Celsius, profiles.Celsius)
	}},
	{"power.limit", func(g *NvidiaGPU, c csvCell) { g.PowerLimit = optQuantity(c.text, profiles.Watt, c.unit) }},
	{"power.default_limit", func(g *NvidiaGPU, c csvCell) { g.DefaultPower = optQuantity(c.text, profiles.Watt, c.unit) }},
	{"clocks.sm", func(g *NvidiaGPU, c csvCell) { g.SMClock = optQuantity(c.text, profiles.MHz, c.unit) }},
	{"clocks.current.sm", func(g *NvidiaGPU, c csvCell) { g.SMClock = optQuantity(c.text, profiles.MHz, c.unit) }},
	{"clocks.mem", func(g *NvidiaGPU, c csvCell) { g.MemoryClock = optQuantity(c.text, profiles.MHz, c.unit) }},
	{"clocks.current.memory", func(g *NvidiaGPU, c csvCell) { g.MemoryClock = optQuantity(c.text, profiles.MHz, c.unit) }},
	{"clocks.max.sm", func(g *NvidiaGPU, c csvCell) { g.SMMax = optQuantity(c.text, profiles.MHz, c.unit) }},
	{"clocks.max.memory", func(g *NvidiaGPU, c csvCell) { g.MemoryMax = optQuantity(c.text, profiles.MHz, c.unit) }},
	{"clocks_event_reasons.active", func(g *NvidiaGPU, c csvCell) { g.Reasons = optMask(c.text) }},
	{"clocks_throttle_reasons.active", func(g *NvidiaGPU, c csvCell) { g.Reasons = optMask(c.text) }},
	{"pcie.link.gen.current", func(g *NvidiaGPU, c csvCell) { g.LinkGen = optCount(c.text) }},
	{"pcie.link.gen.gpucurrent", func(g *NvidiaGPU, c csvCell) { g.LinkGen = optCount(c.text) }},
	{"pcie.link.width.current", func(g *NvidiaGPU, c csvCell) { g.LinkWidth = optCount(c.text) }},
	{"fabric.state", func(g *NvidiaGPU, c csvCell) { g.FabricState = optWord(c.text) }},
	{"fabric.status", func(g *NvidiaGPU, c csvCell) { g.FabricStatus = optWord(c.text) }},
}

// looksLikeNvidiaCSV reports whether a line is the head of --query-gpu's CSV with a
// column that names the GPU.
func looksLikeNvidiaCSV(body string) bool {
	for line := range strings.Lines(body) {
		if isCSVHead(line) {
			return true
		}
	}
	return false
}

func isCSVHead(line string) bool {
	names := 0
	for cell := range strings.SplitSeq(line, ",") {
		switch strings.TrimSpace(cell) {
		case "index", "pci.bus_id", "gpu_bus_id", "uuid", "serial":
			names++
		}
	}
	return names > 0 && strings.Contains(line, ",")
}

// parseNvidiaCSV reads --query-gpu with its head. Lines that are no row, and lines
// of a GPU that does not answer, become messages.
func parseNvidiaCSV(body string, ended bool) (NvidiaLog, error) {
	log := NvidiaLog{Form: NvidiaCSV}
	var head []csvHead
	for line := range strings.Lines(body) {
		line = chomp(line)
		cells := strings.Split(line, ",")
		switch {
		case isCSVHead(line):
			head = csvHeads(cells)
		case head == nil || len(cells) != len(head):
			log.Messages = append(log.Messages, nvidiaMessages(line, false)...)
		default:
			log.GPUs = append(log.GPUs, csvGPU(&log, head, cells))
		}
	}
	if len(log.GPUs) == 0 {
		return log, fmt.Errorf("the CSV holds no GPU")
	}
	log.Complete = ended || log.Attached.Set && float64(len(log.GPUs)) >= log.Attached.V
	return log, nil
}

// csvHead is a column of this output: "memory.total [MiB]".
type csvHead struct {
	name string
	unit profiles.Unit
	set  []func(*NvidiaGPU, csvCell) // where it goes
}

func csvHeads(cells []string) []csvHead {
	heads := make([]csvHead, len(cells))
	for i, cell := range cells {
		name, unit, _ := strings.Cut(strings.TrimSpace(cell), " ")
		heads[i] = csvHead{name: name, unit: nvidiaUnit(strings.Trim(unit, "[]"))}
		for _, column := range csvColumns {
			if column.name == name {
				heads[i].set = append(heads[i].set, column.set)
			}
		}
	}
	return heads
}

func csvGPU(log *NvidiaLog, head []csvHead, cells []string) NvidiaGPU {
	g := NvidiaGPU{Index: -1}
	for i, column := range head {
		cell := csvCell{strings.TrimSpace(cells[i]), column.unit}
		switch column.name {
		case "driver_version", "kmd_version":
			log.Driver = versionWord(cell.text, log.Driver)
		case "count":
			log.Attached = optCount(cell.text)
		}
		for _, set := range column.set {
			set(&g, cell)
			if isFaultWord(cell.text) {
				g.Faults = append(g.Faults, faultText(column.name, cell.text))
			}
		}
		if g.Lost == "" && isLostWord(cell.text) {
			g.Lost = cell.text
		}
	}
	return g
}
