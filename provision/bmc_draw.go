package provision

import (
	"context"
	"strconv"
	"strings"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/redfish"
)

// saw takes from a reading what concerns the machine's rack.
func (s *bmcSource) saw(ctx context.Context, list []redfish.Sensor) {
	s.supply.see(list, s.env.Profile)
	if s.phase != burnin.PhaseLoad {
		return
	}
	if watts := drawn(list); watts > 0 {
		s.drawing.read(watts)
		if d, ok := s.env.rec.(Drawer); ok {
			d.Draws(watts)
		}
	}
	if what := s.supply.failed(); what != "" {
		s.env.powerEvent(ctx, s.env.Machine.Name+": "+what, s.env.Machine.Name)
	}
}

// drawn is what a machine draws by its BMC, in W; 0 where no reading is of the whole
// machine. That is PowerConsumedWatts of PowerControl, or what its power supplies take in
// where each of them says so; of the two the higher, because a rack must carry it.
func drawn(list []redfish.Sensor) float64 {
	control, inputs := 0.0, 0.0
	read, supplies := 0, 0
	for _, s := range list {
		switch {
		case s.Kind == redfish.Discrete && s.Context == "PowerSupply" && s.State == "Enabled" && !strings.Contains(s.Source, "edundancy"):
			supplies++
		case s.Kind != redfish.PowerDraw || s.Reading == nil:
		case s.Context == "PowerSupply" && strings.HasSuffix(s.Name, " input"):
			inputs += *s.Reading
			read++
		case strings.Contains(s.Source, "/PowerControl"):
			control = max(control, *s.Reading)
		}
	}
	if read < supplies {
		inputs = 0
	}
	return max(control, inputs)
}

// Drawing is the machine with what it draws under load: what its profile says, until its
// BMC was read under load in this run.
func (m *MachineRun) Drawing() Machine {
	out := m.Machine
	if watts, err := strconv.ParseFloat(m.Facts[FactDraw], 64); err == nil && watts > 0 {
		out.LoadedWatts = watts
	}
	return out
}
