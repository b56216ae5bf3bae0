package burnin

import (
	"fmt"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// memoryEvent is one event of memory or of a processor's own checks, from
// rasdaemon's record or the kernel's log.
type memoryEvent struct {
	key   string // the same in every reading that shows it
	kind  EventKind
	count int
	label string
	text  string
	own   bool // of the processor, not of a module
	early bool // it was there before the load
	lone  bool // there is no earlier reading that could tell
}

// judgeMemoryEvents judges what was recorded and logged. It passes only on a kernel
// log that is whole: a recorder that did not run has recorded nothing either.
func judgeMemoryEvents(r *Readings, ras []Reading[RASEvents], p *profiles.Profile) []Finding {
	klog := phaseReadings(r, KernelLog)
	refs := append(refsOf(ras), refsOf(klog)...)
	f := About("memory.errors", "events", memoryPart, refs...)
	events := append(rasMemoryEvents(ras), logMemoryEvents(klog)...)
	var out []Finding
	for _, kinds := range [][]EventKind{{EventUncorrected, EventFatal}, {EventCorrected}} {
		some := ofKinds(events, kinds...)
		own, rest := ownAndOthers(some)
		for _, group := range [][]memoryEvent{own, rest} {
			if len(group) > 0 {
				out = append(out, judgeEventsOf(refs, group, p))
			}
		}
	}
	if unclear := ofKinds(events, EventUnclear); len(unclear) > 0 {
		out = append(out, f.Missing(fmt.Errorf("machine checks were logged, and not which: %s", unclear[0].text)))
	} else if silence := kernelSilence(klog); silence != nil {
		out = append(out, f.Missing(silence))
	}
	if len(out) > 0 {
		return out
	}
	f.Measured = 0.0
	return []Finding{f.Judged(Pass, "nothing recorded or logged")}
}

// judgeEventsOf judges events of one kind, all corrected or all not, all of the processor
// or none.
func judgeEventsOf(refs []string, events []memoryEvent, p *profiles.Profile) Finding {
	part := memoryPart
	for _, e := range events {
		switch {
		case e.own:
			part = processorsPart
		case e.label != "":
			part = dimmPart(e.label, "")
		}
	}
	all, fresh, lone := 0, 0, false
	for _, e := range events {
		all += e.count
		lone = lone || e.lone
		if !e.early {
			fresh += e.count
		}
	}
	last := events[len(events)-1].text
	if events[0].kind != EventCorrected {
		return About("memory.errors", "uncorrected_events", part, refs...).
			Number(float64(all), profiles.Count, p.Memory.Uncorrected).Because("uncorrected errors on record: %s", last)
	}
	f := About("memory.errors", "corrected_events", part, refs...)
	if lone && p.Memory.Corrected.Set() {
		f.Measured = float64(all)
		return f.Judged(Warn, fmt.Sprintf("%d corrected errors are on record, from before or during this test: %s", all, last))
	}
	return f.Number(float64(fresh), profiles.Count, p.Memory.Corrected).
		Because("%d new corrected errors on record, %d older: %s", fresh, all-fresh, last)
}

// ownAndOthers sets apart what the processor reports of itself: no module is swapped
// for it.
func ownAndOthers(events []memoryEvent) (own, others []memoryEvent) {
	for _, e := range events {
		if e.own {
			own = append(own, e)
		} else {
			others = append(others, e)
		}
	}
	return own, others
}

func ofKinds(events []memoryEvent, kinds ...EventKind) []memoryEvent {
	var out []memoryEvent
	for _, e := range events {
		for _, k := range kinds {
			if e.kind == k {
				out = append(out, e)
			}
		}
	}
	return out
}

func rasMemoryEvents(readings []Reading[RASEvents]) []memoryEvent {
	return eachOnce(readings, func(ras RASEvents) []memoryEvent {
		var out []memoryEvent
		for _, e := range ras.Events {
			if e.OfMemory() {
				out = append(out, memoryEvent{key: e.Text, kind: e.Kind, count: e.Count, label: e.Label, text: e.Text, own: processorsOwn(e.Text)})
			}
		}
		return out
	})
}

func logMemoryEvents(readings []Reading[KernelLogData]) []memoryEvent {
	return eachOnce(readings, func(log KernelLogData) []memoryEvent {
		var out []memoryEvent
		alike := map[string]int{} // a wall clock gives one stamp to all of a second
		for _, e := range log.Memory {
			line := e.Stamp + " " + e.Text
			alike[line]++
			out = append(out, memoryEvent{
				key: fmt.Sprintf("%s %d", line, alike[line]), kind: e.Kind, count: e.Count,
				label: plainIdentity(e.Part), text: strings.TrimSpace(e.Text), own: e.Own,
			})
		}
		return out
	})
}

// eachOnce takes the events of all readings, each once, by the phase in which it was
// first seen: what is on record before the load is on record behind it too.
func eachOnce[T any](readings []Reading[T], of func(T) []memoryEvent) []memoryEvent {
	_, before := inPhase(readings, PhaseBefore)
	_, after := inPhase(readings, PhaseAfter)
	seen := map[string]bool{}
	var out []memoryEvent
	for _, reading := range readings {
		if !reading.OK() {
			continue
		}
		for _, e := range of(reading.Value) {
			if seen[e.key] {
				continue
			}
			seen[e.key] = true
			e.early, e.lone = reading.Evidence.Phase == PhaseBefore, !before || !after
			out = append(out, e)
		}
	}
	return out
}
