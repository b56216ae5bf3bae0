package provision

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Options are what a workflow says of one of its steps beside its time and condition.
// Like all of a plan they are journaled: never a secret.
type Options map[string]string

// option is one key that a step takes.
type option struct {
	key, about string
	needed     bool
	values     []string // that it may have; none = any words
	whole      bool     // a whole number of at least 1
}

// options are the keys that steps take.
func options(step string) []option {
	switch step {
	case hands{}.Name():
		return []option{{key: "say", about: "what the person does, in one sentence", needed: true}, {key: "minutes", about: "how long that takes", whole: true}}
	case secureBoot{}.Name():
		return []option{{key: "want", about: "on or off", needed: true, values: []string{wishOn, wishOff}}}
	default:
		return nil
	}
}

// lacks says what must be said of a step and is not.
func (o Options) lacks(step string) string {
	for _, opt := range options(step) {
		if opt.needed && strings.TrimSpace(o[opt.key]) == "" {
			return fmt.Sprintf("%s needs %s: %s; write {step: %s, %s: …}", step, opt.key, opt.about, step, opt.key)
		}
	}
	return ""
}

// options adds the keys of a step to those that every step takes.
func (l *loader) options(f field, info *StepInfo) {
	for _, opt := range options(info.Step.Name()) {
		f[opt.key] = func(n ast.Node) {
			var value string
			l.str(&value)(n)
			value = strings.Join(strings.Fields(value), " ")
			number, err := strconv.Atoi(value)
			switch {
			case len(opt.values) > 0 && !slices.Contains(opt.values, value):
				l.problem(n, "%s of %s is %s: choose one of %v", opt.key, info.Step.Name(), quoteNode(n), opt.values)
				return
			case opt.whole && (err != nil || number < 1):
				l.problem(n, "%s of %s: want a whole number of at least 1, not %s", opt.key, info.Step.Name(), quoteNode(n))
				return
			}
			if info.With == nil {
				info.With = Options{}
			}
			info.With[opt.key] = value
		}
	}
}
