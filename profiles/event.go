package profiles

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// EventRule says what an entry of a BMC's event log means, or the asserted state of one of its sensors. An entry is
// compared by the words of its sensor type, sensor, event and message together; upper case and punctuation do not
// count, and a word fits where a word of the entry begins with it ("fail" fits "failed").
type EventRule struct {
	Rank    int      `yaml:"rank" required:"true"` // of all rules that fit, the one with the lowest counts
	Any     []string `yaml:"any" required:"true"`  // one of these is there
	All     []string `yaml:"all,omitempty"`        // and each of these
	None    []string `yaml:"none,omitempty"`       // and none of these
	Part    string   `yaml:"part,omitempty"`       // class of ladder; empty is the machine
	Verdict string   `yaml:"verdict" required:"true" enum:"fail,warn,unknown,pass,corrected"`
	Earlier string   `yaml:"earlier,omitempty" enum:"fail,warn"` // verdict of one that is older than the test, on new machines; empty is recorded
	Passing bool     `yaml:"passing,omitempty"`                  // a state that can be over: deasserted during the test it is a warning
	Memory  string   `yaml:"memory,omitempty" enum:"uncorrected,corrected"`
	Meaning string   `yaml:"meaning" required:"true"` // in our words, for a technician
	Source  string   `yaml:"source" required:"true"`
}

// Corrected is the verdict of an event that counts into the limit of corrected memory errors.
const Corrected = "corrected"

// EventOf finds the rule that an entry's text fits; ok is false where none does.
func (p *Profile) EventOf(text string) (name string, rule EventRule, ok bool) {
	text = eventWords(text)
	names := slices.SortedFunc(maps.Keys(p.Events), func(a, b string) int {
		return cmp.Or(cmp.Compare(p.Events[a].Rank, p.Events[b].Rank), cmp.Compare(a, b))
	})
	for _, name := range names {
		if rule := p.Events[name]; rule.fits(text) {
			return name, rule, true
		}
	}
	return "", EventRule{}, false
}

func (r EventRule) fits(text string) bool {
	in := func(word string) bool { return strings.Contains(text, strings.TrimRight(eventWords(word), " ")) }
	return slices.ContainsFunc(r.Any, in) &&
		!slices.ContainsFunc(r.All, func(w string) bool { return !in(w) }) &&
		!slices.ContainsFunc(r.None, in)
}

// eventWords gives lower-case words, each with a blank before it.
func eventWords(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	})
	return " " + strings.Join(words, " ") + " "
}
