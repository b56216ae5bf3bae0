package nodetest

import (
	"strings"
	"time"
)

// system is a booted operating system at one moment: what the pages are drawn
// from. It is a value; nothing in it changes while a page is written.
type system struct {
	M       *Machine // the machine that answers: an impostor where cables are crossed
	Now     time.Time
	Booted  time.Time
	BootID  string
	Cmdline string
	IOMMU   bool
	Load    time.Duration // how long the load has run; 0 when idle
	Worked  time.Duration // how long the GPU loads of this boot ran altogether
	Read    time.Duration // how long the drives of this boot were read
	Fell    time.Time     // when a GPU fell off the bus; zero: none did
}

// fallAfter is how long under load a GPU with FallsUnderLoad holds on.
const fallAfter = 1500 * time.Millisecond

// hostname of the node.
func (s *system) hostname() string { return "sim-" + strings.ToLower(s.M.SystemSerial) }

// lost reports whether g has left the bus.
func (s *system) lost(g *GPU) bool { return g.FallsUnderLoad && !s.Fell.IsZero() }

// uptime is the monotonic clock of the kernel log.
func (s *system) uptime(t time.Time) float64 { return t.Sub(s.Booted).Seconds() + bootSeconds }

// bootSeconds stand on the kernel's clock when the simulated host becomes
// reachable: its pages are timed as on a machine that took so long to boot.
const bootSeconds = 41.5

// gpuNow is a GPU as nvidia-smi sees it at one moment.
type gpuNow struct {
	GPU
	Kind                           GPUKind
	Long, Bus                      string
	DeviceID, SubsystemID          string
	ModuleID, MIG                  string
	Busy                           bool
	Gen, GraphicsMHz               int
	Utilisation, MemoryUtilisation int
	PState                         string
	Celsius, Margin, LimitWatts    int
	MemoryCelsius                  string
	Watts                          float64
	UsedMiB, FreeMiB, BAR1Free     int
	Transmit, Receive              int
	Fabric                         bool
	FabricState, FabricStatus      string
}

// gpus are the GPUs that the driver still has.
func (s *system) gpus() []gpuNow {
	var all []gpuNow
	for _, g := range s.M.GPUs {
		if !s.lost(&g) {
			all = append(all, s.gpu(g))
		}
	}
	return all
}

// gpu draws one GPU's state: idle, or warming up under load.
func (s *system) gpu(g GPU) gpuNow {
	k := s.M.GPUKind
	n := gpuNow{
		GPU: g, Kind: k, Long: longAddress(g.Address), Bus: longAddress(g.Address)[9:11],
		DeviceID: k.DeviceID + "10DE", SubsystemID: k.SubsystemID + "10DE", ModuleID: "N/A", MIG: "N/A",
		Busy: s.Load > 0, Gen: k.Gen, GraphicsMHz: 345, PState: "P0", Celsius: 29 + g.Index%4, MemoryCelsius: "N/A",
		Watts: 0.1*float64(k.Watts) + float64(g.Index%5)*0.61, BAR1Free: k.BAR1 - 1, Transmit: 500 + 7*g.Index, Receive: 570 + 5*g.Index,
		FabricState: "N/A", FabricStatus: "N/A", Fabric: k.Fabric,
	}
	if g.Module > 0 {
		n.ModuleID = itoa(g.Module)
	}
	if k.IdleGen > 0 {
		n.Gen, n.PState = k.IdleGen, "P8"
	}
	if k.MIG {
		n.MIG = "Disabled"
	}
	if n.Fabric {
		n.FabricState, n.FabricStatus = "Completed", "Success"
	}
	if n.Busy {
		n.warm(s.Load)
	}
	if k.Form == "sxm" {
		n.MemoryCelsius = itoa(n.Celsius+8) + " C"
	}
	n.Margin, n.LimitWatts = 87-n.Celsius, k.Watts
	if g.PowerLimit > 0 {
		n.LimitWatts = g.PowerLimit
	}
	n.FreeMiB = k.MiB - k.ReservedMiB - n.UsedMiB
	return n
}

// warm puts a GPU under load: it heats up over the first ten seconds.
func (n *gpuNow) warm(load time.Duration) {
	share := min(1, load.Seconds()/10)
	n.Gen, n.PState, n.Utilisation, n.MemoryUtilisation = n.Kind.Gen, "P0", 100, 87
	n.GraphicsMHz = n.Kind.GraphicsMHz - 15*(n.Index%3)
	n.Celsius += int(30 * share)
	if n.Hot { // it is past its limit within three seconds
		n.Celsius += int(61*min(1, load.Seconds()/3)) - int(30*share)
		n.GraphicsMHz /= 2
	}
	n.Watts = float64(n.Kind.Watts) * (0.86 + 0.12*share - 0.004*float64(n.Index%4))
	if n.PowerLimit > 0 {
		n.Watts = min(n.Watts, float64(n.PowerLimit)-0.8)
	}
	n.UsedMiB = n.Kind.MiB * 9 / 10
	n.Transmit, n.Receive = 4_120_000, 24_900_000*n.Width/16*n.Kind.Gen/5
}
