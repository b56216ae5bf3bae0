package redfish

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// dependency is what one attribute's value does to another: "HttpDev1Uri is
// read-only while HttpDev1EnDis is Disabled".
type dependency struct {
	from  []condition
	to    string
	what  string // ReadOnly, GrayOut, Hidden, CurrentValue …
	value any
	infix bool // the terms stand between conditions, not behind them
}

// condition is one "attribute is value" of a dependency.
type condition struct {
	attribute, property, relation string
	value                         any
	terms                         []string // AND, OR
}

type dependencyDoc struct {
	Dependency maybe[struct {
		From list[struct {
			Attribute text            `json:"MapFromAttribute"`
			Property  text            `json:"MapFromProperty"`
			Condition text            `json:"MapFromCondition"`
			Value     json.RawMessage `json:"MapFromValue"`
			Terms     text            `json:"MapTerms"`
		}] `json:"MapFrom"`
		To       text            `json:"MapToAttribute"`
		Property text            `json:"MapToProperty"`
		Value    json.RawMessage `json:"MapToValue"`
	}] `json:"Dependency"`
}

// dependencies reads those of a registry. One that makes no sense is left out.
func dependencies(docs []dependencyDoc) []dependency {
	var all []dependency
	for _, doc := range docs {
		d := doc.Dependency.value
		if d.To == "" || len(d.From) == 0 {
			continue
		}
		dep := dependency{to: string(d.To), what: string(d.Property), value: plain(d.Value), infix: d.From[0].Terms != ""}
		for _, f := range d.From {
			c := condition{
				attribute: string(f.Attribute), property: string(f.Property), relation: cmp.Or(string(f.Condition), "EQU"),
				value: plain(f.Value),
			}
			if f.Terms != "" {
				c.terms = strings.Split(strings.ToUpper(string(f.Terms)), ",")
			}
			dep.from = append(dep.from, c)
		}
		all = append(all, dep)
	}
	return all
}

// plain is a JSON scalar; a DGX H100 writes true as "true".
func plain(raw json.RawMessage) any {
	var value any
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	if len(raw) == 0 || dec.Decode(&value) != nil {
		return nil
	}
	return value
}

// truth has three values: what a dependency asks may stand in a variable that the
// BMC does not show (SMCFKItem2226 on Supermicro).
type truth int

const (
	unknown truth = iota
	no
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

func (t truth) or(u truth) truth {
	switch {
	case t == yes || u == yes:
		return yes
	case t == no && u == no:
		return no
	}
	return unknown
}

func (t truth) and(u truth) truth {
	switch {
	case t == no || u == no:
		return no
	case t == yes && u == yes:
		return yes
	}
	return unknown
}

// holds evaluates the conditions under the given values. The terms come in three
// ways: XCC puts each between two conditions; Supermicro writes them as a stack
// machine would, several behind one condition; iDRAC writes none, and its
// registry's own flags show that any condition is enough.
func (d dependency) holds(values map[string]any, reg registry) truth {
	if d.infix {
		result := d.from[0].holds(values, reg)
		for i, c := range d.from[1:] {
			result = combine(d.from[i].terms, result, c.holds(values, reg))
		}
		return result
	}
	var stack []truth
	for _, c := range d.from {
		stack = append(stack, c.holds(values, reg))
		for _, term := range c.terms {
			if n := len(stack); n > 1 {
				stack = append(stack[:n-2], combine([]string{term}, stack[n-2], stack[n-1]))
			}
		}
	}
	result := stack[0]
	for _, t := range stack[1:] {
		result = result.or(t)
	}
	return result
}

func combine(terms []string, a, b truth) truth {
	if slices.Contains(terms, "AND") {
		return a.and(b)
	}
	return a.or(b)
}

func (c condition) holds(values map[string]any, reg registry) truth {
	now, known := values[c.attribute]
	if !known || now == nil || c.property != "" && c.property != "CurrentValue" {
		return unknown
	}
	switch c.relation {
	case "EQU":
		return truthOf(reg.sameValue(c.attribute, now, c.value))
	case "NEQ":
		return truthOf(!reg.sameValue(c.attribute, now, c.value))
	}
	a, okA := asInt(now)
	b, okB := asInt(c.value)
	if !okA || !okB {
		return unknown
	}
	switch c.relation {
	case "GTR":
		return truthOf(a > b)
	case "GEQ":
		return truthOf(a >= b)
	case "LSS":
		return truthOf(a < b)
	case "LEQ":
		return truthOf(a <= b)
	}
	return unknown
}

// sameValue compares values of one attribute, by name or by display name.
func (r registry) sameValue(name string, a, b any) bool {
	if equalValue(a, b) || strings.EqualFold(fmt.Sprint(a), fmt.Sprint(b)) {
		return true
	}
	for _, v := range r.entries[name].Values {
		is := func(x any) bool { return fmt.Sprint(x) == string(v.Name) || fmt.Sprint(x) == string(v.Display) }
		if is(a) && is(b) {
			return true
		}
	}
	return false
}

// locks are the properties by which an attribute cannot be set.
var locks = []string{"ReadOnly", "GrayOut", "Hidden"}

// locked tells why an attribute cannot be set while the others have these values;
// "" means that nothing is known to lock it. A flag of the registry counts only
// where no dependency explains it: the flag is of the hour in which the registry
// was written, and R640s were seen to keep PxeDev1* read-only with the device
// enabled (metal-operator #752, FIELD-QUIRKS 47).
func (r registry) locked(name string, values map[string]any) string {
	explained := false
	for _, d := range r.byTarget[name] {
		if !slices.Contains(locks, d.what) || !asTrue(d.value) {
			continue
		}
		explained = explained || d.what != "Hidden"
		if d.holds(values, r) == yes {
			return d.reason(values, r)
		}
	}
	e := r.entries[name]
	if !explained && (e.ReadOnly.value || e.Immutable.value || e.GrayOut.value) {
		return "it is read-only"
	}
	return ""
}

func asTrue(v any) bool {
	b, ok := asBool(v)
	return ok && b
}

// reason words the conditions of a lock that hold.
func (d dependency) reason(values map[string]any, reg registry) string {
	parts := map[string]bool{}
	for _, c := range d.from {
		if c.holds(values, reg) == yes {
			parts[fmt.Sprintf("%s is %v", c.attribute, values[c.attribute])] = true
		}
	}
	return "it is read-only while " + strings.Join(slices.Sorted(maps.Keys(parts)), " and ")
}

// forced gives the value that the others' values impose on an attribute, if any:
// a workload profile sets what it covers.
func (r registry) forced(name string, values map[string]any) (any, bool) {
	for _, d := range r.byTarget[name] {
		if d.what == "CurrentValue" && d.holds(values, r) == yes {
			return d.value, true
		}
	}
	return nil, false
}
