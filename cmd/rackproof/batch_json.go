package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/report"
	"github.com/rackproof/rackproof/provision"
)

// runJSON is what `run --json` prints: the batch's report, and what only the run knows.
type runJSON struct {
	report.BatchJSON
	StepCauses []provision.Cause     `json:"step_causes"` // why machines wait, or a step found them at fault
	StepTimes  []provision.StepTimes `json:"step_times"`
	Until      time.Time             `json:"until,omitzero"` // when work on it was to end
}

// noMachines is a batch without machines, as it is printed.
const noMachines = "\n  \"machines\": []"

// batchJSON writes what `run --json` prints. A machine that has no report stands in it
// as incomplete, with its state as the line. What there is of the machines goes from
// their files to w one after the other: of a thousand it is half a gigabyte.
func batchJSON(w io.Writer, read *judgements, run *provision.Run, sel provision.Selector) error {
	var js []burnin.Judgement
	chosen := run.Sorted(sel)
	for _, m := range chosen {
		if j := read.of(m); j != nil {
			js = append(js, *j)
			continue
		}
		js = append(js, unjudged(m))
	}
	batch := report.NewBatchJSON(run.Batch.Name, js)
	batch.Machines = []burnin.Judgement{}
	text, err := report.JSON(runJSON{batch, run.Causes(sel), run.StepTimes(sel), run.Until})
	if err != nil {
		return err
	}
	head, tail, ok := bytes.Cut(text, []byte(noMachines))
	if !ok || len(js) == 0 {
		_, err := w.Write(text)
		return err
	}
	_, err = io.WriteString(w, string(head)+strings.TrimSuffix(noMachines, "]"))
	var one bytes.Buffer
	for i, m := range chosen {
		raw, rerr := read.text(m, &js[i])
		one.Reset()
		if i > 0 {
			one.WriteByte(',')
		}
		one.WriteString("\n    ")
		ierr := json.Indent(&one, bytes.TrimSpace(raw), "    ", "  ")
		_, werr := one.WriteTo(w)
		if err = errors.Join(err, rerr, ierr, werr); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, "\n  ]"+string(tail))
	return err
}

// unjudged is a machine that has no report.
func unjudged(m *provision.MachineRun) burnin.Judgement {
	result := m.Result
	if result == "" {
		result = burnin.Incomplete
	}
	return burnin.Judgement{
		Schema: burnin.ReportSchema, Result: result, Line: strings.TrimSpace(string(m.State) + " " + m.Machine.Name + " " + m.Line()),
		Machine:  burnin.MachineLine{Name: m.Machine.Name, Rack: m.Machine.Rack, U: m.Machine.U, Attempt: m.Attempt},
		Profile:  burnin.Named{Name: m.Machine.Profile, SHA256: m.Machine.ProfileSHA256},
		Spec:     burnin.Named{Name: m.Machine.Spec, SHA256: m.Machine.SpecSHA256},
		Findings: []burnin.Finding{}, NotRun: []burnin.NotRun{}, NotTested: []string{}, Evidence: []burnin.EvidenceID{},
	}
}
