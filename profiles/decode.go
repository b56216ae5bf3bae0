package profiles

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// decoder lays YAML over Go values. go-yaml's own strict mode stops at the first mistake and knows nothing of
// units, so the walk is ours: it reports every mistake, and laying one file after another over the same value is
// what `extends` means. Struct tags steer it:
//
//	yaml:"width"       the key
//	unit:"lanes"       of a *Limit: the unit that fixes its dimension, or text, or version
//	enum:"sxm,pcie"    the words allowed, also for the elements or values of a collection
//	keys:"check"       the keys of a map are check names, alone or as check/quantity; or the words allowed
//	required:"true"    the key must be there in the end
type decoder struct {
	file     string
	checks   []string // known check names; none known means that none are verified
	problems Problems
}

// field is what the tags of a struct field say about its value.
type field struct {
	name string
	unit string
	enum []string
	keys string
}

func fieldOf(f reflect.StructField) field {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	var enum []string
	if tag := f.Tag.Get("enum"); tag != "" {
		enum = strings.Split(tag, ",")
	}
	return field{name: name, unit: f.Tag.Get("unit"), enum: enum, keys: f.Tag.Get("keys")}
}

func (d *decoder) problem(node ast.Node, format string, args ...any) {
	d.problems.add(position(d.file, node), format, args...)
}

// value lays node over v. What node does not mention stays as it was, except in lists and limits, which are
// replaced whole.
func (d *decoder) value(node ast.Node, v reflect.Value, f field) {
	switch node.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		d.problem(node, "anchors, aliases and tags are not used here; write the value out or use extends")
		return
	case *ast.NullNode:
		d.problem(node, "%s has no value; delete the line if nothing is to be said", f.name)
		return
	}
	if limit, ok := reflect.TypeAssert[**Limit](v.Addr()); ok {
		*limit = d.limit(node, f)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structure(node, v, f)
	case reflect.Map:
		d.mapping(node, v, f)
	case reflect.Slice:
		d.list(node, v, f)
	default:
		d.scalar(node, v, f)
	}
}

func (d *decoder) structure(node ast.Node, v reflect.Value, f field) {
	pairs, ok := entries(node)
	if !ok {
		d.problem(node, "%s must be keys and values", f.name)
		return
	}
	fields := map[string]reflect.StructField{}
	var known []string
	for _, sf := range reflect.VisibleFields(v.Type()) {
		if name := fieldOf(sf).name; name != "" {
			fields[name] = sf
			known = append(known, name)
		}
	}
	for _, pair := range pairs {
		key, _ := scalar(pair.Key)
		sf, ok := fields[key]
		if !ok {
			d.unknownKey(pair.Key, key, known)
			continue
		}
		d.value(pair.Value, v.FieldByIndex(sf.Index), fieldOf(sf))
	}
	for _, name := range known {
		if fields[name].Tag.Get("required") != "" && v.FieldByIndex(fields[name].Index).IsZero() {
			d.problem(node, "%s is missing", name)
		}
	}
}

func (d *decoder) unknownKey(node ast.Node, key string, known []string) {
	if near := Nearest(key, known); near != "" {
		d.problem(node, "unknown key %q, did you mean %q?", key, near)
		return
	}
	d.problem(node, "unknown key %q; known here: %s", key, strings.Join(known, ", "))
}

func (d *decoder) mapping(node ast.Node, v reflect.Value, f field) {
	pairs, ok := entries(node)
	if !ok {
		d.problem(node, "%s must be keys and values", f.name)
		return
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	for _, pair := range pairs {
		key := reflect.New(v.Type().Key()).Elem()
		before := len(d.problems)
		d.scalar(pair.Key, key, field{name: "a key of " + f.name})
		d.key(pair.Key, key, f)
		if len(d.problems) > before {
			continue
		}
		// An entry is laid over the one that is there, so that a profile may change one word of it.
		entry := reflect.New(v.Type().Elem()).Elem()
		if old := v.MapIndex(key); old.IsValid() {
			entry.Set(old)
		}
		d.value(pair.Value, entry, field{name: key.String(), enum: f.enum})
		v.SetMapIndex(key, entry)
	}
}

// key checks the key of a map against the words that its tag allows.
func (d *decoder) key(node ast.Node, key reflect.Value, f field) {
	switch {
	case f.keys == "check" && len(d.checks) > 0:
		check, _, _ := strings.Cut(key.String(), "/")
		d.word(node, "check", check, d.checks)
	case f.keys != "" && f.keys != "check":
		d.word(node, "key", key.String(), strings.Split(f.keys, ","))
	}
}

func (d *decoder) list(node ast.Node, v reflect.Value, f field) {
	sequence, ok := node.(*ast.SequenceNode)
	if !ok {
		d.problem(node, "%s must be a list: [a, b]", f.name)
		return
	}
	list := reflect.MakeSlice(v.Type(), len(sequence.Values), len(sequence.Values))
	for i, item := range sequence.Values {
		d.value(item, list.Index(i), field{name: f.name, enum: f.enum})
	}
	v.Set(list)
}

func (d *decoder) scalar(node ast.Node, v reflect.Value, f field) {
	text, ok := scalar(node)
	if !ok {
		d.problem(node, "%s must be a single value", f.name)
		return
	}
	switch v.Kind() {
	case reflect.String:
		if len(f.enum) > 0 && !d.word(node, f.name, text, f.enum) {
			return
		}
		v.SetString(text)
	case reflect.Int, reflect.Float64:
		d.number(node, text, v, f)
	case reflect.Bool:
		if text != "true" && text != "false" {
			d.problem(node, "%s must be true or false, not %q", f.name, text)
		}
		v.SetBool(text == "true")
	case reflect.Interface: // a raw BIOS attribute keeps the type it was written in
		v.Set(reflect.ValueOf(attribute(node, text)))
	default:
		panic(fmt.Sprintf("profiles: field %s of kind %s cannot be read from YAML", f.name, v.Kind()))
	}
}

// number reads a plain number that is not negative.
func (d *decoder) number(node ast.Node, text string, v reflect.Value, f field) {
	if v.Kind() == reflect.Int {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			d.problem(node, "%s must be a whole number, not %q", f.name, text)
		}
		v.SetInt(int64(n))
		return
	}
	q, err := ParseQuantity(text)
	if err != nil || q.Unit != Count || q.Value < 0 {
		d.problem(node, "%s must be a number, not %q", f.name, text)
	}
	v.SetFloat(q.Value)
}

// attribute gives a number or boolean as such and everything else as text.
func attribute(node ast.Node, text string) any {
	switch node.(type) {
	case *ast.IntegerNode:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	case *ast.FloatNode:
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return n
		}
	case *ast.BoolNode:
		return text == "true"
	}
	return text
}

// word checks that text is one of known.
func (d *decoder) word(node ast.Node, name, text string, known []string) bool {
	if slices.Contains(known, text) {
		return true
	}
	if near := Nearest(text, known); near != "" {
		d.problem(node, "unknown %s %q, did you mean %q?", name, text, near)
	} else {
		d.problem(node, "unknown %s %q; known: %s", name, text, strings.Join(known, ", "))
	}
	return false
}
