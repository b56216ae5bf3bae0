package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/report"
	"github.com/rackproof/rackproof/provision"
)

// writeBatchPage writes runs/<run>/reports: the page over all machines of the run,
// its JSON, and beside them the page of each machine as its attempt was judged. It
// returns the page's path, or "" where no machine has come as far as a report.
func writeBatchPage(state string, run *provision.Run) (string, error) {
	dir := filepath.Join(provision.RunDir(state, run.ID), "reports")
	var judged []*report.Machine
	for i := range run.Machines {
		m := &run.Machines[i]
		j := judgement(state, run.ID, m)
		if j == nil {
			continue
		}
		judged = append(judged, &report.Machine{Judgement: *j})
		if err := copyReports(provision.AttemptDir(state, run.ID, m.Machine.Name, m.Attempt), dir, m.Machine.Name); err != nil {
			return "", err
		}
	}
	if len(judged) == 0 {
		return "", nil
	}
	page := report.NewBatch(string(run.ID), run.Summary(provision.Selector{}), judged)
	rows := map[string]report.Row{}
	for _, r := range page.Rows {
		rows[r.Name] = r
	}
	page.Rows = nil
	for _, m := range run.Sorted(provision.Selector{}) { // also those that have no judgement
		r, ok := rows[m.Machine.Name]
		if !ok {
			r = report.Row{Name: m.Machine.Name, Rack: place(m), Serial: m.Machine.Serial, Attempt: m.Attempt, Class: "unknown", Line: m.Line()}
		} else {
			r.Class = string(m.Result) // a fault that a step found goes before the judgement of its remains
		}
		r.Result = string(m.State)
		page.Rows = append(page.Rows, r)
	}
	var html bytes.Buffer
	if err := report.BatchHTML(&html, page); err != nil {
		return "", err
	}
	text, err := report.JSON(batchJSON(state, run, provision.Selector{}))
	if err != nil {
		return "", err
	}
	index := filepath.Join(dir, "index.html")
	return index, errors.Join(put(filepath.Join(dir, "batch.json"), text), put(index, html.Bytes()))
}

// copyReports puts the page and the JSON of an attempt beside the batch page, byte
// for byte as the report step wrote them.
func copyReports(attempt, dir, machine string) error {
	for from, to := range map[string]string{report.HTMLFile: machine + ".html", report.JSONFile: machine + ".json"} {
		b, err := os.ReadFile(filepath.Join(attempt, from))
		if err != nil {
			return err
		}
		if err := put(filepath.Join(dir, to), b); err != nil {
			return err
		}
	}
	return nil
}

// put writes a file whole or not at all.
func put(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp := path + ".part"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// runJSON is what `run --json` prints: the batch's report, and what only the run knows.
type runJSON struct {
	report.BatchJSON
	StepCauses []provision.Cause     `json:"step_causes"` // why machines wait, or a step found them at fault
	StepTimes  []provision.StepTimes `json:"step_times"`
	Until      time.Time             `json:"until,omitzero"` // when work on it was to end
}

// batchJSON gathers what `run --json` prints. A machine that has no report stands in it
// as incomplete, with its state as the line.
func batchJSON(state string, run *provision.Run, sel provision.Selector) runJSON {
	js := []burnin.Judgement{}
	for _, m := range run.Sorted(sel) {
		if j := judgement(state, run.ID, m); j != nil {
			js = append(js, *j)
			continue
		}
		result := m.Result
		if result == "" {
			result = burnin.Incomplete
		}
		js = append(js, burnin.Judgement{
			Schema: burnin.ReportSchema, Result: result, Line: strings.TrimSpace(string(m.State) + " " + m.Machine.Name + " " + m.Line()),
			Machine:  burnin.MachineLine{Name: m.Machine.Name, Rack: m.Machine.Rack, U: m.Machine.U, Attempt: m.Attempt},
			Profile:  burnin.Named{Name: m.Machine.Profile, SHA256: m.Machine.ProfileSHA256},
			Spec:     burnin.Named{Name: m.Machine.Spec, SHA256: m.Machine.SpecSHA256},
			Findings: []burnin.Finding{}, NotRun: []burnin.NotRun{}, NotTested: []string{}, Evidence: []burnin.EvidenceID{},
		})
	}
	return runJSON{report.NewBatchJSON(run.Batch.Name, js), run.Causes(sel), run.StepTimes(sel), run.Until}
}
