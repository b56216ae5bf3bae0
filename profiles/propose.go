package profiles

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
)

// Seen is what a machine tells of itself before it is known what it should be.
type Seen struct {
	Product, Board, Chassis string
	GPUs                    []string // PCI ids, "10de:2330", one for each GPU
}

// Propose gives the profile whose match names the machine, and what it went by. It is a proposal only: a machine
// never chooses what it is judged against. Without a single answer ok is false and why says what to do.
func (l *Library) Propose(seen Seen) (name, why string, ok bool) {
	const next = "name one with --profile"
	var fit []string
	for _, candidate := range l.ProfileNames() {
		if reason := l.match(candidate).reason(seen); reason != "" {
			fit, why = append(fit, candidate), reason
		}
	}
	switch len(fit) {
	case 0:
		return "", fmt.Sprintf("no profile knows %s; %s", seen, next), false
	case 1:
		return fit[0], why, true
	default:
		return "", fmt.Sprintf("%s fit; %s", listed(fit), next), false
	}
}

// match reads only the match of a profile, which is never inherited; `profile check` says what is wrong with a file
// that cannot be read.
func (l *Library) match(name string) Match {
	var m Match
	file, b, err := l.read(profileKind, name)
	if err != nil {
		return m
	}
	doc, err := parseDocument(file, b)
	if err != nil {
		return m
	}
	if node := lookup(doc, "match"); node != nil {
		d := decoder{file: file}
		d.value(node, reflect.ValueOf(&m).Elem(), field{name: "match"})
	}
	return m
}

// listed is "both a and b", or "a, b and c".
func listed(names []string) string {
	last := len(names) - 1
	head := strings.Join(names[:last], ", ") + " and " + names[last]
	if last == 1 {
		return "both " + head
	}
	return head
}

// String names the machine for a message.
func (s Seen) String() string {
	text := fmt.Sprintf("product %q, board %q, chassis %q", s.Product, s.Board, s.Chassis)
	if len(s.GPUs) > 0 {
		text += " with GPUs " + strings.Join(slices.Compact(slices.Sorted(slices.Values(s.GPUs))), ", ")
	}
	return text
}

// reason says by which name the machine matches, most telling first; "" when it does not.
func (m Match) reason(seen Seen) string {
	if len(m.GPU) > 0 && slices.ContainsFunc(seen.GPUs, func(id string) bool { return !matchesAny(m.GPU, id) }) {
		return ""
	}
	for _, try := range []struct {
		noun, name string
		patterns   []string
	}{{"board", seen.Board, m.Board}, {"product", seen.Product, m.Product}, {"chassis", seen.Chassis, m.Chassis}} {
		if matchesAny(try.patterns, try.name) {
			return fmt.Sprintf("%s %q", try.noun, strings.TrimSpace(try.name))
		}
	}
	return ""
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, name) })
}

// matches compares without letter case and outer blanks. A pattern that is none was refused by the loader.
func matches(pattern, name string) bool {
	ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(strings.TrimSpace(name)))
	return err == nil && ok
}
