package burnin

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// judgeSpans judges what interrupted spans have left by the same checks, against what
// was measured around them: a fault in one of them is a fault of the machine. Findings
// that are worse than the judgement's take their place. What a span without an end could
// not show stays open, and is told.
func (j *Judgement) judgeSpans(rec *Record, p *profiles.Profile, s *profiles.Spec) {
	for i, span := range rec.Meta.Spans {
		if span.Folder == "" {
			continue
		}
		one := Judgement{Coverage: rec.Meta.Coverage}
		part := recordOfSpan(rec, i)
		r := NewReadings(part)
		for _, c := range Checks() {
			one.add(r, c, p, s)
		}
		one.dropOtherMachine()
		when := fmt.Sprintf(" (in span %d of %d, until %s)", i+1, len(rec.Meta.Spans), span.Ended.UTC().Format("2006-01-02 15:04 UTC"))
		for _, f := range one.Findings {
			if f.Verdict == Fail || f.Verdict == Warn {
				f.Evidence = span.cite(f.Evidence)
				j.worsen(f, when)
			}
		}
		if open := j.openIn(&one, span, i); open != nil && !measuredBehind(rec, span.BootID) {
			j.NotRun = append(j.NotRun, *open)
		}
	}
}

// cite names evidence as it lies on disk: what stood for a measurement behind the span is a
// sample in it.
func (s *Span) cite(refs []string) []string {
	var out []string
	for _, ref := range refs {
		if strings.HasPrefix(ref, string(PhaseLoad)+"/") {
			ref = s.Folder + "/" + ref
		}
		ref = strings.Replace(ref, s.Folder+"/"+string(PhaseAfter)+"/", s.Folder+"/"+string(PhaseLoad)+"/", 1)
		if ref == s.Folder+"/"+string(PhaseLoad)+"/"+KernelLog.Spec.Name {
			ref = s.Folder + "/" + string(PhaseLoad) + "/" + followUnit
		}
		if !slices.Contains(out, ref) {
			out = append(out, ref)
		}
	}
	return out
}

// worsen takes a finding of an earlier span over, where the judgement has none as bad.
func (j *Judgement) worsen(f Finding, when string) {
	f.Why += when
	for i := range j.Findings {
		if j.Findings[i].ID != f.ID {
			continue
		}
		if j.Findings[i].Verdict < f.Verdict {
			j.Findings[i] = f
		}
		return
	}
	j.Findings = append(j.Findings, f)
}

// openIn says what the judgement proves and a span does not whose boot went down: nobody
// measured behind it. A span whose boot goes on leaves nothing open: what was measured
// before it and after the last one holds for it too.
func (j *Judgement) openIn(one *Judgement, span Span, i int) *NotRun {
	proven := map[string]bool{}
	for _, f := range j.Findings {
		proven[f.Check+"/"+f.Quantity] = f.Scope == profiles.Required && f.Verdict == Pass
	}
	var open []string
	for _, n := range one.NotRun {
		if proven[n.Check+"/"+n.Quantity] && !slices.Contains(open, n.Check) {
			open = append(open, n.Check)
		}
	}
	if len(open) == 0 {
		return nil
	}
	return &NotRun{
		Check: "soak", Quantity: "span", Part: fmt.Sprintf("span %d", i+1), Scope: profiles.Recorded, // the spec lets the clock go on over it
		Why: fmt.Sprintf("its boot %.8s went down at %s and nobody measured behind it; what the last samples do not show is not proven over it, of: %s",
			span.BootID, span.Ended.UTC().Format("2006-01-02 15:04 UTC"), strings.Join(open, ", ")),
	}
}

// recordOfSpan is the record as if the attempt had only had one of its earlier spans:
// before and after it what was measured in the same boot. Where that boot went down in it,
// the last samples stand for what nobody could measure behind it.
func recordOfSpan(rec *Record, i int) *Record {
	span := rec.Meta.Spans[i]
	one := *rec
	one.Earlier, one.Meta.Spans, one.Meta.Restarts = nil, nil, nil
	one.Evidence = nil
	ended := measuredBehind(rec, span.BootID)
	for _, e := range rec.all() {
		switch {
		case e.Phase == PhaseBMC && e.span == "":
			one.Evidence = append(one.Evidence, e)
		case e.Phase == PhaseLoad && e.span == span.Folder:
			one.Evidence = append(one.Evidence, e.asCut())
			if e.Probe == followUnit && !ended {
				one.Evidence = append(one.Evidence, e.asKernelLog())
			}
			if last := e.lastSample(); last != nil && !ended {
				one.Evidence = append(one.Evidence, last)
			}
		case (e.Phase == PhaseBefore || e.Phase == PhaseAfter) && e.BootID == span.BootID:
			one.Evidence = append(one.Evidence, e)
		}
	}
	return &one
}

// measuredBehind reports whether a boot was measured after its loads.
func measuredBehind(rec *Record, boot string) bool {
	return slices.ContainsFunc(rec.Evidence, func(e *Evidence) bool { return e.Phase == PhaseAfter && e.BootID == boot })
}

// asCut is what a load printed until it was cut: how it would have ended nobody knows,
// and what it has said of faults is said.
func (e *Evidence) asCut() *Evidence {
	if e.Ended != EndedSignal && e.Ended != EndedLost || !isLoad(e.Probe) {
		return e
	}
	cut := *e
	cut.Ended = EndedUnknown
	return &cut
}

// lastSample is the last sample of a probe, as what was measured after its span.
func (e *Evidence) lastSample() *Evidence {
	if len(e.Samples) == 0 {
		return nil
	}
	s := e.Samples[len(e.Samples)-1]
	last := *e
	last.Phase, last.Out, last.Err, last.Samples, last.sample = PhaseAfter, s.Out, nil, nil, true
	last.Started = e.Started.Add(s.At.Sub(e.Samples[0].At))
	last.NodeClock = s.At.UTC().Format(time.RFC3339)
	last.Seal()
	if _, rc, ok := cutEndMark(s.Out); ok {
		last.Ended, last.Exit = EndedExit, &rc
	}
	return &last
}
