package burnin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// missing names the sockets whose module is not there: those that the BMC sees
// filled and the host does not, else by subtraction from the number that the profile
// wants. certain is false when there are more empty sockets than missing modules and
// nothing tells which of them it is.
func (v *memoryView) missing(want *profiles.Limit) (labels []string, certain bool) {
	if seen := v.seenByBMC(); len(seen) > 0 {
		return seen, true
	}
	if !want.Set() || want.Relation == profiles.Max {
		return nil, false
	}
	short := int(want.Number(profiles.Count)) - len(v.filled(true))
	if short <= 0 {
		return nil, false
	}
	empty := v.filled(false)
	twins := slices.DeleteFunc(slices.Clone(empty), func(d dimm) bool { return !v.twinFilled(d) })
	switch {
	case len(empty) == short:
		return labelsOf(empty), true
	case len(twins) == short:
		return labelsOf(twins), true
	case len(twins) > short:
		return labelsOf(twins), false
	default:
		return labelsOf(empty), false
	}
}

func labelsOf(ds []dimm) []string {
	out := make([]string, len(ds))
	for i, d := range ds {
		out[i] = d.label
	}
	return out
}

// seenByBMC are the modules that the BMC sees and the host does not. It is believed
// only where every module of the host is found in the BMC's list, so that names that
// do not join cannot make a module missing.
func (v *memoryView) seenByBMC() []string {
	hostHas := func(b BMCPart) bool {
		return slices.ContainsFunc(v.filled(true), func(d dimm) bool { return joins(d, b) })
	}
	for _, d := range v.filled(true) {
		if !slices.ContainsFunc(v.bmc, func(b BMCPart) bool { return joins(d, b) }) {
			return nil
		}
	}
	var out []string
	for _, b := range v.bmc {
		if b.Present && !hostHas(b) {
			out = append(out, b.Label)
		}
	}
	return out
}

func joins(d dimm, b BMCPart) bool {
	return sameLabel(d.label, b.Label) || d.serial != "" && sameModule(d.serial, b.Serial)
}

// twinFilled reports whether the same socket of another processor is filled:
// modules are put in alike, so an empty socket with filled twins misses its own.
func (v *memoryView) twinFilled(d dimm) bool {
	if !d.placed {
		return false
	}
	return slices.ContainsFunc(v.filled(true), func(o dimm) bool {
		return o.placed && o.place.cpu != d.place.cpu && o.place.channel == d.place.channel && o.place.slot == d.place.slot
	})
}

// channels judges for each processor how many of its channels have a module.
func (v *memoryView) channels(about func(string, Part) Finding, p *profiles.Profile) []Finding {
	want := p.Memory.ChannelsPerSocket
	used, err := v.channelsUsed()
	if err != nil {
		f := about("channels", memoryPart)
		if len(v.filled(false)) == 0 {
			return []Finding{f.Judged(Pass, "no socket is empty, so every channel has a module")}
		}
		return []Finding{f.absent(err, want)}
	}
	var out []Finding
	for _, cpu := range sortedKeys(used) {
		part := Part{Class: ClassDIMM, Name: "memory of CPU " + cpu}
		f := about("channels", part).Number(float64(len(used[cpu])), profiles.Count, want).
			Because("%d channels of CPU %s have a module", len(used[cpu]), cpu)
		out = append(out, v.asOrdered(f, len(used[cpu]), max(v.cpus, len(used)), p))
	}
	if v.cpus > len(used) {
		part := Part{Class: ClassDIMM, Name: "memory of the other CPU"}
		out = append(out, about("channels", part).Number(0, profiles.Count, want).
			Because("%d processors, and only %d of them have memory", v.cpus, len(used)))
	}
	return out
}

// channelsUsed lists for each processor the channels that have a module.
func (v *memoryView) channelsUsed() (map[string]map[string]bool, error) {
	used := map[string]map[string]bool{}
	for _, d := range v.filled(true) {
		if !d.placed || d.place.channel == "" {
			return nil, fmt.Errorf("the board calls its sockets %q …, which does not tell channels, and the BMC does not either", d.label)
		}
		cpu := strings.TrimSpace(d.place.cpu)
		if used[cpu] == nil {
			used[cpu] = map[string]bool{}
		}
		used[cpu][d.place.channel] = true
	}
	if len(used) == 0 {
		return nil, errors.New("no module is there")
	}
	return used, nil
}
