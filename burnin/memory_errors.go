package burnin

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// memoryErrors asks whether memory lost or corrected data. Three sources see
// different things and none sees all: the kernel's counters (EDAC, or rasdaemon's
// view of them), rasdaemon's record of events, and the kernel's log. Where the
// firmware leaves the kernel nothing to count, the BMC's log stands in. Data that was
// lost counts absolutely, data that was corrected by its change over the run.
var memoryErrors = Check{
	Name:   "memory.errors",
	Title:  "No memory error was counted, recorded or logged",
	Probes: []string{"edac", "ras", "kernel-log", "bmc-sel"},
	AtBoot: []string{"uncorrected"},
	Judge:  judgeMemoryErrors,
}

func judgeMemoryErrors(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	ras := rasReadings(r)
	out, byBMC := memoryByBMC(r, p)
	if !byBMC {
		out = judgeMemoryCounters(r, ras, p)
	}
	return append(out, judgeMemoryEvents(r, ras, p)...)
}

// rasReadings reads rasdaemon by phase; its two answers may come as two files.
func rasReadings(r *Readings) []Reading[RASEvents] {
	out := phaseReadings(r, RAS)
	for _, phase := range machinePhases {
		all := ReadAll(r, RAS, phase)
		for _, name := range sortedKeys(all) {
			if name != "" {
				out = append(out, all[name])
			}
		}
	}
	return out
}

// counterReading are the counters of one phase.
type counterReading struct {
	ref    string
	err    error
	places []EDACPlace
	whole  bool // a place that is not there does not exist
}

// counterReadings takes the kernel's own counters, else those that rasdaemon shows.
func counterReadings(r *Readings, ras []Reading[RASEvents]) []counterReading {
	var out, second []counterReading
	good := false
	for _, e := range phaseReadings(r, EDAC) {
		good = good || e.OK()
		out = append(out, counterReading{e.Ref, e.Err, e.Value.Places, e.Value.Complete})
	}
	for _, e := range ras {
		if e.OK() && len(e.Value.Counts) > 0 {
			whole := e.Value.Complete || e.Evidence.Source == FromLoose
			second = append(second, counterReading{e.Ref, nil, e.Value.Counts, whole})
		}
	}
	if !good && len(second) > 0 {
		return second
	}
	return out
}

func judgeMemoryCounters(r *Readings, ras []Reading[RASEvents], p *profiles.Profile) []Finding {
	readings := counterReadings(r, ras)
	var refs []string
	for _, c := range readings {
		refs = append(refs, c.ref)
	}
	about := func(quantity string, part Part) Finding { return About("memory.errors", quantity, part, refs...) }
	open := countersOpen(readings)
	var out []Finding
	for _, id := range placesWithErrors(readings) {
		first, last := placeIn(readings[0], id), placeIn(readings[len(readings)-1], id)
		part := placePart(firstPlace(last, first))
		if worst := max(first.Uncorrected.V, last.Uncorrected.V); worst > 0 {
			out = append(out, about("uncorrected", part).Number(worst, profiles.Count, p.Memory.Uncorrected).
				Because("%s lost data: %.0f uncorrected errors", part.Name, worst).
				began(func() time.Time { return memoryErrorsBegan(r, id, EDACPlace.uncorrected) }))
		}
		if first.Corrected.V > 0 || last.Corrected.V > 0 {
			f := about("corrected", part)
			if open != nil && len(readings) > 1 {
				out = append(out, f.Missing(open))
				continue
			}
			out = append(out, f.sinceBoot(first.Corrected, last.Corrected, len(readings) > 1, p.Memory.Corrected).
				began(func() time.Time { return memoryErrorsBegan(r, id, EDACPlace.corrected) }))
		}
	}
	for _, quantity := range []string{"uncorrected", "corrected"} {
		out = append(out, restOfMemory(about(quantity, memoryPart), open, len(out) > 0, p))
	}
	return out
}

// restOfMemory answers for every place that counted nothing.
func restOfMemory(f Finding, open error, some bool, p *profiles.Profile) Finding {
	limit := p.Memory.Uncorrected
	if f.Quantity == "corrected" {
		limit = p.Memory.Corrected
	}
	if open != nil {
		return f.absent(open, limit)
	}
	f = f.Number(0, profiles.Count, limit)
	if some {
		return f.Because("none in the rest of memory")
	}
	return f.Because("no %s error in the whole memory", f.Quantity)
}

// countersOpen says why counters at zero prove nothing, or nil.
func countersOpen(readings []counterReading) error {
	if len(readings) == 0 {
		return fmt.Errorf("edac: %w", ErrNotRun)
	}
	for _, c := range readings {
		if c.err != nil {
			return c.err
		}
		if !c.whole {
			return errors.New("only some counters were shown; the others are not known to be zero")
		}
	}
	return nil
}

func placesWithErrors(readings []counterReading) []string {
	var ids []string
	for _, c := range readings {
		for _, place := range c.places {
			if place.Corrected.V > 0 || place.Uncorrected.V > 0 {
				ids = append(ids, place.ID)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func placeIn(c counterReading, id string) EDACPlace {
	for _, place := range c.places {
		if place.ID == id {
			return place
		}
	}
	return EDACPlace{}
}

func firstPlace(a, b EDACPlace) EDACPlace {
	if a.ID != "" {
		return a
	}
	return b
}

func placePart(p EDACPlace) Part {
	if p.Label == "" && !slices.Contains([]byte(p.ID), '/') {
		return Part{Class: ClassDIMM, Name: "memory behind controller " + p.ID}
	}
	return dimmPart(p.Name(), "")
}
