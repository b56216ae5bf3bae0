package profiles

import (
	"fmt"
	"path"
	"strings"
)

// Propose gives the profile whose match names the machine, and what it went by. It is a proposal only: a machine
// never chooses what it is judged against. Without a single answer ok is false and why says what to do.
func (l *Library) Propose(product, board, chassis string) (name, why string, ok bool) {
	const next = "name one with --profile"
	for _, candidate := range l.ProfileNames() {
		p, err := l.Profile(candidate)
		if err != nil {
			continue // `profile check` says what is wrong with it
		}
		reason := p.Match.reason(product, board, chassis)
		switch {
		case reason == "":
		case ok:
			return "", fmt.Sprintf("both %s and %s fit; %s", name, candidate, next), false
		default:
			name, why, ok = candidate, reason, true
		}
	}
	if !ok {
		return "", fmt.Sprintf("no profile knows product %q, board %q, chassis %q; %s", product, board, chassis, next), false
	}
	return name, why, true
}

// reason says by which name the machine matches, most telling first; "" when it does not.
func (m Match) reason(product, board, chassis string) string {
	for _, try := range []struct {
		noun, name string
		patterns   []string
	}{{"board", board, m.Board}, {"product", product, m.Product}, {"chassis", chassis, m.Chassis}} {
		for _, pattern := range try.patterns {
			if matches(pattern, try.name) {
				return fmt.Sprintf("%s %q", try.noun, strings.TrimSpace(try.name))
			}
		}
	}
	return ""
}

// matches compares without letter case and outer blanks. A pattern that is none was refused by the loader.
func matches(pattern, name string) bool {
	ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(strings.TrimSpace(name)))
	return err == nil && ok
}
