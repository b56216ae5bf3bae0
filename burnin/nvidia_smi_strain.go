package burnin

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// NvidiaStrain is how hard a GPU works and what holds it back. Temperatures are °C,
// powers W, clocks MHz.
type NvidiaStrain struct {
	MemoryTemperature Opt[float64]
	Margin            Opt[float64] // T.Limit: how far it is from slowing down, of drivers and GPUs that print margins
	SlowdownAt        Opt[float64] // the temperature at which it slows down, of those that print no margins
	MemoryLimit       Opt[float64] // the highest operating temperature of its memory, of those that print no margins

	PowerLimit, DefaultPower Opt[float64]

	SMClock, MemoryClock       Opt[float64]
	SMMax, MemoryMax           Opt[float64]
	AppGraphics, AppMemory     Opt[float64] // application clocks as set
	FirstGraphics, FirstMemory Opt[float64] // application clocks as the part comes
	Reasons                    Opt[uint64]  // why it runs slower than it could: NVML's mask
	ReasonsOpen                uint64       // bits of it that were not printed, or cannot be read
	HWThermalTime, BrakeTime   Opt[float64] // µs since the driver was loaded; from 550 on
}

// nvidiaReasons are the reasons of a full query, by the last words of their name in XML
// and in text, with their bit in NVML's mask.
var nvidiaReasons = []struct {
	xml, text string
	bit       uint64
}{
	{"gpu_idle", "idle", 1},
	{"applications_clocks_setting", "applications_clocks_setting", 2},
	{"sw_power_cap", "sw_power_cap", 4},
	{"hw_slowdown", "hw_slowdown", 8},
	{"sync_boost", "sync_boost", 16},
	{"sw_thermal_slowdown", "sw_thermal_slowdown", 32},
	{"hw_thermal_slowdown", "hw_slowdown/hw_thermal_slowdown", 64},
	{"hw_power_brake_slowdown", "hw_slowdown/hw_power_brake_slowdown", 128},
	{"display_clocks_setting", "display_clock_setting", 256},
}

func (g *NvidiaGPU) readStrain(r fieldReader) {
	g.MemoryTemperature = r.quantity(profiles.Celsius, "temperature/memory_temp", "temperature/memory_current_temp")
	g.Margin = r.quantity(profiles.Celsius, "temperature/gpu_temp_tlimit", "temperature/gpu_t_limit_temp")
	g.SlowdownAt = r.quantity(profiles.Celsius, "temperature/gpu_temp_slow_threshold", "temperature/gpu_slowdown_temp")
	g.MemoryLimit = r.quantity(profiles.Celsius, "temperature/gpu_temp_max_mem_threshold", "temperature/memory_max_operating_temp")

	const power, old = "gpu_power_readings/", "power_readings/"
	g.PowerLimit = r.quantity(profiles.Watt, power+"current_power_limit", old+"power_limit")
	g.DefaultPower = r.quantity(profiles.Watt, power+"default_power_limit", old+"default_power_limit")

	mhz := func(paths ...string) Opt[float64] { return r.quantity(profiles.MHz, paths...) }
	g.SMClock, g.MemoryClock = mhz("clocks/sm_clock", "clocks/sm"), mhz("clocks/mem_clock", "clocks/memory")
	g.SMMax, g.MemoryMax = mhz("max_clocks/sm_clock", "max_clocks/sm"), mhz("max_clocks/mem_clock", "max_clocks/memory")
	g.AppGraphics = mhz("applications_clocks/graphics_clock", "applications_clocks/graphics")
	g.AppMemory = mhz("applications_clocks/mem_clock", "applications_clocks/memory")
	g.FirstGraphics = mhz("default_applications_clocks/graphics_clock", "default_applications_clocks/graphics")
	g.FirstMemory = mhz("default_applications_clocks/mem_clock", "default_applications_clocks/memory")
	g.Reasons, g.ReasonsOpen = r.reasons()

	const counters = "clocks_event_reasons_counters/"
	g.HWThermalTime = r.count(counters+"clocks_event_reasons_counters_hw_therm_slowdown", counters+"hw_thermal_slowdown")
	g.BrakeTime = r.count(counters+"clocks_event_reasons_counters_hw_power_brake", counters+"hw_power_braking")
}

// reasons makes NVML's mask of the words of a full query. Those that are printed and
// cannot be read stay open.
func (r fieldReader) reasons() (mask Opt[uint64], open uint64) {
	for _, reason := range nvidiaReasons {
		word := r.word(
			"clocks_event_reasons/clocks_event_reason_"+reason.xml, "clocks_throttle_reasons/clocks_throttle_reason_"+reason.xml,
			"clocks_event_reasons/"+reason.text, "clocks_throttle_reasons/"+reason.text)
		mask.Text = firstWord(mask.Text, word.Text)
		switch {
		case strings.EqualFold(word.V, "active"):
			mask.V |= reason.bit
			mask.Set = true
		case strings.EqualFold(word.V, "not active"):
			mask.Set = true
		default:
			open |= reason.bit
		}
	}
	return mask, open
}

// optMask reads a mask of bits in hex, "0x0000000000000044". All ones are no mask, and one
// of fewer digits was cut: what is left of it looks like no reason at all.
func optMask(text string) Opt[uint64] {
	text = strings.TrimSpace(text)
	digits, hex := strings.CutPrefix(text, "0x")
	v, err := strconv.ParseUint(digits, 16, 64)
	if !hex || len(digits) != 16 || err != nil || v == math.MaxUint64 {
		return Opt[uint64]{Text: text}
	}
	return Opt[uint64]{V: v, Set: true, Text: text}
}

// reasonNames are the names that the table has for the bits of a mask, in their order.
func reasonNames(mask uint64, table map[string]profiles.ClockReasonRule) []string {
	var names []string
	for name, rule := range table {
		if mask&uint64(rule.Bit) != 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return table[a].Bit - table[b].Bit })
	return names
}
