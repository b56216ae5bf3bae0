package profiles

import (
	"maps"
	"slices"
)

// Difference is one limit that two profiles do not have alike, by the path of its keys. A nil side has none. A check
// that only one of them applies is told by Note, under "checks.NAME".
type Difference struct {
	Path     string
	Was, Is  *Limit
	WasNote  string
	IsNote   string
	SameRule bool // only provenance or source differ
}

// Diff lists what q asks otherwise than p: p's limits in the order of its file, then those that only q has.
func (p *Profile) Diff(q *Profile) []Difference {
	var out []Difference
	other, seen := maps.Collect(q.Limits()), map[string]bool{}
	for path, was := range p.Limits() {
		seen[path] = true
		is := other[path]
		rule := is != nil && was.Relation == is.Relation && was.String() == is.String()
		if !rule || was.Provenance != is.Provenance || was.Source != is.Source {
			out = append(out, Difference{Path: path, Was: was, Is: is, SameRule: rule})
		}
	}
	for path, is := range q.Limits() {
		if !seen[path] {
			out = append(out, Difference{Path: path, Is: is})
		}
	}
	checks := maps.Clone(p.Checks)
	if checks == nil {
		checks = map[string]CheckNote{}
	}
	maps.Copy(checks, q.Checks)
	for _, name := range slices.Sorted(maps.Keys(checks)) {
		was, is := p.Checks[name].NotApplicable, q.Checks[name].NotApplicable
		if was != is {
			out = append(out, Difference{Path: "checks." + name, WasNote: was, IsNote: is})
		}
	}
	return out
}
