package profiles

import (
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Units of limits that are no quantities.
const (
	textUnit    = "text"
	versionUnit = "version"
	// firmwareUnit is a version of any form, compared by CompareVersions.
	firmwareUnit = "firmware"
)

var (
	limitKeys   = []string{string(Min), string(Max), string(Equal), string(OneOf), "provenance", "source"}
	provenances = []string{string(FromSpec), string(FromVendor), string(FromMeasured), string(FromDerived), string(FromAgreed)}
	versionForm = regexp.MustCompile(`^[0-9]+(\.[0-9]+)*$`)
)

// limit reads one limit. It gives one back even where there were problems: the file does not load then anyway.
func (d *decoder) limit(node ast.Node, f field) *Limit {
	limit := &Limit{Pos: position(d.file, node)}
	pairs, ok := entries(node)
	if !ok {
		d.problem(node, "%s must be a limit: {min: …, provenance: …, source: …}", f.name)
		return limit
	}
	relations := 0
	for _, pair := range pairs {
		key, _ := scalar(pair.Key)
		switch Relation(key) {
		case Min, Max, Equal, OneOf:
			relations++
			limit.Relation = Relation(key)
			d.operand(pair, limit, f)
			continue
		}
		text, ok := scalar(pair.Value)
		switch key {
		case "provenance":
			if d.word(pair.Value, "provenance", text, provenances) {
				limit.Provenance = Provenance(text)
			}
		case "source":
			if limit.Source = strings.TrimSpace(text); !ok || limit.Source == "" {
				d.problem(pair.Key, "the source of %s is empty", f.name)
			}
		default:
			d.unknownKey(pair.Key, key, limitKeys)
		}
	}
	if relations != 1 {
		d.problem(node, "%s needs exactly one of min, max, equal and one_of", f.name)
	}
	d.ground(node, pairs, f)
	return limit
}

// ground insists on provenance and source.
func (d *decoder) ground(node ast.Node, pairs []*ast.MappingValueNode, f field) {
	has := map[string]bool{}
	for _, pair := range pairs {
		key, _ := scalar(pair.Key)
		has[key] = true
	}
	if !has["provenance"] {
		d.problem(node, "%s has no provenance; say where the limit comes from: %s", f.name, strings.Join(provenances, ", "))
	}
	if !has["source"] {
		d.problem(node, "%s has no source; name the document or capture that states it", f.name)
	}
}

// operand reads what stands behind min, max, equal or one_of.
func (d *decoder) operand(pair *ast.MappingValueNode, limit *Limit, f field) {
	switch {
	case f.unit == textUnit:
		d.textOperand(pair, limit, f)
	case f.unit == versionUnit && limit.Relation == Min:
		limit.Text = []string{d.text(pair.Value, f)}
		if !versionForm.MatchString(limit.Text[0]) {
			d.problem(pair.Value, "%s must be a version such as 535.161.08, not %q", f.name, limit.Text[0])
		}
	case f.unit == versionUnit:
		d.problem(pair.Key, "%s is a version: use min, not %s", f.name, limit.Relation)
	case f.unit == firmwareUnit:
		d.firmwareOperand(pair, limit, f)
	case limit.Relation == OneOf:
		d.problem(pair.Key, "%s is a quantity: use min, max or equal, not one_of", f.name)
	default:
		limit.Value = d.quantity(pair.Value, f)
	}
}

// textOperand reads the operand of a text.
func (d *decoder) textOperand(pair *ast.MappingValueNode, limit *Limit, f field) {
	switch limit.Relation {
	case Equal:
		limit.Text = []string{d.text(pair.Value, f)}
	case OneOf:
		d.choices(pair.Value, limit, f)
	default:
		d.problem(pair.Key, "%s is text: use equal or one_of, not %s", f.name, limit.Relation)
	}
}

// firmwareOperand reads the operand of a firmware version, whose forms are its maker's.
func (d *decoder) firmwareOperand(pair *ast.MappingValueNode, limit *Limit, f field) {
	switch limit.Relation {
	case OneOf:
		d.choices(pair.Value, limit, f)
	case Max:
		d.problem(pair.Key, "%s is a firmware version: use min, equal or one_of, not max", f.name)
	default:
		limit.Text = []string{d.text(pair.Value, f)}
	}
}

func (d *decoder) text(node ast.Node, f field) string {
	text, ok := scalar(node)
	if !ok || strings.TrimSpace(text) == "" {
		d.problem(node, "%s must be a word", f.name)
	}
	return text
}

func (d *decoder) choices(node ast.Node, limit *Limit, f field) {
	sequence, ok := node.(*ast.SequenceNode)
	if !ok || len(sequence.Values) == 0 {
		d.problem(node, "one_of of %s must be a list: [a, b]", f.name)
		return
	}
	for _, item := range sequence.Values {
		limit.Text = append(limit.Text, d.text(item, f))
	}
}

// quantity reads a quantity whose dimension is that of the field.
func (d *decoder) quantity(node ast.Node, f field) Quantity {
	text, ok := scalar(node)
	if !ok {
		d.problem(node, "%s must be a quantity such as 8 %s", f.name, f.unit)
		return Quantity{}
	}
	q, err := ParseQuantity(text)
	if err != nil {
		d.problem(node, "%s: %v", f.name, err)
		return Quantity{}
	}
	want := Unit(f.unit)
	switch {
	case q.Unit.Dimension() == want.Dimension():
	case q.Unit == Count:
		d.problem(node, "%s has no unit: write %q", f.name, text+" "+f.unit)
	case want == Count:
		d.problem(node, "%s is a plain number: %q measures %s", f.name, text, q.Unit.Dimension())
	default:
		d.problem(node, "%s is given in %s: %q measures %s, not %s", f.name, f.unit, text, q.Unit.Dimension(), want.Dimension())
	}
	return q
}
