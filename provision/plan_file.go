package provision

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// PlanSchema names the form of a plan file.
const PlanSchema = "rackproof/plan/1"

// PlanFile is what `plan -o` writes and `run --plan` holds to: what a run of this
// very batch, by this workflow, would change on which machine.
type PlanFile struct {
	Schema    string        `json:"schema"`
	Made      time.Time     `json:"made"`
	Rackproof string        `json:"rackproof"` // version that made it
	Batch     PlanBatch     `json:"batch"`
	Workflow  PlanWorkflow  `json:"workflow"`
	Machines  []MachinePlan `json:"machines"`
}

// PlanBatch names the batch that was planned.
type PlanBatch struct {
	Name   string `json:"name"`
	File   string `json:"file"`   // absolute
	SHA256 string `json:"sha256"` // of the batch as it is understood, profiles and specs included
}

// PlanWorkflow names the workflow that was planned.
type PlanWorkflow struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
}

// NewPlanFile gathers a plan. file is the batch's own, as an absolute path.
func NewPlanFile(b *Batch, w Workflow, file, version string, plans []MachinePlan) (*PlanFile, error) {
	sum, err := b.sum()
	if err != nil {
		return nil, err
	}
	return &PlanFile{
		Schema: PlanSchema, Made: time.Now().UTC().Truncate(time.Second), Rackproof: version,
		Batch:    PlanBatch{Name: b.Name, File: file, SHA256: sum},
		Workflow: PlanWorkflow{Name: w.Name, Version: w.Plan().Version}, Machines: plans,
	}, nil
}

// sum is the hash of what a batch says, however its file is written.
func (b *Batch) sum() (string, error) {
	plain := *b
	plain.Source, plain.Arrived, plain.Planned = "", nil, nil
	text, err := json.Marshal(plain)
	if err != nil {
		return "", fmt.Errorf("batch %s: %w", b.Name, err)
	}
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:]), nil
}

// ParsePlanFile reads a plan file strictly: an unknown key, another schema or
// anything behind it is an error.
func ParsePlanFile(b []byte) (*PlanFile, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	var f PlanFile
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("not a plan file: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("not a plan file: something stands behind the plan")
	}
	if f.Schema != PlanSchema {
		return nil, fmt.Errorf("schema %q, this rackproof reads %s", f.Schema, PlanSchema)
	}
	if f.Batch.Name == "" || f.Batch.File == "" || f.Batch.SHA256 == "" || len(f.Machines) == 0 {
		return nil, errors.New("not a whole plan file: it must name its batch by name, file and sha256, and at least one machine")
	}
	seen := map[string]bool{}
	for _, m := range f.Machines {
		if m.Machine == "" || seen[m.Machine] {
			return nil, fmt.Errorf("machine %q is planned twice or has no name", m.Machine)
		}
		seen[m.Machine] = true
	}
	return &f, nil
}

// Fits refuses a batch or a workflow that is not the one planned.
func (f *PlanFile) Fits(b *Batch, w Workflow) error {
	sum, err := b.sum()
	switch {
	case err != nil:
		return err
	case b.Name != f.Batch.Name:
		return fmt.Errorf("the plan is for batch %s, the file says %s", f.Batch.Name, b.Name)
	case w.Name != f.Workflow.Name || f.Workflow.Version != w.Plan().Version:
		return fmt.Errorf("the plan is for workflow %s version %d, this would be %s version %d", f.Workflow.Name, f.Workflow.Version, w.Name, w.Plan().Version)
	case sum != f.Batch.SHA256:
		return fmt.Errorf("batch %s, or a profile or spec of it, was changed since %s, when the plan was made", b.Name, f.Made.Format("2006-01-02 15:04 UTC"))
	}
	return nil
}

// Names are the machines planned; one that could not be planned is none of them.
func (f *PlanFile) Names() (planned, left []string) {
	for _, m := range f.Machines {
		if m.Problem == "" {
			planned = append(planned, m.Machine)
		} else {
			left = append(left, m.Machine)
		}
	}
	return planned, left
}

// Differs says in one line each which machine a run would treat otherwise now than
// it was planned.
func (f *PlanFile) Differs(now []MachinePlan) []string {
	var out []string
	for _, n := range now {
		i := slices.IndexFunc(f.Machines, func(m MachinePlan) bool { return m.Machine == n.Machine })
		if i < 0 {
			out = append(out, n.Machine+" is not in the plan")
			continue
		}
		for _, d := range f.Machines[i].differs(n) {
			out = append(out, n.Machine+": "+d)
		}
	}
	return out
}

func (p MachinePlan) differs(now MachinePlan) []string {
	switch {
	case now.Problem != "":
		return []string{"cannot be planned now: " + now.Problem}
	case p.UUID != now.UUID || p.Serial != now.Serial || p.Is != now.Is:
		return []string{fmt.Sprintf("is another machine: plan %s %s, now %s %s", p.Is, p.UUID, now.Is, now.UUID)}
	}
	var out []string
	for _, c := range p.Changes {
		if !slices.Contains(now.Changes, c) {
			out = append(out, "planned and not needed so now: "+c.String())
		}
	}
	for _, c := range now.Changes {
		if !slices.Contains(p.Changes, c) {
			out = append(out, "needed now and not planned: "+c.String())
		}
	}
	return out
}

// String is the change in one line: "bios: IOMMU Enabled → Disabled".
func (c Change) String() string {
	s := c.Step + ": " + c.What
	if c.Now != "" {
		s += " " + c.Now + " →"
	}
	if c.Want != "" {
		s += " " + c.Want
	}
	return s
}
