package main

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/report"
	"github.com/rackproof/rackproof/provision"
)

// judgements are what the latest attempts of a run's machines were judged. Each is read
// when it is first asked for, because several parts of what is printed tell of it, and
// only what they tell of is kept: all that was measured of a thousand machines does not
// fit into memory.
type judgements struct {
	state string
	run   provision.RunID
	read  map[string]*burnin.Judgement // by folder; nil where there is none
}

func judgementsIn(state string, run *provision.Run) *judgements {
	return &judgements{state: state, run: run.ID, read: map[string]*burnin.Judgement{}}
}

// dir is the folder of a machine's latest attempt.
func (j *judgements) dir(m *provision.MachineRun) string {
	return provision.AttemptDir(j.state, j.run, m.Machine.Name, m.Attempt)
}

// of is what a machine was judged, without what passed and compares with no other machine;
// nil where it is not over or has no report.
func (j *judgements) of(m *provision.MachineRun) *burnin.Judgement {
	if !m.Over() {
		return nil
	}
	dir := j.dir(m)
	if _, known := j.read[dir]; !known {
		read, _ := provision.ReadReport(dir) // nil with its error
		j.read[dir] = brief(read)
	}
	return j.read[dir]
}

// outliers are the machines that stand out among those chosen.
func (j *judgements) outliers(run *provision.Run, sel provision.Selector) []burnin.OddMachine {
	var js []burnin.Judgement
	for _, m := range run.Sorted(sel) {
		if read := j.of(m); read != nil {
			js = append(js, *read)
		}
	}
	return report.NewBatchJSON("", js).Outliers // empty, not null
}

// text is the JSON of a machine's report, of brief where it has none.
func (j *judgements) text(m *provision.MachineRun, brief *burnin.Judgement) ([]byte, error) {
	if j.of(m) == nil {
		return report.JSON(brief)
	}
	return os.ReadFile(filepath.Join(j.dir(m), report.JSONFile))
}

func brief(j *burnin.Judgement) *burnin.Judgement {
	if j == nil {
		return nil
	}
	short := *j
	short.Findings = slices.Clone(slices.DeleteFunc(j.Findings, func(f burnin.Finding) bool {
		return f.Verdict <= burnin.Pass && f.Waived == "" && f.Check != "outlier"
	}))
	short.Evidence = slices.Clone(slices.DeleteFunc(j.Evidence, func(e burnin.EvidenceID) bool { return !e.StandIn }))
	return &short
}
