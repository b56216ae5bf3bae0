package burnin

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// Number judges a measured number in unit against a limit of the profile. A limit that
// the profile does not have makes the finding recorded: printed, never a pass.
func (f Finding) Number(value float64, unit profiles.Unit, l *profiles.Limit) Finding {
	f.Measured, f.Unit = value, string(unit)
	if !l.Set() {
		return f.recorded()
	}
	f = f.against(l)
	want := l.Number(unit)
	if math.IsNaN(want) || math.IsNaN(value) {
		f.Measured = nil
		return f.Missing(fmt.Errorf("%s of %s cannot be compared with %s", f.Quantity, f.Part, l))
	}
	f.Limit = want
	ok := false
	switch l.Relation {
	case profiles.Min:
		ok = value >= want
	case profiles.Max:
		ok = value <= want
	case profiles.Equal:
		ok = value == want
	default:
		return f.Missing(fmt.Errorf("profile limit of %s is %q, which does not suit a number", f.Check, l.Relation))
	}
	return f.decide(ok)
}

// Word judges a word that was measured against a limit of the profile, without regard to case.
func (f Finding) Word(word string, l *profiles.Limit) Finding {
	f.Measured = word
	if !l.Set() {
		return f.recorded()
	}
	f = f.against(l)
	f.Limit = strings.Join(l.Text, " | ")
	if l.Relation != profiles.Equal && l.Relation != profiles.OneOf {
		return f.Missing(fmt.Errorf("profile limit of %s is %q, which does not suit a word", f.Check, l.Relation))
	}
	return f.decide(slices.ContainsFunc(l.Text, func(w string) bool { return strings.EqualFold(w, word) }))
}

// Judged sets a verdict that is no comparison with one limit, and its reason.
func (f Finding) Judged(v Verdict, why string) Finding {
	f.Verdict, f.Why = v, why
	return f
}

// Because adds the sentence for people.
func (f Finding) Because(format string, args ...any) Finding {
	f.Why = fmt.Sprintf(format, args...)
	return f
}

// NotHere says that the profile has no such part or quantity.
func (f Finding) NotHere(why string) Finding {
	f.Verdict, f.Why = NotApplicable, why
	return f
}

func (f Finding) against(l *profiles.Limit) Finding {
	f.Relation = string(l.Relation)
	f.Provenance = &Provenance{Kind: string(l.Provenance), Source: l.Source}
	return f
}

func (f Finding) recorded() Finding {
	f.Verdict, f.Scope = NotApplicable, profiles.Recorded
	if f.Why == "" {
		f.Why = "the profile has no limit for it: recorded"
	}
	return f
}

func (f Finding) decide(ok bool) Finding {
	f.Verdict = Fail
	if ok {
		f.Verdict = Pass
	}
	return f
}
