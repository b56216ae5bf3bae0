package burnin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// bmcSEL asks whether the BMC logged a fault of the hardware since the test began.
// What its words mean stands in the catalogue. What is older is recorded, and on new
// machines told where it was damage.
var bmcSEL = Check{
	Name:   "bmc.sel",
	Title:  "The BMC logged no fault of the hardware",
	Probes: []string{"bmc-sel"},
	BMC:    true,
	Judge:  judgeBMCSEL,
}

func judgeBMCSEL(r *Readings, p *profiles.Profile, s *profiles.Spec) []Finding {
	w := watchEvents(r)
	about := func(quantity string, part Part) Finding { return About("bmc.sel", quantity, part, w.refs...) }
	out, open := w.judgeFresh(r, p, about)
	all := about("events", machinePart)
	all.Measured, all.Unit = float64(len(w.fresh)), string(profiles.Count)
	switch {
	case open != nil:
		out = append(out, all.Missing(open))
	case !slices.ContainsFunc(out, func(f Finding) bool { return f.Verdict == Fail }):
		out = append(out, all.Judged(Pass, fmt.Sprintf("%d new entries, and none of them a fault", len(w.fresh))))
	}
	return append(out, w.judgeEarlier(r, p, s, about)...)
}

// eventGroup are the entries of one meaning about one part.
type eventGroup struct {
	name string // of the rule; "" = no rule knows them
	rule profiles.EventRule
	part Part
	list []LogEvent
}

// last is the entry that says most: the last one that asserts.
func (g eventGroup) last() LogEvent {
	for _, e := range slices.Backward(g.list) {
		if !e.over() {
			return e
		}
	}
	return g.list[len(g.list)-1]
}

// asserted counts the entries that say that something is so.
func (g eventGroup) asserted() int {
	n := 0
	for _, e := range g.list {
		if !e.over() {
			n++
		}
	}
	return n
}

// over reports an entry that says that something is no longer so.
func (e LogEvent) over() bool {
	if e.Asserted.Set {
		return !e.Asserted.V
	}
	return strings.Contains(strings.ToLower(e.Event), "deassert")
}

// isOver reports whether every state that the entries assert was taken back later.
func (g eventGroup) isOver() bool {
	on := map[string]bool{}
	for _, e := range g.list {
		on[e.state()] = !e.over()
	}
	for _, still := range on {
		if still {
			return false
		}
	}
	return true
}

// ofLog reports events about the log itself.
func (g eventGroup) ofLog() bool { return g.name != "" && g.part == machinePart }

// why is what the entries mean, and the one that says most.
func (g eventGroup) why() string {
	return firstWord(g.rule.Meaning, "No rule knows this entry.") + " " + g.last().String()
}

// judgeFresh judges the entries of the test. open is why silence would prove nothing.
func (w *eventWatch) judgeFresh(r *Readings, p *profiles.Profile, about func(string, Part) Finding) (out []Finding, open error) {
	open = w.open
	for _, g := range groupEvents(r, p, w.fresh) {
		verdict := g.verdict(p)
		switch {
		case g.asserted() == 0: // the end of a state that was there before
		case verdict == Pass:
		case verdict == Unknown && g.ofLog():
			if !w.lone { // whoever cleared a log that stands alone did so before all that is in it
				open = errors.Join(open, errors.New(g.why()))
			}
		default:
			out = append(out, w.judgeGroup(about(firstWord(g.name, "unknown_event"), g.part), g, verdict, p))
		}
	}
	return out, open
}

// judgeGroup judges entries of one meaning about one part.
func (w *eventWatch) judgeGroup(f Finding, g eventGroup, verdict Verdict, p *profiles.Profile) Finding {
	f.Measured, f.Unit = float64(g.asserted()), string(profiles.Count)
	f.Provenance = &Provenance{Kind: string(profiles.FromSpec), Source: firstWord(g.rule.Source, "severity as the BMC gives it")}
	switch {
	case g.rule.Verdict == profiles.Corrected:
		return w.judgeCorrected(f, g, p).Because("%s", g.why())
	case verdict == Unknown:
		return f.Missing(errors.New(g.why()))
	case verdict == Fail && g.rule.Passing && (w.lone || g.isOver()):
		return f.Judged(Warn, g.why()+w.passed())
	}
	return f.Judged(verdict, g.why())
}

// passed says why a fault is only a warning.
func (w *eventWatch) passed() string {
	if w.lone {
		return " (it is on record, from before or during this test)"
	}
	return " (over by the end of the test)"
}

// judgeCorrected counts corrected memory errors into the limit of the profile.
func (w *eventWatch) judgeCorrected(f Finding, g eventGroup, p *profiles.Profile) Finding {
	if w.lone || !p.Memory.Corrected.Set() {
		return f.Judged(Warn, "")
	}
	return f.Number(float64(g.asserted()), profiles.Count, p.Memory.Corrected)
}

// verdict is that of the rule, else that of the severity which the BMC gives.
func (g eventGroup) verdict(p *profiles.Profile) Verdict {
	if g.name != "" {
		return eventVerdicts[g.rule.Verdict]
	}
	worst := Pass
	for _, e := range g.list {
		if e.over() {
			continue
		}
		severity := firstWord(strings.ToLower(e.Severity), "none")
		word, ok := p.EventsElse[severity]
		if !ok {
			word = p.EventsElse["none"]
		}
		verdict, ok := eventVerdicts[word]
		if !ok {
			verdict = Unknown // a profile of before there was a catalogue of events
		}
		worst = Worse(worst, verdict)
	}
	return worst
}

// groupEvents sorts entries by what they mean and which part they are about.
func groupEvents(r *Readings, p *profiles.Profile, events []LogEvent) []eventGroup {
	var groups []eventGroup
	at := map[string]int{}
	for _, e := range events {
		name, rule, _ := p.EventOf(e.words())
		part := eventPart(r, p, rule, e)
		key := name + "\x00" + part.Name
		if name == "" {
			key += "\x00" + e.Severity + e.Event
		}
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key] = i
			groups = append(groups, eventGroup{name: name, rule: rule, part: part})
		}
		groups[i].list = append(groups[i].list, e)
	}
	return groups
}

// eventPart is the part that an entry is about: of the rule's class, else by the
// entry's own words.
func eventPart(r *Readings, p *profiles.Profile, rule profiles.EventRule, e LogEvent) Part {
	class := Class(rule.Part)
	switch {
	case class == classGPU:
		class = gpuClass(p)
	case class == "" && (rule.Verdict == "pass" || rule.Verdict == "unknown"):
		return machinePart
	case class == "":
		class = bmcClass(strings.Join([]string{e.Sensor, e.Kind, e.Event}, " "), "", p)
	}
	name := e.Sensor
	if strings.Contains(name, "#0x") {
		name = ""
	}
	return bmcPart(r, class, e.Sensor+" "+e.Event, name)
}

// judgeEarlier tells what the log held before the test. Of new machines damage is
// judged as the catalogue says; all else is only recorded.
func (w *eventWatch) judgeEarlier(r *Readings, p *profiles.Profile, s *profiles.Spec, about func(string, Part) Finding) []Finding {
	if w.lone {
		return nil
	}
	var out []Finding
	if s.Condition == profiles.New {
		for _, g := range groupEvents(r, p, w.earlier) {
			if g.rule.Earlier == "" || g.asserted() == 0 {
				continue
			}
			f := about("earlier_"+g.name, g.part)
			f.Measured, f.Unit = float64(g.asserted()), string(profiles.Count)
			out = append(out, f.Judged(eventVerdicts[g.rule.Earlier], "On record from before the test: "+g.last().String()))
		}
	}
	f := about("earlier_events", machinePart)
	f.Measured, f.Unit = float64(len(w.earlier)), string(profiles.Count)
	f.Why = fmt.Sprintf("%d entries are older than the test: recorded", len(w.earlier))
	return append(out, f.recorded())
}
