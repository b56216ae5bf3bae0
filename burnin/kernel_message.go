package burnin

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/rackproof/rackproof/profiles"
)

// kernelMessage is a line of the kernel's log that a rule of the catalogue knows.
type kernelMessage struct {
	KernelLine
	Rule   string // its name in the catalogue
	Part   string // the kernel's name of the part: "nvme0", "ens1f0np0", "0000:19:00.0"; "" = none in the line
	During bool   // it was not in the log before the load
	Ref    string
}

// kernelRules are the rules of a profile, ready to be used.
type kernelRules []kernelRule

type kernelRule struct {
	name    string
	words   []string // in lower case
	pattern *regexp.Regexp
	part    int // number of the group that names the part, -1 = none
}

// kernelPatterns holds compiled patterns by their text: thousands of machines are judged
// with the same few.
var kernelPatterns sync.Map

func kernelPattern(text string) (*regexp.Regexp, error) {
	if known, ok := kernelPatterns.Load(text); ok {
		if pattern, ok := known.(*regexp.Regexp); ok {
			return pattern, nil
		}
	}
	pattern, err := regexp.Compile(text)
	if err == nil {
		kernelPatterns.Store(text, pattern)
	}
	return pattern, err
}

// newKernelRules prepares the rules of a profile.
func newKernelRules(p *profiles.Profile) (kernelRules, error) {
	if len(p.Kernel) == 0 {
		return nil, errors.New("the profile has no table of the kernel's messages; it is of an older rackproof")
	}
	var rules kernelRules
	for _, name := range sortedKeys(p.Kernel) {
		entry := p.Kernel[name]
		pattern, err := kernelPattern(entry.Pattern)
		if err != nil {
			return nil, fmt.Errorf("kernel message %s of the profile: %w", name, err)
		}
		rule := kernelRule{name: name, pattern: pattern, part: pattern.SubexpIndex("part")}
		for _, w := range entry.Words {
			rule.words = append(rule.words, strings.ToLower(w))
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// of returns the rule of a line and the part that it names; ok is false for a line
// that no rule knows.
func (rules kernelRules) of(text string) (rule, part string, ok bool) {
	lower := strings.ToLower(text)
	for _, r := range rules {
		if !containsAny(lower, r.words) {
			continue
		}
		m := r.pattern.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		if r.part > 0 {
			part = m[r.part]
		}
		return r.name, part, true
	}
	return "", "", false
}

// kernelMessages returns what the catalogue knows in all readings of the log, each
// line once, oldest reading first. Lines that a parser has read as an event of memory,
// of a link or of a GPU are left out.
func kernelMessages(readings []Reading[KernelLogData], rules kernelRules) []kernelMessage {
	var out []kernelMessage
	told := map[string]bool{}
	for _, reading := range readings {
		if !reading.OK() {
			continue
		}
		for _, line := range reading.Value.Lines {
			key := line.Stamp + " " + line.Text
			if line.Check != "" || told[key] {
				continue
			}
			if rule, part, ok := rules.of(line.Text); ok {
				told[key] = true
				out = append(out, kernelMessage{KernelLine: line, Rule: rule, Part: part, During: reading.Evidence.Phase == PhaseAfter, Ref: reading.Ref})
			}
		}
	}
	return out
}

// messagesFor returns the messages that a check judges.
func messagesFor(r *Readings, p *profiles.Profile, check string) []kernelMessage {
	rules, err := newKernelRules(p)
	if err != nil {
		return nil // kernel.log says so
	}
	var out []kernelMessage
	for _, m := range kernelMessages(phaseReadings(r, KernelLog), rules) {
		if p.Kernel[m.Rule].Check == check {
			out = append(out, m)
		}
	}
	return out
}

// kernelVerdict is what a rule says of a message. One that is no verdict is not known
// to be harmless.
func kernelVerdict(rule profiles.KernelRule, during bool) Verdict {
	word := rule.Before
	if during {
		word = rule.During
	}
	var v Verdict
	if err := v.UnmarshalText([]byte(word)); err != nil {
		return Unknown
	}
	return v
}
