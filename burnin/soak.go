package burnin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// judgeSoak says how long the machine was under load, in how many spans, what interrupted
// them, and which hours of earlier attempts count: by that a machine that was loaded for
// minutes has not proven a day. found says of which class parts are. It gives nothing
// where the spec asks for no hours.
func judgeSoak(rec *Record, s *profiles.Spec, found []Finding) []Finding {
	if s.Soak.Hours <= 0 || rec.Meta.Coverage == CoverPartial {
		return nil
	}
	spans := spansOf(rec)
	clock := soaked(spans, s.Soak)
	var refs []string
	for _, span := range spans[clock.from:] {
		for _, l := range span.Loads {
			refs = append(refs, (&Evidence{Phase: PhaseLoad, Probe: l.Name, span: span.Folder}).Ref())
		}
	}
	f := About("soak", "hours", machinePart, refs...)
	f.Scope = s.ScopeOf(f.Check, f.Quantity)
	carried := rec.Meta.Carried.with(rec.Machine.Replacements, found, s)
	hours := (clock.seconds() + carried.counted()) / 3600
	f.Measured, f.Limit, f.Relation, f.Unit = tenths(hours*10)/10, s.Soak.Hours, string(profiles.Min), string(profiles.Hours)
	f.Provenance = &Provenance{Kind: "spec", Source: "spec " + s.Name}
	why := soakWords(spans, clock, s) + carried.words()
	if hours < s.Soak.Hours {
		return []Finding{f.Missing(fmt.Errorf("under load for %.2f h of the %.4g h that spec %s asks for; %s", hours, s.Soak.Hours, s.Name, why))}
	}
	return []Finding{f.Judged(Pass, fmt.Sprintf("under load for %.2f h of the %.4g h that spec %s asks for; %s", hours, s.Soak.Hours, s.Name, why))}
}

// soakWords tell of the spans: "in 2 spans (accumulated, 2 restarts and 4 pauses allowed);
// interrupted by a stop by a person at 2026-11-30 14:02 UTC".
func soakWords(spans []Span, clock *soakClock, s *profiles.Spec) string {
	counted := len(spans) - clock.from
	words := []string{fmt.Sprintf("in %s (%s)", plural(counted, "span"), rulesOf(s.Soak))}
	for i, span := range spans[:max(len(spans)-1, 0)] {
		text := fmt.Sprintf("interrupted by %s at %s", span.EndedBy.words(), span.Ended.UTC().Format("2006-01-02 15:04 UTC"))
		if len(span.Dead) > 0 {
			text += " (" + strings.Join(span.Dead, ", ") + ")"
		}
		if i == clock.from-1 {
			text += ": the clock began again there, " + clock.anew
		}
		words = append(words, text)
	}
	return strings.Join(words, "; ")
}

func rulesOf(rules profiles.Soak) string {
	if rules.Mode != profiles.Accumulated {
		return "uninterrupted"
	}
	return fmt.Sprintf("accumulated, %s and %s allowed", plural(rules.Restarts, "restart"), plural(rules.Pauses, "pause"))
}

// spansOf are the spans of a record with the times that their evidence shows: what
// evidence.json says of them alone proves nothing.
func spansOf(rec *Record) []Span {
	spans := slices.Clone(rec.Meta.Spans)
	if n := len(spans); n == 0 || spans[n-1].Folder != "" { // of an older rackproof; or the last one never ended
		spans = append(spans, Span{Started: rec.Meta.Started, Ended: rec.Meta.Ended})
	}
	for i := range spans {
		span, evidence := &spans[i], rec.Evidence
		if span.Folder != "" {
			evidence = rec.spanOf(span.Folder)
		}
		if i == len(spans)-1 {
			span.EndedBy = SpanDone // what was cut at last proves nothing
		}
		evidence = slices.DeleteFunc(slices.Clone(evidence), func(e *Evidence) bool { return e.BootID != "" && span.BootID != "" && e.BootID != span.BootID })
		span.Loads = withoutLost(spanTimes(evidence, span), rec.Meta.Dropped, span)
	}
	return spans
}

// loadedSeconds is how long the longest load ran that came to its own end.
func loadedSeconds(rec *Record) float64 {
	longest := 0.0
	for _, l := range loadsOf(rec) {
		if l.Whole {
			longest = max(longest, l.Seconds)
		}
	}
	return longest
}

// loadsOf lists the loads that ran and kept the machine busy; what measured alone is no
// part of the soak.
func loadsOf(rec *Record) []LoadTime {
	out := []LoadTime{}
	for _, l := range Loads() {
		for _, e := range rec.stretches(&l) {
			whole := e.Ended == EndedExit && e.Exit != nil && *e.Exit == 0
			out = append(out, LoadTime{Name: e.Name(), Seconds: e.Seconds, Whole: whole})
		}
	}
	return out
}
