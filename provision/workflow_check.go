package provision

import (
	"fmt"
	"slices"
	"strings"
)

// flaw is what is wrong with a workflow: with its step at, or with all of it where at
// is below zero.
type flaw struct {
	at   int
	text string
}

// flaws finds what would let a workflow act on a machine that nobody proved, measure a
// host that is not there, or leave a machine as nobody wants it.
func (w Workflow) flaws() []flaw {
	var out []flaw
	names := w.Names()
	add := func(at int, format string, args ...any) { out = append(out, flaw{at, fmt.Sprintf(format, args...)}) }
	for i, s := range w.Steps {
		name := s.Step.Name()
		if slices.Index(names, name) < i {
			add(i, "step %s stands twice", name)
			continue
		}
		for _, text := range w.early(i) {
			add(i, "%s", text)
		}
		for _, text := range w.conditional(i) {
			add(i, "%s", text)
		}
		if text := s.With.lacks(name); text != "" {
			add(i, "%s", text)
		}
	}
	if !slices.Contains(names, "report") {
		add(-1, "no report at the end: nothing would be judged; add it as the last step")
	}
	for _, p := range []struct{ does, left string }{
		{"bios", "sets the BIOS for the test, and no step behind it puts it back: add handover or restore-bios"},
		{"secure-boot", "switches secure boot for the test, and no step behind it puts it back: add handover or restore-bios"},
		{"locate", "lights the LED, and no step behind it puts it back: add locate-off"},
		{"boot", "may start an image of ours, and no step behind it takes it down: add handover, leave-image or power-off"},
	} {
		if i := slices.Index(names, p.does); i >= 0 && !w.undone(i) {
			add(i, "%s %s", p.does, p.left)
		}
	}
	return out
}

// early says before what step i stands that it needs, or that belongs before it.
func (w Workflow) early(i int) (out []string) {
	names, name := w.Names(), w.Steps[i].Step.Name()
	for _, need := range w.Steps[i].Needs {
		switch at := slices.Index(names, need); {
		case at < 0:
			out = append(out, fmt.Sprintf("%s needs %s before it, which is not there", name, need))
		case at > i:
			out = append(out, fmt.Sprintf("%s stands before %s, which it needs", name, need))
		}
	}
	if len(out) > 0 || w.Steps[i].Anywhere {
		return out
	}
	order := Workflow{Steps: Steps()}.Names()
	for _, s := range w.Steps[:i] {
		before := s.Step.Name()
		if !s.Anywhere && slices.Index(order, before) > slices.Index(order, name) {
			return append(out, fmt.Sprintf("%s stands behind %s, and belongs before it", name, before))
		}
	}
	return out
}

// conditional says what is wrong with the condition of step i.
func (w Workflow) conditional(i int) (out []string) {
	names, s := w.Names(), w.Steps[i]
	name := s.Step.Name()
	if s.When != nil && (s.Always || slices.Contains(proven, name)) {
		out = append(out, name+" takes no condition: it always runs")
	}
	for _, fact := range s.When.needs() {
		if by := toldBy()[fact]; by != "" && !slices.Contains(names[:i], by) {
			out = append(out, fmt.Sprintf("the condition of %s asks for %s, which step %s tells: it must stand before", name, fact, by))
		}
	}
	for _, need := range s.Needs {
		if at := slices.Index(names[:i], need); at >= 0 && w.Steps[at].When != nil && !w.Steps[at].When.equal(s.When) {
			out = append(out, fmt.Sprintf("%s needs %s, which its condition may leave out: give %s the same when", name, need, name))
		}
	}
	return out
}

// undone reports whether a step behind step i puts back what it does, whenever it does
// it.
func (w Workflow) undone(i int) bool {
	by := map[string][]string{
		"bios": {"handover", "restore-bios"}, "secure-boot": {"handover", "restore-bios"}, "locate": {"locate-off"},
		"boot": {"handover", "leave-image", "power-off"},
	}[w.Steps[i].Step.Name()]
	return slices.ContainsFunc(w.Steps[i+1:], func(s StepInfo) bool {
		return slices.Contains(by, s.Step.Name()) && (s.When == nil || s.When.equal(w.Steps[i].When))
	})
}

// text is how a page or a help lists a workflow.
func (w Workflow) text() string { return strings.Join(w.Names(), ", ") }
