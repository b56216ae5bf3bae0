package profiles

import (
	"errors"
	"math/bits"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// ParseProfile reads the profile in b, finds in lib what it extends, and lays all of it together: the shared
// catalogue first, then each profile it extends in order, then its own keys. What several extend in common is laid
// once, before all of them, so that a later one does not undo what an earlier one changed. The error is [Problems]
// with every mistake; file is how they call b. A resolved profile (with a lineage) is taken as it is.
func ParseProfile(file string, b []byte, lib *Library) (*Profile, error) {
	doc, err := parseDocument(file, b)
	if err != nil {
		return nil, err
	}
	if has(doc, "lineage") {
		return parseResolved(doc)
	}
	catalogue, err := lib.Catalogue()
	if err != nil {
		return nil, err
	}
	layers, err := lib.layers(profileKind, doc)
	if err != nil {
		return nil, err
	}
	p := &Profile{
		Advice: catalogue.Advice, XID: catalogue.XID, XIDDefault: catalogue.XIDDefault, XIDVerdicts: catalogue.XIDVerdicts,
		SXID: catalogue.SXID, ClockReasons: catalogue.ClockReasons,
		Kernel: catalogue.Kernel, Events: catalogue.Events, EventsElse: catalogue.EventsElse,
	}
	var problems Problems
	for _, layer := range layers {
		// A name, a title and the machines that a profile is proposed for are never inherited.
		p.Schema, p.Name, p.Title, p.Extends, p.Match = "", "", "", nil, Match{}
		d := decoder{file: layer.file, checks: catalogue.CheckNames()}
		d.value(layer.root, reflect.ValueOf(p).Elem(), field{name: "profile"})
		problems = append(problems, d.problems...)
		p.Lineage = append(p.Lineage, p.Name)
	}
	p.Extends = nil
	problems = append(problems, p.inconsistencies(file)...)
	if err := problems.err(); err != nil {
		return nil, err
	}
	return p, p.seal()
}

// ParseResolved reads the bytes that [Profile.Bytes] gave: the profile.yaml of an evidence folder.
func ParseResolved(b []byte) (*Profile, error) {
	doc, err := parseDocument("profile.yaml", b)
	if err != nil {
		return nil, err
	}
	return parseResolved(doc)
}

func parseResolved(doc document) (*Profile, error) {
	if err := checkSchema(profileKind, doc); err != nil {
		return nil, err
	}
	p := &Profile{}
	d := decoder{file: doc.file}
	d.value(doc.root, reflect.ValueOf(p).Elem(), field{name: "profile"})
	if len(p.Extends) > 0 || len(p.Lineage) == 0 {
		d.problem(doc.root, "this is no resolved profile: it must have a lineage and extend nothing")
	}
	problems := append(d.problems, p.inconsistencies(doc.file)...)
	if err := problems.err(); err != nil {
		return nil, err
	}
	return p, p.seal()
}

// ParseSpec reads the spec in b, laid over what it extends, as [ParseProfile] does.
func ParseSpec(file string, b []byte, lib *Library) (*Spec, error) {
	doc, err := parseDocument(file, b)
	if err != nil {
		return nil, err
	}
	catalogue, err := lib.Catalogue()
	if err != nil {
		return nil, err
	}
	layers, err := lib.layers(specKind, doc)
	if err != nil {
		return nil, err
	}
	s := &Spec{}
	var problems Problems
	for _, layer := range layers {
		s.Schema, s.Name, s.Title, s.Extends = "", "", "", nil
		d := decoder{file: layer.file, checks: catalogue.CheckNames()}
		d.value(layer.root, reflect.ValueOf(s).Elem(), field{name: "spec"})
		problems = append(problems, d.problems...)
	}
	s.Extends = nil
	if err := problems.err(); err != nil {
		return nil, err
	}
	return s, s.seal()
}

// ParseResolvedSpec reads the bytes that [Spec.Bytes] gave: the spec.yaml of an evidence folder. Its check names
// are not verified, so that a spec of another version still reads.
func ParseResolvedSpec(b []byte) (*Spec, error) {
	doc, err := parseDocument("spec.yaml", b)
	if err != nil {
		return nil, err
	}
	if err := checkSchema(specKind, doc); err != nil {
		return nil, err
	}
	s := &Spec{}
	d := decoder{file: doc.file}
	d.value(doc.root, reflect.ValueOf(s).Elem(), field{name: "spec"})
	if len(s.Extends) > 0 {
		d.problem(doc.root, "this is no resolved spec: it must extend nothing")
	}
	if err := d.problems.err(); err != nil {
		return nil, err
	}
	return s, s.seal()
}

// layers gives doc after everything it extends.
func (l *Library) layers(k kind, doc document) ([]document, error) {
	r := resolver{lib: l, kind: k, laid: map[string]bool{}}
	r.lay(doc, nil)
	return r.layers, r.problems.err()
}

// resolver orders files by what they extend.
type resolver struct {
	lib      *Library
	kind     kind
	laid     map[string]bool
	layers   []document
	problems Problems
}

// lay appends what doc extends, then doc; trail are the names that led here.
func (r *resolver) lay(doc document, trail []string) {
	if err := checkSchema(r.kind, doc); err != nil {
		r.fail(doc.root, doc.file, err)
		return
	}
	for _, parent := range parents(doc) {
		name, _ := scalar(parent)
		if slices.Contains(trail, name) {
			r.problems.add(position(doc.file, parent), "%s extends itself: %s", name, strings.Join(append(trail, name), " → "))
			continue
		}
		if r.laid[name] {
			continue
		}
		file, b, err := r.lib.read(r.kind, name)
		if err != nil {
			r.fail(parent, doc.file, err)
			continue
		}
		next, err := parseDocument(file, b)
		if err != nil {
			r.fail(parent, doc.file, err)
			continue
		}
		r.lay(next, append(slices.Clone(trail), name))
		r.laid[name] = true
	}
	r.layers = append(r.layers, doc)
}

// fail keeps the problems of another file as they are and places any other error at node.
func (r *resolver) fail(node ast.Node, file string, err error) {
	if problems, ok := errors.AsType[Problems](err); ok {
		r.problems = append(r.problems, problems...)
		return
	}
	r.problems.add(position(file, node), "%v", err)
}

// parents are the entries of a document's extends; what is wrong with their form the decoder says.
func parents(doc document) []ast.Node {
	if list, ok := lookup(doc, "extends").(*ast.SequenceNode); ok {
		return list.Values
	}
	return nil
}

func has(doc document, key string) bool { return lookup(doc, key) != nil }

// lookup gives the value of a key at the top of doc, or nil.
func lookup(doc document, key string) ast.Node {
	pairs, _ := entries(doc.root)
	for _, pair := range pairs {
		if name, _ := scalar(pair.Key); name == key {
			return pair.Value
		}
	}
	return nil
}

// checkSchema refuses a file of another schema at once: its keys would only look like mistakes.
func checkSchema(k kind, doc document) error {
	node := lookup(doc, "schema")
	if node == nil {
		return Problems{{Pos: position(doc.file, doc.root), Text: "schema is missing; a " + k.noun + " begins with schema: " + k.schema}}
	}
	if schema, _ := scalar(node); schema != k.schema {
		return Problems{{Pos: position(doc.file, node), Text: "schema " + quote(schema) + " is not read here; a " + k.noun + " has " + k.schema}}
	}
	return nil
}

func layCatalogue(file string, b []byte, c *Catalogue) Problems {
	doc, err := parseDocument(file, b)
	if err == nil {
		err = checkSchema(kind{noun: "catalogue", schema: CatalogueSchema}, doc)
	}
	if problems, ok := errors.AsType[Problems](err); ok {
		return problems
	}
	d := decoder{file: file}
	d.value(doc.root, reflect.ValueOf(c).Elem(), field{name: "catalogue"})
	return d.problems
}

// inconsistencies are the mistakes that no single key shows.
func (p *Profile) inconsistencies(file string) Problems {
	problems := p.catalogueProblems(file)
	for name, f := range p.Firmware {
		if re, err := regexp.Compile(f.Pattern); err != nil || f.Pattern != "" && re.NumSubexp() < 1 {
			problems.add(Position{File: file}, "firmware %s: pattern %q must be a regular expression with the version as its group", name, f.Pattern)
		}
		for _, pattern := range f.Entries {
			if _, err := path.Match(pattern, ""); err != nil {
				problems.add(Position{File: file}, "firmware %s: %q is no pattern", name, pattern)
			}
		}
	}
	for _, pattern := range slices.Concat(p.Match.Product, p.Match.Board, p.Match.Chassis, p.Match.GPU) {
		if _, err := path.Match(pattern, ""); err != nil {
			problems.add(Position{File: file}, "match: %q is no pattern", pattern)
		}
	}
	return problems
}

// catalogueProblems are those of entries that every profile carries of the catalogue.
func (p *Profile) catalogueProblems(file string) Problems {
	var problems Problems
	for code, entry := range p.XID {
		if _, ok := p.Advice[entry.Advice]; entry.Advice != "" && !ok {
			problems.add(Position{File: file}, "xid %d: there is no advice for %q", code, entry.Advice)
		}
		for _, kind := range entry.Lines {
			if _, err := regexp.Compile(kind.Pattern); err != nil {
				problems.add(Position{File: file}, "xid %d: %v", code, err)
			}
		}
	}
	return append(problems, p.tableMistakes(file)...)
}

// tableMistakes are entries of tables that cannot be looked for, or that no ladder of advice follows.
func (p *Profile) tableMistakes(file string) Problems {
	var problems Problems
	for name, rule := range p.Kernel {
		if _, ok := p.Advice[rule.Advice]; !ok {
			problems.add(Position{File: file}, "kernel %s: there is no advice for %q", name, rule.Advice)
		}
		if _, err := regexp.Compile(rule.Pattern); err != nil {
			problems.add(Position{File: file}, "kernel %s: %v", name, err)
		}
	}
	for name, rule := range p.ClockReasons {
		if _, ok := p.Advice[rule.Advice]; rule.Advice != "" && !ok {
			problems.add(Position{File: file}, "clock_reasons %s: there is no advice for %q", name, rule.Advice)
		}
		if bits.OnesCount(uint(rule.Bit)) != 1 {
			problems.add(Position{File: file}, "clock_reasons %s: %d is no bit of a mask", name, rule.Bit)
		}
	}
	for name, rule := range p.Events {
		if _, ok := p.Advice[rule.Part]; rule.Part != "" && rule.Part != "gpu" && !ok { // which of its two forms the profile says
			problems.add(Position{File: file}, "events %s: there is no advice for %q", name, rule.Part)
		}
	}
	return problems
}
