package burnin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// moduleSpeed judges the speed of one module where the order states one; else it is recorded, with why it is below
// what the module is rated for: two modules on a channel slow it down on every machine, and that is no fault.
func moduleSpeed(f Finding, m *DMIModule, shared bool, p *profiles.Profile) Finding {
	f = f.number(m.Configured, profiles.MTPerSecond, p.Memory.Speed)
	if !m.Configured.Set || !m.Speed.Set || m.Configured.V >= m.Speed.V || f.Verdict == Pass {
		return f
	}
	words := fmt.Sprintf("runs at %g of its rated %g MT/s", m.Configured.V, m.Speed.V)
	switch two := p.Memory.SpeedTwoPerChannel; {
	case shared && two.Set():
		words += fmt.Sprintf(": two modules share its channel, for which %s are stated (%s)", two, two.Source)
	case shared:
		words += ": two modules share its channel, which slows it down; half as many of twice the size run faster"
	default:
		words += ": processor, another module or a BIOS setting holds it back; an order that is owed more states dimm_speed"
	}
	return f.Because("%s", words)
}

// sharedChannels tells for each populated module whether another one is on its channel, by its place as the board
// labels it. A board whose labels do not tell channels shares none.
func sharedChannels(modules []DMIModule) map[string]bool {
	on := map[dimmPlace][]string{}
	for i := range modules {
		place, ok := placeOf(modules[i].Locator, modules[i].Bank)
		if !ok || place.channel == "" {
			continue
		}
		place.slot = ""
		on[place] = append(on[place], modules[i].Locator+modules[i].Bank)
	}
	shared := map[string]bool{}
	for _, names := range on {
		for _, name := range names {
			shared[name] = len(names) > 1
		}
	}
	return shared
}

// modulesAlike says where modules are not of one kind. The slowest sets the speed of all, which is worth a remark;
// another part number alone is recorded, because a spare of another maker is no fault.
func modulesAlike(about func(string, Part) Finding, modules []DMIModule, p *profiles.Profile) []Finding {
	speeds, numbers, untold := map[string]int{}, map[string]int{}, ""
	for i := range modules {
		if modules[i].Speed.Set {
			speeds[fmt.Sprintf("%g MT/s", modules[i].Speed.V)]++
		} else {
			untold = modules[i].Locator
		}
		if modules[i].PartNumber != "" {
			numbers[modules[i].PartNumber]++
		}
	}
	out := []Finding{ratedSpeeds(about("rated_speeds", memoryPart), speeds, untold, p.Memory.RatedSpeeds)}
	if len(numbers) > 1 {
		out = append(out, about("part_numbers", memoryPart).Number(float64(len(numbers)), profiles.Count, nil).
			Because("modules of several part numbers: %s", countedWords(numbers)))
	}
	return out
}

// ratedSpeeds judges of how many speeds the modules are; untold is one whose speed nobody knows. More than every
// machine should have is a remark, more than was agreed for this one is a fault.
func ratedSpeeds(f Finding, speeds map[string]int, untold string, limit *profiles.Limit) Finding {
	judged := f.Number(float64(len(speeds)), profiles.Count, limit)
	switch {
	case judged.Verdict == Fail:
		verdict := Warn
		if limit.Provenance == profiles.FromAgreed {
			verdict = Fail
		}
		judged.Class = ClassOrder
		return judged.Judged(verdict, "modules of several speeds: "+countedWords(speeds)+"; all run at that of the slowest")
	case untold != "":
		return f.absent(fmt.Errorf("dmidecode does not tell for which speed the module in %s is rated", untold), limit)
	}
	return judged
}

// countedWords is "12 x A, 4 x B", the most of them first.
func countedWords(counts map[string]int) string {
	words := sortedKeys(counts)
	slices.SortStableFunc(words, func(a, b string) int { return counts[b] - counts[a] })
	for i, w := range words {
		words[i] = fmt.Sprintf("%d x %s", counts[w], w)
	}
	return strings.Join(words, ", ")
}

// asOrdered makes a remark of empty channels that the order itself leaves empty: all its modules are there, they are
// spread as evenly as they can be, and they are too few.
func (v *memoryView) asOrdered(f Finding, used, cpus int, p *profiles.Profile) Finding {
	ordered, want := p.Memory.DIMMs, p.Memory.ChannelsPerSocket
	if f.Verdict != Fail || !ordered.Set() || ordered.Relation != profiles.Equal || cpus == 0 {
		return f
	}
	modules, channels := int(ordered.Number(profiles.Count)), int(want.Number(profiles.Count))
	if len(v.filled(true)) != modules || modules >= channels*cpus || used < modules/cpus {
		return f
	}
	f.Class = ClassOrder
	return f.Judged(Warn, fmt.Sprintf("%s; the %d modules ordered leave %d of %d channels of each CPU empty, and as much of the memory's bandwidth unused: %d modules fill them",
		f.Why, modules, channels-used, channels, channels*cpus))
}
