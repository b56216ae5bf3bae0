package profiles

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/invopop/jsonschema"
)

// ProfileJSONSchema gives the JSON Schema of a profile, from which editors complete and check. It knows the units of
// every limit and the names of this library's checks.
func (l *Library) ProfileJSONSchema() ([]byte, error) {
	return l.jsonSchema(profileKind, reflect.TypeFor[Profile]())
}

// SpecJSONSchema gives the JSON Schema of an acceptance spec.
func (l *Library) SpecJSONSchema() ([]byte, error) {
	return l.jsonSchema(specKind, reflect.TypeFor[Spec]())
}

func (l *Library) jsonSchema(k kind, t reflect.Type) ([]byte, error) {
	catalogue, err := l.Catalogue()
	if err != nil {
		return nil, err
	}
	reflector := jsonschema.Reflector{
		Anonymous: true, ExpandedStruct: true, FieldNameTag: "yaml", RequiredFromJSONSchemaTags: true,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if t == reflect.TypeFor[Limit]() {
				return &jsonschema.Schema{} // a limit is described by the unit of its field
			}
			return nil
		},
	}
	root := reflector.ReflectFromType(t)
	root.Title = "rackproof " + k.noun
	w := schemaWriter{root: root, checks: catalogue.CheckNames(), done: map[reflect.Type]bool{}}
	w.structure(root, t)
	if schema, ok := root.Properties.Get("schema"); ok {
		schema.Const = k.schema
	}
	b, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write JSON Schema of a %s: %w", k.noun, err)
	}
	return append(b, '\n'), nil
}

// schemaWriter adds to a reflected schema what the struct tags of the decoder say.
type schemaWriter struct {
	root   *jsonschema.Schema
	checks []string
	done   map[reflect.Type]bool
	entry  bool // the structure is an entry of a catalogue, so nothing in it is required
}

func (w *schemaWriter) structure(s *jsonschema.Schema, t reflect.Type) {
	if w.done[t] {
		return
	}
	w.done[t] = true
	for _, sf := range reflect.VisibleFields(t) {
		f := fieldOf(sf)
		if f.name == "" {
			continue
		}
		if sf.Tag.Get("required") != "" && !w.entry {
			s.Required = append(s.Required, f.name)
		}
		if f.unit != "" {
			s.Properties.Set(f.name, w.limit(f.unit))
			continue
		}
		if property, ok := s.Properties.Get(f.name); ok {
			w.property(property, sf.Type, f)
		}
	}
}

func (w *schemaWriter) property(s *jsonschema.Schema, t reflect.Type, f field) {
	switch t.Kind() {
	case reflect.Struct:
		w.structure(w.root.Definitions[t.Name()], t)
	case reflect.Slice:
		w.property(s.Items, t.Elem(), field{enum: f.enum})
	case reflect.Map:
		switch {
		case f.keys == "check":
			s.PropertyNames = &jsonschema.Schema{Pattern: "^(" + alternatives(w.checks) + ")(/.+)?$"}
		case f.keys != "":
			s.PropertyNames = &jsonschema.Schema{Enum: words(strings.Split(f.keys, ","))}
		}
		for _, values := range append(patterns(s), s.AdditionalProperties) {
			if values != nil {
				// An entry may lie over one of the shared catalogue and change a word of it.
				w.entry = t.Elem() == reflect.TypeFor[KernelRule]() || t.Elem() == reflect.TypeFor[XIDEntry]() ||
					t.Elem() == reflect.TypeFor[SXIDEntry]() || t.Elem() == reflect.TypeFor[ClockReasonRule]()
				w.property(values, t.Elem(), field{enum: f.enum})
				w.entry = false
			}
		}
	case reflect.String:
		s.Enum = words(f.enum)
	default: // numbers and booleans need no more than their type
	}
}

// limit refers to the definition of limits in one unit, which it makes at its first use.
func (w *schemaWriter) limit(unit string) *jsonschema.Schema {
	name := "limit-" + strings.NewReplacer("/", "-per-", "%", "percent").Replace(unit)
	if w.root.Definitions[name] == nil {
		w.root.Definitions[name] = limitSchema(unit)
	}
	return &jsonschema.Schema{Ref: "#/$defs/" + name}
}

func limitSchema(unit string) *jsonschema.Schema {
	one := uint64(1)
	operand, relations := &jsonschema.Schema{}, []Relation{Min, Max, Equal}
	switch unit {
	case textUnit:
		relations = []Relation{Equal, OneOf}
	case firmwareUnit:
		relations = []Relation{Min, Equal, OneOf}
	case versionUnit:
		operand, relations = &jsonschema.Schema{Pattern: versionForm.String()}, []Relation{Min}
	case string(Count):
		operand = &jsonschema.Schema{Type: "integer", Minimum: "0"}
	default:
		operand = &jsonschema.Schema{Type: "string", Pattern: `^-?[0-9]+(\.[0-9]+)? ?(` + alternatives(unitsLike(Unit(unit))) + ")$"}
	}
	properties := jsonschema.NewProperties()
	s := &jsonschema.Schema{Type: "object", Properties: properties, Required: []string{"provenance", "source"}, AdditionalProperties: jsonschema.FalseSchema}
	for _, r := range relations {
		value := operand
		if r == OneOf {
			value = &jsonschema.Schema{Type: "array", MinItems: &one}
		}
		properties.Set(string(r), value)
		s.OneOf = append(s.OneOf, &jsonschema.Schema{Required: []string{string(r)}})
	}
	properties.Set("provenance", &jsonschema.Schema{Type: "string", Enum: words(provenances)})
	properties.Set("source", &jsonschema.Schema{Type: "string", MinLength: &one})
	return s
}

// unitsLike are the units of the dimension of u.
func unitsLike(u Unit) []string {
	var units []string
	for _, s := range scales {
		if s.dimension == u.Dimension() {
			units = append(units, string(s.unit))
		}
	}
	return units
}

func patterns(s *jsonschema.Schema) []*jsonschema.Schema {
	var values []*jsonschema.Schema
	for _, value := range s.PatternProperties {
		values = append(values, value)
	}
	return values
}

func alternatives(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = regexp.QuoteMeta(name)
	}
	return strings.Join(quoted, "|")
}

func words(names []string) []any {
	var values []any
	for _, name := range names {
		values = append(values, name)
	}
	return values
}
