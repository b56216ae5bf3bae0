package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

// explainCommand is `rackproof explain`: what a code or a check means, offline.
func explainCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "explain xid:N | sxid:N | kernel:MESSAGE | CHECK | REASON",
		Short: "What a code of the driver or a check means, and what to do next",
		Long: `What an XID of a GPU, an SXid of an NVSwitch, a message of the kernel, a reason for
slower clocks or a check means, how it is judged, who says so and what to do next. Contacts nothing.

Example:
  rackproof explain xid:79
  rackproof explain sxid:12028
  rackproof explain kernel:hung_task
  rackproof explain hw_power_brake_slowdown
  rackproof explain gpu.thermal
  rackproof explain xid:79 --json
    {"name": "xid:79", "title": "…", "meaning": "…", "verdict": "fail", "source": "…",
      "advice": [{"class": "sxm-gpu", "rungs": [{"do": "…", "minutes": 12, "who": "hands"}]}]}

` + exitHelp,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			lib := a.library()
			catalogue, err := lib.Catalogue()
			if err != nil {
				return profileError(err)
			}
			e, err := explain(catalogue, strings.ToLower(args[0]))
			if err != nil {
				return usageError(err, "rackproof explain --help")
			}
			if e.Probes != nil {
				if e.Scopes, err = scopesOf(lib, e.Name); err != nil {
					return profileError(err)
				}
			}
			if a.json {
				return a.printJSON(e)
			}
			a.printf("%s", e)
			return nil
		},
	}
}

// explanation is what `explain` says of a word.
type explanation struct {
	Name    string            `json:"name"`
	Title   string            `json:"title"`
	Meaning string            `json:"meaning,omitempty"`
	Verdict string            `json:"verdict,omitempty"`
	Kinds   []kind            `json:"kinds,omitempty"` // that the line itself tells apart
	Words   []string          `json:"words,omitempty"` // of a message of the kernel: one of them is in it
	Source  string            `json:"source,omitempty"`
	Probes  []string          `json:"probes,omitempty"` // of a check: what it reads
	Scopes  map[string]string `json:"scopes,omitempty"` // of a check: by spec
	Advice  []ladder          `json:"advice,omitempty"`
}

type kind struct {
	Line    string `json:"line"` // RE2
	Verdict string `json:"verdict"`
}

type ladder struct {
	Class string          `json:"class"`
	Rungs []profiles.Rung `json:"rungs"`
}

// explain finds a word in the catalogue.
func explain(c *profiles.Catalogue, word string) (explanation, error) {
	table, number, coded := strings.Cut(word, ":")
	code, err := strconv.Atoi(number)
	switch {
	case coded && err == nil && table == "xid":
		return explainXID(c, code)
	case coded && err == nil && table == "sxid":
		return explainSXID(c, code)
	case coded && table == "kernel":
		return explainKernel(c, number)
	case coded:
		return explanation{}, fmt.Errorf("%q is neither xid:N, sxid:N nor kernel:MESSAGE", word)
	}
	if rule, ok := c.ClockReasons[word]; ok {
		e := explanation{Name: word, Title: "Reason for slower clocks, judged by " + rule.Check, Meaning: rule.Meaning, Verdict: rule.Verdict, Source: rule.Source}
		if rule.Verdict != "pass" {
			e.Advice = ladders(c, rule.Advice)
		}
		return e, nil
	}
	if title, ok := c.Checks[word]; ok {
		return explainCheck(word, title), nil
	}
	words := slices.Concat(c.CheckNames(), slices.Sorted(maps.Keys(c.ClockReasons)))
	if near := profiles.Nearest(word, words); near != "" {
		return explanation{}, fmt.Errorf("no check, code or reason %q, did you mean %q?", word, near)
	}
	return explanation{}, fmt.Errorf("no check, code or reason %q", word)
}

func explainXID(c *profiles.Catalogue, code int) (explanation, error) {
	entry, ok := c.XID[code]
	name := fmt.Sprintf("xid:%d", code)
	if !ok {
		return explanation{
			Name: name, Title: "not in the catalogue", Verdict: c.XIDVerdicts[c.XIDDefault],
			Meaning: "No public document that rackproof knows explains it, so it is not known to be harmless.",
		}, nil
	}
	e := explanation{Name: name, Title: entry.Text, Meaning: entry.Meaning, Verdict: c.XIDVerdicts[entry.Class], Source: entry.Source, Advice: ladders(c, entry.Advice)}
	for _, k := range entry.Lines {
		e.Kinds = append(e.Kinds, kind{k.Pattern, c.XIDVerdicts[k.Class]})
	}
	return e, nil
}

func explainSXID(c *profiles.Catalogue, code int) (explanation, error) {
	entry, ok := c.SXID[code]
	e := explanation{Name: fmt.Sprintf("sxid:%d", code), Title: entry.Text, Meaning: entry.Meaning, Source: entry.Source, Advice: ladders(c, string(burnin.ClassFabric))}
	e.Kinds = []kind{{"Fatal", "fail"}, {"Non-fatal", "warn"}}
	switch {
	case !ok:
		e.Title, e.Verdict = "not in the catalogue", "unknown"
		e.Meaning = "No public document that rackproof knows explains it; the driver's line says whether it is fatal."
	case entry.Fatal:
		e.Verdict = "fail"
	default:
		e.Verdict = "warn"
	}
	return e, nil
}

func explainKernel(c *profiles.Catalogue, name string) (explanation, error) {
	rule, ok := c.Kernel[name]
	if !ok {
		return explanation{}, fmt.Errorf("no message of the kernel is called %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(c.Kernel)), ", "))
	}
	e := explanation{
		Name: "kernel:" + name, Title: "message of the kernel, judged by " + cmp.Or(rule.Check, "kernel.log"), Meaning: rule.Meaning,
		Verdict: rule.During, Source: rule.Source, Words: rule.Words, Advice: ladders(c, rule.Advice),
	}
	if rule.Before != rule.During {
		e.Verdict = fmt.Sprintf("%s during the test, %s before it", rule.During, rule.Before)
	}
	return e, nil
}

func explainCheck(name, title string) explanation {
	e := explanation{Name: name, Title: title, Probes: []string{}}
	for _, check := range burnin.Checks() {
		if check.Name == name {
			e.Meaning, e.Probes = check.Title+".", check.Probes
			return e
		}
	}
	e.Meaning = "This version of rackproof has no such check."
	return e
}

// ladders are what to do, by the class of a table's entry; none is that of the GPU's form.
func ladders(c *profiles.Catalogue, class string) []ladder {
	if class != "" {
		return []ladder{{class, c.Advice[class]}}
	}
	sxm, card := string(burnin.ClassSXM), string(burnin.ClassPCIeGPU)
	return []ladder{{sxm, c.Advice[sxm]}, {card, c.Advice[card]}}
}

// scopesOf says what each spec asks of a check.
func scopesOf(lib *profiles.Library, check string) (map[string]string, error) {
	scopes := map[string]string{}
	for _, name := range lib.SpecNames() {
		s, err := lib.Spec(name)
		if err != nil {
			return nil, err
		}
		scopes[name] = string(s.ScopeOf(check, ""))
	}
	return scopes, nil
}

// String is the explanation for people.
func (e explanation) String() string {
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-9s%s\n", name, value)
		}
	}
	fmt.Fprintf(&b, "%s: %s\n", e.Name, e.Title)
	row("means", e.Meaning)
	row("judged", e.Verdict)
	for _, k := range e.Kinds {
		row("", k.Verdict+" where the line has "+k.Line)
	}
	row("has", strings.Join(e.Words, ", or "))
	row("source", e.Source)
	row("reads", strings.Join(e.Probes, ", "))
	for i, name := range slices.Sorted(maps.Keys(e.Scopes)) {
		label := ""
		if i == 0 {
			label = "specs"
		}
		row(label, fmt.Sprintf("%-10s%s", name, cmp.Or(e.Scopes[name], "-")))
	}
	for _, l := range e.Advice {
		row("do", l.Class+":")
		for i, rung := range l.Rungs {
			fmt.Fprintf(&b, "         %d. %s (%d min, %s)\n", i+1, rung.Do, rung.Minutes, rung.Who)
		}
	}
	return b.String()
}
