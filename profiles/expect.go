package profiles

import "fmt"

// Expect is what one order adds to a model: the batch's `expect:`. Nil is not stated, zero is none.
type Expect struct {
	DIMMs     *int      `yaml:"dimms,omitempty" json:"dimms,omitempty"`
	DIMMSize  *Quantity `yaml:"dimm_size,omitempty" json:"dimm_size,omitempty"`
	DIMMSpeed *Quantity `yaml:"dimm_speed,omitempty" json:"dimm_speed,omitempty"` // configured, in MT/s
	GPUs      *int      `yaml:"gpus,omitempty" json:"gpus,omitempty"`
	Drives    *int      `yaml:"drives,omitempty" json:"drives,omitempty"`         // NVMe drives
	DriveSize *Quantity `yaml:"drive_size,omitempty" json:"drive_size,omitempty"` // the least capacity of each
	NICs      *int      `yaml:"nics,omitempty" json:"nics,omitempty"`             // adapters, not ports
	PSUs      *int      `yaml:"psus,omitempty" json:"psus,omitempty"`
}

// WithExpect gives the profile with the order's expectations over its own limits; p stays as it is. Their
// provenance is agreed and their source the batch at pos. The error is [Problems] and names each quantity that has
// the wrong unit or cannot be.
func (p *Profile) WithExpect(e Expect, pos Position) (*Profile, error) {
	with, err := ParseResolved(p.bytes)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", p.Name, err)
	}
	o := order{pos: pos}
	o.count(&with.Memory.DIMMs, "dimms", e.DIMMs)
	o.count(&with.GPU.Count, "gpus", e.GPUs)
	o.count(&with.NVMe.Count, "drives", e.Drives)
	o.count(&with.NIC.Count, "nics", e.NICs)
	o.count(&with.PSU.Count, "psus", e.PSUs)
	o.quantity(&with.Memory.DIMMSize, "dimm_size", e.DIMMSize, Equal, GiB)
	o.quantity(&with.Memory.Speed, "dimm_speed", e.DIMMSpeed, Min, MTPerSecond)
	o.quantity(&with.NVMe.CapacityMin, "drive_size", e.DriveSize, Min, TB)
	if err := o.problems.err(); err != nil {
		return nil, err
	}
	return with, with.seal()
}

// order turns what a batch expects into limits.
type order struct {
	pos      Position
	problems Problems
}

func (o *order) count(limit **Limit, key string, n *int) {
	switch {
	case n == nil:
	case *n < 0:
		o.problems.add(o.pos, "expect: %s must not be negative", key)
	default:
		*limit = o.limit(Equal, Quantity{Value: float64(*n), Unit: Count})
	}
}

func (o *order) quantity(limit **Limit, key string, q *Quantity, r Relation, u Unit) {
	switch {
	case q == nil:
	case q.Unit.Dimension() != u.Dimension():
		o.problems.add(o.pos, "expect: %s is given in %s: %q measures %s, not %s", key, u, q, q.Unit.Dimension(), u.Dimension())
	case q.Value <= 0:
		o.problems.add(o.pos, "expect: %s must be more than nothing", key)
	default:
		*limit = o.limit(r, *q)
	}
}

// limit does not say in which line of which file it stands: machines that expect
// the same have the same profile, by its hash.
func (o *order) limit(r Relation, q Quantity) *Limit {
	return &Limit{Relation: r, Value: q, Provenance: FromAgreed, Source: "expect of the batch", Pos: o.pos}
}
