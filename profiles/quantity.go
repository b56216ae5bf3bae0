package profiles

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// Quantity is a number with its unit. The zero value is no quantity: it has no unit.
type Quantity struct {
	Value float64
	Unit  Unit
}

// quantityForm is one plain decimal number, then at most one space and a unit. No exponent, no
// thousands separator, no sign but minus: what a data sheet prints and nothing that needs guessing.
var quantityForm = regexp.MustCompile(`^(-?[0-9]+(?:\.[0-9]+)?) ?([^\s0-9.,+-]\S*)?$`)

// ParseQuantity reads "26.562 GB/s" or "16 lanes". A number alone is a count ("8"). The error names what is
// wrong with s and, where a unit is misspelt, the nearest one.
func ParseQuantity(s string) (Quantity, error) {
	parts := quantityForm.FindStringSubmatch(s)
	if parts == nil {
		return Quantity{}, fmt.Errorf("%q is not a quantity: write one number and its unit, such as %q", s, "16 GB/s")
	}
	value, err := strconv.ParseFloat(parts[1], 64)
	if err != nil || math.IsInf(value, 0) {
		return Quantity{}, fmt.Errorf("%q is not a quantity: the number is out of range", s)
	}
	unit := Unit(parts[2])
	if unit == "" {
		unit = Count
	}
	if _, known := unit.scale(); !known {
		return Quantity{}, fmt.Errorf("unknown unit %q in %q%s", unit, s, suggest(string(unit), unitNames()))
	}
	return Quantity{Value: value, Unit: unit}, nil
}

// String gives the form that [ParseQuantity] reads; a count prints as the bare number.
func (q Quantity) String() string {
	number := strconv.FormatFloat(q.Value, 'f', -1, 64)
	if q.Unit == Count || q.Unit == "" {
		return number
	}
	return number + " " + string(q.Unit)
}

// In converts q to unit u. It is an error when u measures something else, or either unit is unknown.
func (q Quantity) In(u Unit) (float64, error) {
	from, ok := q.Unit.scale()
	to, known := u.scale()
	if !ok || !known || from.dimension != to.dimension {
		return 0, fmt.Errorf("%s cannot be given in %q", q, u)
	}
	if from == to {
		return q.Value, nil
	}
	return (q.Value*from.factor + from.offset - to.offset) / to.factor, nil
}

// MarshalText gives [Quantity.String].
func (q Quantity) MarshalText() ([]byte, error) { return []byte(q.String()), nil }

// UnmarshalText reads what [ParseQuantity] reads.
func (q *Quantity) UnmarshalText(text []byte) error {
	parsed, err := ParseQuantity(string(text))
	if err != nil {
		return err
	}
	*q = parsed
	return nil
}

func unitNames() []string {
	names := make([]string, len(scales))
	for i, s := range scales {
		names[i] = string(s.unit)
	}
	return names
}
