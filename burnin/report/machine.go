package report

import (
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

// FromRecord judges rec against the profile and spec that stand in it, the ones
// it was judged with when it was made.
func FromRecord(rec *burnin.Record) (*Machine, error) {
	if len(rec.Profile) == 0 || len(rec.Spec) == 0 {
		return nil, fmt.Errorf("%s: the evidence holds no profile or spec (a bare capture); judge it with `rackproof judge --profile NAME`", rec.Meta.Machine)
	}
	p, err := profiles.ParseResolved(rec.Profile)
	if err != nil {
		return nil, fmt.Errorf("%s: profile.yaml in the evidence: %w", rec.Meta.Machine, err)
	}
	s, err := profiles.ParseResolvedSpec(rec.Spec)
	if err != nil {
		return nil, fmt.Errorf("%s: spec.yaml in the evidence: %w", rec.Meta.Machine, err)
	}
	return New(rec, p, s), nil
}

// Load reads an evidence folder or tarball and judges it as FromRecord does.
func Load(path string) (*Machine, error) {
	rec, err := burnin.LoadRecord(path)
	if err != nil {
		return nil, err
	}
	return FromRecord(rec)
}
