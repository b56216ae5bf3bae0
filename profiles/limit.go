package profiles

import (
	"iter"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Provenance is the kind of ground a limit stands on. "Who says so?" is the first question of a dispute.
type Provenance string

// The kinds of provenance.
const (
	FromSpec     Provenance = "spec"     // a published standard or data sheet
	FromVendor   Provenance = "vendor"   // a vendor's guide, tool or support statement
	FromMeasured Provenance = "measured" // seen on named healthy machines
	FromDerived  Provenance = "derived"  // arithmetic on other limits
	FromAgreed   Provenance = "agreed"   // this order or customer: a batch's expect, or an agreed rule
)

// Relation is how a measured value must stand to a limit.
type Relation string

// The relations.
const (
	Min   Relation = "min"    // at least Value (or, for a version, at least Text[0])
	Max   Relation = "max"    // at most Value
	Equal Relation = "equal"  // exactly Value, or exactly Text[0]
	OneOf Relation = "one_of" // any of Text
)

// Limit is one limit of a profile, written in YAML as a relation, a provenance and a source:
//
//	{min: 16 lanes, provenance: spec, source: NVIDIA H100 data sheet}
//
// A nil Limit is no limit: the check records what it measured and judges nothing.
type Limit struct {
	Relation   Relation
	Value      Quantity // of numeric limits; its dimension is that of the field
	Text       []string // of word limits: one for equal, all choices for one_of
	Provenance Provenance
	Source     string
	Pos        Position // where it was written; not part of the resolved bytes
}

// Set says whether there is a limit at all. It may be called on nil.
func (l *Limit) Set() bool { return l != nil && l.Relation != "" }

// Number gives the numeric limit in unit u, NaN when there is none or u measures something else. NaN compares
// false with everything; judge [Limit.Set] first.
func (l *Limit) Number(u Unit) float64 {
	if !l.Set() {
		return math.NaN()
	}
	n, err := l.Value.In(u)
	if err != nil {
		return math.NaN()
	}
	return n
}

// String gives the limit without its ground: "16 lanes", "Enabled", "Multi-bit ECC or Single-bit ECC".
func (l *Limit) String() string {
	switch {
	case !l.Set():
		return ""
	case len(l.Text) > 0:
		return strings.Join(l.Text, " or ")
	default:
		return l.Value.String()
	}
}

// Limits goes over every limit that the profile has, in the order of its file, with the path of its keys:
// "pcie.gpu.width".
func (p *Profile) Limits() iter.Seq2[string, *Limit] {
	return func(yield func(string, *Limit) bool) {
		eachLimit("", reflect.ValueOf(p).Elem(), yield)
	}
}

// eachLimit says whether to go on.
func eachLimit(prefix string, v reflect.Value, yield func(string, *Limit) bool) bool {
	for i := range v.NumField() {
		name := fieldOf(v.Type().Field(i)).name
		if name == "" {
			continue
		}
		if l, ok := reflect.TypeAssert[*Limit](v.Field(i)); ok {
			if l != nil && !yield(prefix+name, l) {
				return false
			}
		} else if v.Field(i).Kind() == reflect.Struct && !eachLimit(prefix+name+".", v.Field(i), yield) {
			return false
		} else if firmware, ok := reflect.TypeAssert[map[string]Firmware](v.Field(i)); ok {
			for _, component := range slices.Sorted(maps.Keys(firmware)) {
				if !eachLimit(prefix+name+"."+component+".", reflect.ValueOf(firmware[component]), yield) {
					return false
				}
			}
		}
	}
	return true
}
