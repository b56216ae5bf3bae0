package redfishtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// dependency is one of a registry (DSP0268, AttributeRegistry): while the
// conditions hold, a property of another attribute has a value.
type dependency struct {
	Dependency struct {
		MapFrom []struct {
			Attribute string `json:"MapFromAttribute"`
			Condition string `json:"MapFromCondition"`
			Value     any    `json:"MapFromValue"`
			Terms     string `json:"MapTerms"`
		}
		Attribute string `json:"MapToAttribute"`
		Property  string `json:"MapToProperty"`
		Value     any    `json:"MapToValue"`
	}
}

// holds combines the conditions as the vendors write them: a term of the first
// condition stands between it and the second; later ones work on a stack; without
// terms any condition is enough. What is not shown is not equal to anything.
func (d dependency) holds(values map[string]any) bool {
	from := d.Dependency.MapFrom
	if len(from) == 0 {
		return false
	}
	var stack []bool
	between := from[0].Terms != ""
	for i, c := range from {
		now, shown := values[c.Attribute]
		same := shown && fmt.Sprint(now) == fmt.Sprint(c.Value)
		stack = append(stack, shown && same == (c.Condition != "NEQ"))
		terms := c.Terms
		if between {
			terms = ""
			if i > 0 {
				terms = from[i-1].Terms
			}
		}
		for _, term := range strings.FieldsFunc(terms, func(r rune) bool { return r == ',' }) {
			if n := len(stack); n > 1 {
				a, b := stack[n-2], stack[n-1]
				stack = append(stack[:n-2], term == "AND" && a && b || term != "AND" && (a || b))
			}
		}
	}
	return slices.Contains(stack, true)
}

// locked reports whether an attribute cannot be set while the others have these
// values. The flag of the registry, written at some boot, counts where no
// dependency decides.
func (r *registry) locked(name string, values map[string]any) bool {
	decided := false
	for _, d := range r.depends[name] {
		if d.Dependency.Property != "ReadOnly" && d.Dependency.Property != "GrayOut" {
			continue
		}
		decided = true
		if fmt.Sprint(d.Dependency.Value) == "true" && d.holds(values) {
			return true
		}
	}
	return !decided && r.attributes[name].ReadOnly
}

// follow gives what changed values impose on attributes that were not set: a
// profile sets what it covers.
func (r *registry) follow(before, after, set map[string]any) map[string]any {
	imposed := map[string]any{}
	if r == nil {
		return imposed
	}
	for name, all := range r.depends {
		if _, given := set[name]; given {
			continue
		}
		for _, d := range all {
			if d.Dependency.Property == "CurrentValue" && d.holds(after) && !d.holds(before) {
				imposed[name] = d.Dependency.Value
			}
		}
	}
	return imposed
}

// judged are the values by which an attribute of a PATCH is judged: those in
// force with what waits and what comes along, or those in force alone.
func (s *system) judged(attributes map[string]any) map[string]any {
	values := maps.Clone(s.bios.current)
	if _, strict := s.bmc.faults["bios-rounds"]; !strict {
		maps.Copy(values, s.bios.pending)
		maps.Copy(values, attributes)
	}
	return values
}
