package provision

import (
	"path"
	"slices"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// defaultOwn is the name of a workflow of the batch's own that states none.
const defaultOwn = "own"

// workflow takes the name of a workflow, or one of the batch's own.
func (l *loader) workflow(n ast.Node) {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		l.ownWorkflow(n)
		return
	}
	l.str(&l.batch.Workflow)(n)
	var known []string
	for _, w := range Workflows() {
		known = append(known, w.Name)
	}
	if !slices.Contains(known, l.batch.Workflow) {
		l.problem(n, "unknown workflow %q, there is %v%s", l.batch.Workflow, known, didYouMean(l.batch.Workflow, known))
	}
}

func (l *loader) ownWorkflow(n ast.Node) {
	w := Workflow{Name: defaultOwn}
	var places []ast.Node // of its steps
	stated := false
	l.fields(n, "workflow", field{
		"name": func(n ast.Node) { l.workflowName(n, &w.Name) },
		"steps": func(n ast.Node) {
			stated = true
			list, ok := n.(*ast.SequenceNode)
			if !ok || len(list.Values) == 0 {
				l.problem(n, "steps: write a list of steps, such as [preflight, verify-bmc, …, report]")
				return
			}
			steps := list.Values
			if last := steps[len(steps)-1]; l.notifyStep(last) {
				steps = steps[:len(steps)-1]
			}
			for _, item := range steps {
				if info, ok := l.step(item); ok {
					w.Steps, places = append(w.Steps, info), append(places, item)
				}
			}
			if len(places) < len(steps) { // what is missing would be blamed on others
				return
			}
			for _, f := range w.flaws() {
				at := n
				if f.at >= 0 {
					at = places[f.at]
				}
				l.add(l.start(at), "workflow %s: %s", w.Name, f.text)
			}
		},
	})
	if !stated {
		l.problem(n, "a workflow of your own needs steps:; without them name one: workflow: qualify")
	}
	plan := w.Plan()
	l.batch.Workflow, l.batch.Own = w.Name, &plan
}

func (l *loader) workflowName(n ast.Node, to *string) {
	l.str(to)(n)
	if !fileSafe.MatchString(*to) {
		l.problem(n, "workflow name %s: use letters, digits, '.', '-' and '_', at most 64", quoteNode(n))
	}
	for _, w := range Workflows() {
		if w.Name == *to {
			l.problem(n, "workflow name %q is that of a workflow of rackproof: choose another", *to)
		}
	}
}

// step takes one step: its name, or a mapping.
func (l *loader) step(n ast.Node) (StepInfo, bool) {
	var info StepInfo
	known := false
	name := func(n ast.Node) { info, known = l.stepNamed(n) }
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
	default:
		name(n)
		return info, known
	}
	pairs := l.pairs(n, "a step")
	i := slices.IndexFunc(pairs, func(p *ast.MappingValueNode) bool { return keyOf(p) == "step" })
	if i < 0 {
		l.add(l.start(n), "a step needs its name: {step: burn-in, timeout: 2 h}")
		return info, false
	}
	name(pairs[i].Value) // before what is said of it
	timeout, backoff := Duration(info.Timeout), Duration(0)
	f := field{
		"step":    func(ast.Node) {},
		"timeout": l.duration(&timeout),
		"tries":   l.integer(&info.Tries, 1),
		"backoff": l.duration(&backoff),
		"when":    func(n ast.Node) { info.When = l.when(n) },
	}
	if known {
		l.options(f, &info)
	}
	l.fields(n, "a step", f)
	info.Timeout, info.Backoff = time.Duration(timeout), time.Duration(backoff)
	return info, known
}

func (l *loader) stepNamed(n ast.Node) (StepInfo, bool) {
	var name string
	l.str(&name)(n)
	all := Workflow{Steps: Steps()}
	info, ok := all.Find(name)
	switch {
	case name == stepNotify:
		l.problem(n, "notify is of the whole run: it stands last in the workflow, or as a key of the batch")
	case !ok && name != "":
		l.problem(n, "unknown step %q, there is %v%s", name, all.Names(), didYouMean(name, all.Names()))
	}
	return info, ok
}

// when takes a condition.
func (l *loader) when(n ast.Node) *When {
	w := &When{}
	f := field{"fact": func(n ast.Node) { l.factName(n, &w.Fact) }}
	for key, to := range map[string]*string{
		"name": &w.Name, "rack": &w.Rack, "profile": &w.Profile, "spec": &w.Spec, "model": &w.Model, "is": &w.Is, "is_not": &w.IsNot,
	} {
		f[key] = func(n ast.Node) {
			l.str(to)(n)
			if _, err := path.Match(*to, ""); err != nil || *to == "" {
				l.problem(n, "%s %s is no pattern: write a word, with * for any letters", key, quoteNode(n))
			}
		}
	}
	l.fields(n, "when", f)
	switch {
	case *w == When{}:
		l.add(l.start(n), "when says nothing: write {model: \"*8125*\"} or {fact: boot_method, is: pxe}")
	case (w.Fact == "") != (w.Is == "" && w.IsNot == ""):
		l.add(l.start(n), "when: fact goes with is or is_not: {fact: boot_method, is: pxe}")
	}
	return w
}

func (l *loader) factName(n ast.Node, to *string) {
	l.str(to)(n)
	var known []string
	for fact := range toldBy() {
		known = append(known, fact)
	}
	slices.Sort(known)
	if !slices.Contains(known, *to) {
		l.problem(n, "unknown fact %q, there is %v%s", *to, known, didYouMean(*to, known))
	}
}
