package report

import (
	"bytes"
	"fmt"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

// Machine is one machine's test record, ready to be rendered.
type Machine struct {
	burnin.Judgement

	Record    *burnin.Record
	Spec      *profiles.Spec
	Profile   *profiles.Profile
	Inventory []burnin.InventoryGroup
	Attempts  []Attempt
	From      string // folder or tarball of the evidence
}

// Unfinished reports whether the attempt has not come to its end: then there is
// nothing that a customer could declare.
func (m *Machine) Unfinished() bool {
	return m.Coverage != burnin.CoverPartial && m.Record.Meta.Ended.IsZero()
}

// Attempt is one attempt at this machine and how it ended; the last is the one
// that the report is about.
type Attempt struct {
	Number  int
	Started time.Time
	Result  burnin.Result
	Line    string // why it ended so
}

// New judges rec and gathers what a report prints.
func New(rec *burnin.Record, p *profiles.Profile, s *profiles.Spec) *Machine {
	return &Machine{
		Judgement: burnin.Judge(rec, p, s),
		Record:    rec, Profile: p, Spec: s,
		Inventory: burnin.Inventory(rec, p),
	}
}

// By is what evidence is judged by. The zero By is the profile and spec that stand
// in the evidence, the ones it was judged with when it was made.
type By struct {
	Profile *profiles.Profile // nil = the stored one
	Spec    *profiles.Spec    // nil = the stored one
	Default *profiles.Spec    // where neither is there: a bare capture
	Read    Read
}

// Read is a profile and a spec that the caller has read before. They save reading the
// stored ones where those are the same, byte by byte.
type Read struct {
	Profile *profiles.Profile
	Spec    *profiles.Spec
}

func (r Read) profile(b []byte) (*profiles.Profile, error) {
	if r.Profile != nil && bytes.Equal(r.Profile.Bytes(), b) {
		return r.Profile, nil
	}
	return profiles.ParseResolved(b)
}

func (r Read) spec(b []byte) (*profiles.Spec, error) {
	if r.Spec != nil && bytes.Equal(r.Spec.Bytes(), b) {
		return r.Spec, nil
	}
	return profiles.ParseResolvedSpec(b)
}

// Record judges rec.
func (by By) Record(rec *burnin.Record) (*Machine, error) {
	p, s := by.Profile, by.Spec
	var err error
	switch {
	case p != nil:
		rec.Machine.Guessed = false
	case len(rec.Profile) == 0:
		return nil, fmt.Errorf("%s: the evidence holds no profile (a bare capture); name one with --profile NAME", rec.Meta.Machine)
	default:
		if p, err = by.Read.profile(rec.Profile); err != nil {
			return nil, fmt.Errorf("%s: profile.yaml in the evidence: %w", rec.Meta.Machine, err)
		}
	}
	switch {
	case s != nil:
	case len(rec.Spec) == 0 && by.Default == nil:
		return nil, fmt.Errorf("%s: the evidence holds no spec (a bare capture); name one with --spec NAME", rec.Meta.Machine)
	case len(rec.Spec) == 0:
		s = by.Default
	default:
		if s, err = by.Read.spec(rec.Spec); err != nil {
			return nil, fmt.Errorf("%s: spec.yaml in the evidence: %w", rec.Meta.Machine, err)
		}
	}
	return New(rec, p, s), nil
}

// Load reads an evidence folder or tarball and judges it.
func (by By) Load(path string) (*Machine, error) {
	rec, err := burnin.LoadRecord(path)
	if err != nil {
		return nil, err
	}
	m, err := by.Record(rec)
	if err != nil {
		return nil, err
	}
	m.From = path
	return m, nil
}

// Load reads an evidence folder or tarball and judges it by what stands in it.
func Load(path string) (*Machine, error) { return By{}.Load(path) }
