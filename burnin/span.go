package burnin

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// Span is one stretch of an attempt under load. Its evidence lies in Folder, or in the
// phase folders of the attempt where it is the last one.
type Span struct {
	Folder  string     `json:"folder,omitempty"` // "span-01", with the phases load and, where its boot ended with it, before
	BootID  string     `json:"boot_id"`
	Started time.Time  `json:"started"` // our clock
	Ended   time.Time  `json:"ended"`
	EndedBy SpanEnd    `json:"ended_by"`
	Dead    []string   `json:"dead,omitempty"` // loads that died before their time, without naming a part
	Loads   []LoadTime `json:"loads"`          // as its evidence has them
}

// SpanEnd says how a span ended.
type SpanEnd string

// Ends of spans.
const (
	SpanDone     SpanEnd = "done"
	SpanReboot   SpanEnd = "reboot"    // or a loss of power: the node is another boot
	SpanDeadLoad SpanEnd = "dead-load" // a load died, and no part was at fault
	SpanStop     SpanEnd = "stop"      // by a person
	SpanDeadMan  SpanEnd = "dead-man"  // the node heard nothing of us for too long
)

// words tell what interrupted a span.
func (e SpanEnd) words() string {
	switch e {
	case SpanReboot:
		return "a reboot or loss of power"
	case SpanDeadLoad:
		return "a load that died"
	case SpanStop:
		return "a stop by a person"
	case SpanDeadMan:
		return "the dead-man timer"
	case SpanDone:
	}
	return string(e)
}

// soakClock is the time under load that counts after all spans, by the rules of a spec.
type soakClock struct {
	by               map[string]float64 // seconds, by what was loaded
	from             int                // first span that counts
	restarts, pauses int                // of those spans
	anew             string             // why the clock began again; "" = it did not
}

// count adds spans up. What ended the last one interrupts nothing yet.
func (s *soakClock) count(spans []Span, rules profiles.Soak) {
	s.by = map[string]float64{}
	for i, span := range spans {
		for _, l := range span.Loads {
			s.by[loadedBy(l.Name)] += l.Seconds
		}
		if i < len(spans)-1 {
			s.interrupt(i, span, rules)
		}
	}
}

// interrupt lets the clock go on over the end of a span, or begin again.
func (s *soakClock) interrupt(i int, span Span, rules profiles.Soak) {
	switch span.EndedBy {
	case SpanReboot, SpanDeadLoad:
		s.restarts++
	case SpanStop:
		s.pauses++
	case SpanDeadMan, SpanDone: // nobody's doing: what ran until then has run
	}
	why := ""
	switch {
	case rules.Mode != profiles.Accumulated:
		why = "the spec wants it uninterrupted"
	case s.restarts > rules.Restarts:
		why = fmt.Sprintf("the spec allows %d restarts", rules.Restarts)
	case s.pauses > rules.Pauses:
		why = fmt.Sprintf("the spec allows %d pauses", rules.Pauses)
	default:
		return
	}
	*s = soakClock{by: map[string]float64{}, from: i + 1, anew: why}
}

// seconds is the time of what was loaded least; 0 where nothing was.
func (s *soakClock) seconds() float64 {
	least := math.Inf(1)
	for _, v := range s.by {
		least = min(least, v)
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}

// soaked is the clock after spans. A spec that asks for no hours has none.
func soaked(spans []Span, rules profiles.Soak) *soakClock {
	s := &soakClock{by: map[string]float64{}}
	if rules.Hours > 0 {
		s.count(spans, rules)
	}
	return s
}

// goesOn reports whether the clock goes on after span, which comes behind spans.
func goesOn(spans []Span, span Span, rules profiles.Soak) bool {
	if rules.Hours <= 0 {
		return false
	}
	all := append(append([]Span{}, spans...), span, Span{}) // the one that would follow
	return soaked(all, rules).from < len(all)-1
}

// loadedBy is what a load keeps busy: time under load adds up by that, whichever
// program did it.
func loadedBy(name string) string {
	for _, l := range Loads() {
		if l.Name == name {
			return className(l.Busy[0])
		}
	}
	return name
}

// spanTimes are the loads of a span and how long each kept its parts busy. One that came
// to its end counts; one that was cut counts where cut is set, until it was last seen. A
// load that died or found a fault counts for nothing.
func spanTimes(evidence []*Evidence, span *Span) []LoadTime {
	out := []LoadTime{}
	for _, l := range Loads() {
		for _, e := range evidence {
			if e.Phase == PhaseLoad && e.Probe == l.Name && e.Instance == "" && l.Alone == 0 && e.Ended != EndedNoTool {
				out = append(out, l.timeOf(e, span))
			}
		}
	}
	return out
}

func (l *Load) timeOf(e *Evidence, span *Span) LoadTime {
	t := LoadTime{Name: l.Name, Seconds: e.Seconds, Whole: l.failed(e) == nil}
	cut := span.EndedBy != SpanDone && e.Exit == nil && !l.complains(e)
	for _, dead := range span.Dead {
		cut = cut && dead != l.Name
	}
	if !t.Whole && !cut {
		t.Seconds = 0
	}
	return t
}

// complains reports whether a load says that it found a fault.
func (l *Load) complains(e *Evidence) bool {
	said := string(e.Out) + "\n" + string(e.Err)
	for _, word := range l.Bad {
		if strings.Contains(said, word) {
			return true
		}
	}
	return false
}
