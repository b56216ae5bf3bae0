package nodetest

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

//go:embed pages/*.tmpl
var pageFiles embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"handle": func(base, i int) string { return fmt.Sprintf("0x%04X", base+i) },
	"slot":   func(label string) string { return label[len(label)-1:] },
}).ParseFS(pageFiles, "pages/*.tmpl"))

// page fills a template; the templates are ours and are all filled by the tests.
func page(name string, data any) string {
	var b strings.Builder
	if err := pages.ExecuteTemplate(&b, name, data); err != nil {
		return "simulated page " + name + ": " + err.Error() + "\n"
	}
	return b.String()
}

func itoa(i int) string { return strconv.Itoa(i) }

// nvidiaSMI answers one call of nvidia-smi by its arguments.
func (s *system) nvidiaSMI(args []string) reply {
	switch {
	case s.M.HungSMI && !has(args, "--version"): // which asks no GPU
		return reply{hang: true}
	case s.M.Driver != s.M.Module && !has(args, "--version"):
		return reply{
			out:  "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: " + majorMinor(s.M.Driver) + "\n",
			exit: 18,
		}
	case has(args, "--version"):
		return reply{out: fmt.Sprintf("NVIDIA-SMI version  : %[1]s\nNVML version        : %[2]s\nDRIVER version      : %[3]s\nCUDA Version        : 12.8\n",
			s.M.Driver, majorMinor(s.M.Driver), s.M.Module)}
	case has(args, "--query-compute-apps"):
		return reply{}
	case has(args, "nvlink"):
		return s.nvlink(args)
	case has(args, "topo"):
		return reply{out: s.topology()}
	case queryFields(args) != nil:
		return reply{out: s.queryGPU(queryFields(args)), exit: s.lostExit()}
	case has(args, "-x"):
		return reply{out: s.lostLines() + page("nvidia-smi.xml.tmpl", struct {
			*system
			GPUs []gpuNow
		}{s, s.gpus()}), exit: s.lostExit()}
	}
	return reply{out: "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n", exit: 2}
}

// lostLines is what nvidia-smi says about a GPU that left the bus, before and
// instead of its data.
func (s *system) lostLines() string {
	var b strings.Builder
	for _, g := range s.M.GPUs {
		if s.lost(&g) {
			fmt.Fprintf(&b, "Unable to determine the device handle for GPU%d: %s: Unknown Error\n", g.Index, longAddress(g.Address)[4:])
		}
	}
	return b.String()
}

func (s *system) lostExit() int {
	if s.lostLines() != "" {
		return 15 // "the GPU has fallen off the bus or has otherwise become inaccessible"
	}
	return 0
}

// fabricManager answers `nv-fabricmanager --version`.
func (s *system) fabricManager() reply {
	if !s.M.GPUKind.Fabric {
		return reply{err: "sh: 1: nv-fabricmanager: not found\n", exit: 127}
	}
	return reply{out: "Fabric Manager version is : " + s.M.Driver + "\n"}
}

func has(args []string, want string) bool { return slices.Contains(args, want) }

func majorMinor(v string) string {
	parts := strings.SplitN(v, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// queryFields returns the fields of --query-gpu=a,b,c, or nil.
func queryFields(args []string) []string {
	for i, a := range args {
		if list, ok := strings.CutPrefix(a, "--query-gpu="); ok {
			return strings.Split(list, ",")
		}
		if a == "--query-gpu" && i+1 < len(args) {
			return strings.Split(args[i+1], ",")
		}
	}
	return nil
}

// queryGPU prints the fields asked for, as --format=csv does: units in the cells
// and in the head of columns that have one.
func (s *system) queryGPU(fields []string) string {
	var b strings.Builder
	heads := make([]string, len(fields))
	for i, f := range fields {
		heads[i] = strings.TrimSpace(f)
		if unit := columnUnits[heads[i]]; unit != "" {
			heads[i] += " [" + unit + "]"
		}
	}
	b.WriteString(strings.Join(heads, ", ") + "\n")
	for _, g := range s.gpus() {
		cells := make([]string, len(fields))
		for i, f := range fields {
			cells[i] = s.cell(g, strings.TrimSpace(f))
		}
		b.WriteString(strings.Join(cells, ", ") + "\n")
	}
	return b.String() + s.lostLines()
}

var columnUnits = map[string]string{
	"utilization.gpu": "%", "utilization.memory": "%", "power.draw": "W", "power.draw.instant": "W", "power.draw.average": "W",
	"power.limit": "W", "power.default_limit": "W", "enforced.power.limit": "W", "memory.total": "MiB", "memory.used": "MiB", "memory.free": "MiB",
	"clocks.sm": "MHz", "clocks.mem": "MHz", "clocks.gr": "MHz", "clocks.current.sm": "MHz", "clocks.current.memory": "MHz",
	"clocks.current.graphics": "MHz", "fan.speed": "%",
}

// cell is one value of --query-gpu; a field that this driver does not know reads
// [N/A], as many do on real GPUs.
func (s *system) cell(g gpuNow, field string) string {
	if v, ok := g.numbers()[field]; ok {
		if unit := columnUnits[field]; unit != "" {
			v += " " + unit
		}
		return v
	}
	if v, ok := s.words(g)[field]; ok {
		return v
	}
	switch {
	case strings.HasPrefix(field, "clocks_event_reasons.") || strings.HasPrefix(field, "clocks_throttle_reasons."):
		return reason(field, g)
	case strings.HasPrefix(field, "ecc.errors."):
		return eccCell(field, g.Uncorrectable)
	}
	return "[N/A]"
}

// words are the cells that are text.
func (s *system) words(g gpuNow) map[string]string {
	mig := g.MIG
	if mig == "N/A" {
		mig = "[N/A]"
	}
	return map[string]string{
		"timestamp": s.Now.Format("2006/01/02 15:04:05.000"), "driver_version": s.M.Module, "vbios_version": g.Kind.VBIOS,
		"name": g.Kind.Product, "gpu_name": g.Kind.Product, "serial": g.Serial, "gpu_serial": g.Serial, "uuid": g.UUID, "gpu_uuid": g.UUID,
		"pci.bus_id": g.Long, "gpu_bus_id": g.Long, "pci.device_id": "0x" + g.DeviceID, "pstate": g.PState,
		"ecc.mode.current": "Enabled", "ecc.mode.pending": "Enabled", "persistence_mode": "Enabled",
		"mig.mode.current": mig, "mig.mode.pending": mig, "fabric.state": g.FabricState, "fabric.status": g.FabricStatus,
		"remapped_rows.pending": "No", "remapped_rows.failure": "No", "gpu_recovery_action": "None",
	}
}

// numbers are the cells that are plain numbers, without their unit.
func (g *gpuNow) numbers() map[string]string {
	watts := fmt.Sprintf("%.2f", g.Watts)
	mhz := itoa(g.GraphicsMHz)
	return map[string]string{
		"index": itoa(g.Index), "module_id": g.ModuleID,
		"pcie.link.gen.current": itoa(g.Gen), "pcie.link.gen.gpucurrent": itoa(g.Gen),
		"pcie.link.gen.max": itoa(g.Kind.Gen), "pcie.link.gen.gpumax": itoa(g.Kind.Gen), "pcie.link.gen.hostmax": "5",
		"pcie.link.width.current": itoa(g.Width), "pcie.link.width.max": "16",
		"pcie.replay_counter": itoa(g.Replays),
		"utilization.gpu":     itoa(g.Utilisation), "utilization.memory": itoa(g.MemoryUtilisation),
		"temperature.gpu": itoa(g.Celsius), "temperature.gpu.tlimit": itoa(g.Margin), "temperature.memory": strings.TrimSuffix(g.MemoryCelsius, " C"),
		"power.draw": watts, "power.draw.instant": watts, "power.draw.average": watts,
		"power.limit": itoa(g.LimitWatts) + ".00", "enforced.power.limit": itoa(g.LimitWatts) + ".00",
		"power.default_limit": itoa(g.Kind.Watts) + ".00",
		"memory.total":        itoa(g.Kind.MiB), "memory.used": itoa(g.UsedMiB), "memory.free": itoa(g.FreeMiB),
		"clocks.sm": mhz, "clocks.gr": mhz, "clocks.current.sm": mhz, "clocks.current.graphics": mhz,
		"clocks.mem": itoa(g.Kind.MemoryMHz), "clocks.current.memory": itoa(g.Kind.MemoryMHz),
		"remapped_rows.correctable": "0", "remapped_rows.uncorrectable": "0",
	}
}

func reason(field string, g gpuNow) string {
	busy := g.Busy
	switch {
	case strings.HasSuffix(field, ".active") && busy && g.Hot:
		return "0x0000000000000048" // HW slowdown, because of HW thermal slowdown
	case strings.HasSuffix(field, ".hw_slowdown") && busy && g.Hot, strings.HasSuffix(field, ".hw_thermal_slowdown") && busy && g.Hot:
		return "Active"
	case strings.HasSuffix(field, ".supported"):
		return "0x00000000000001FF"
	case strings.HasSuffix(field, ".active") && busy:
		return "0x0000000000000000"
	case strings.HasSuffix(field, ".active"):
		return "0x0000000000000001"
	case strings.HasSuffix(field, ".gpu_idle") && !busy:
		return "Active"
	}
	return "Not Active"
}

func eccCell(field string, uncorrectable int) string {
	if strings.Contains(field, ".uncorrected.") && !strings.HasSuffix(field, ".dram") && !strings.HasSuffix(field, ".device_memory") {
		return itoa(uncorrectable)
	}
	if strings.Contains(field, "corrected.") {
		return "0"
	}
	return "[N/A]"
}
