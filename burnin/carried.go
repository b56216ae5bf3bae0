package burnin

import (
	"fmt"
	"slices"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// Carried are the hours under load of the attempts before this one, and what the repair
// between them does to these hours by the spec.
type Carried struct {
	Attempt  int            `json:"attempt"` // the last of them
	Seconds  float64        `json:"seconds"`
	Clock    profiles.Clock `json:"clock"`
	Repaired []Class        `json:"repaired,omitempty"` // classes of the parts that failed or were touched
	Manifest string         `json:"manifest,omitempty"` // SHA-256 of that attempt's SHA256SUMS
}

// CarryOn takes the hours of rec, the attempt before, into the next one. repaired are the
// classes of what was repaired since; none is a machine that nobody touched, whose hours
// go on where the spec adds them up.
func CarryOn(rec *Record, s *profiles.Spec, repaired []Class) *Carried {
	if s.Soak.Hours <= 0 {
		return nil
	}
	c := &Carried{Attempt: rec.Meta.Attempt, Seconds: soaked(spansOf(rec), s.Soak).seconds() + rec.Meta.Carried.counted(), Repaired: repaired}
	if len(rec.Manifest) > 0 {
		c.Manifest = sum(rec.Manifest)
	}
	switch {
	case len(repaired) > 0:
		for _, class := range repaired {
			c.Clock = c.Clock.Stricter(s.ClockOf(string(class)))
		}
	case s.Soak.Mode == profiles.Accumulated:
		c.Clock = profiles.ClockContinue
	default:
		c.Clock = profiles.ClockRestart
	}
	return c
}

// counted are the seconds that count for the whole machine. A part that came new has to be
// under load for all hours itself, so that with it all others are.
func (c *Carried) counted() float64 {
	if c == nil || c.Clock != profiles.ClockContinue {
		return 0
	}
	return c.Seconds
}

// with takes in the parts that turned out to be new in the machine, whatever was said of
// the repair. One that no finding names is of a class that nobody knows.
func (c *Carried) with(replacements []string, found []Finding, s *profiles.Spec) *Carried {
	if c == nil || len(replacements) == 0 {
		return c
	}
	out := *c
	out.Repaired = slices.Clone(c.Repaired)
	for _, serial := range replacements {
		class := Class("")
		for _, f := range found {
			if f.Serial == serial {
				class = f.Class
				break
			}
		}
		out.Clock = out.Clock.Stricter(s.ClockOf(string(class)))
		out.Repaired = append(out.Repaired, class)
	}
	return &out
}

// words say what became of the earlier hours; "" where there are none.
func (c *Carried) words() string {
	if c == nil || c.Seconds <= 0 {
		return ""
	}
	hours := fmt.Sprintf("%.2f h of attempt %d", c.Seconds/time.Hour.Seconds(), c.Attempt)
	behind := ""
	if len(c.Repaired) > 0 {
		var names []string
		for _, class := range c.Repaired {
			names = append(names, firstWord(string(class), "a part that is not known"))
		}
		slices.Sort(names)
		behind = " after a repair of " + list(slices.Compact(names))
	}
	switch c.Clock {
	case profiles.ClockContinue:
		return "; " + hours + " count" + behind
	case profiles.ClockPart:
		return "; " + hours + " count for the parts that stayed, and not for what came new" + behind
	default:
		return "; " + hours + " do not count" + behind
	}
}
