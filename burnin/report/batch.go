package report

import "github.com/rackproof/rackproof/burnin"

// BatchSchema names the JSON form of a batch's report.
const BatchSchema = "rackproof/batch/1"

// Batch is the report over all machines of a batch.
type Batch struct {
	Name      string
	Summary   string // the last line of the run
	Simulated bool
	Rows      []Row
	Causes    []Cause
	Odd       []burnin.OddMachine // that stand out in the batch
}

// Row is one machine on the batch page.
type Row struct {
	Name, Rack, Serial string
	Attempt            int
	Result             string // PASSED, FAILED, HANDS, STUCK …
	Class              string // CSS class: the result's name, or unknown
	Line               string
	Href               string
}

// BatchJSON is the JSON form of a batch: `run --json` prints it once at the end.
type BatchJSON struct {
	Schema   string              `json:"schema"`
	Name     string              `json:"name"`
	Machines []burnin.Judgement  `json:"machines"`
	Causes   []Cause             `json:"causes"`
	Outliers []burnin.OddMachine `json:"outliers"` // machines that stand out in the batch: remarks
}

// NewBatchJSON gathers the judgements of a batch.
func NewBatchJSON(name string, js []burnin.Judgement) BatchJSON {
	if js == nil {
		js = []burnin.Judgement{}
	}
	odd := burnin.OddMachines(js)
	if odd == nil {
		odd = []burnin.OddMachine{}
	}
	return BatchJSON{Schema: BatchSchema, Name: name, Machines: js, Causes: Causes(js), Outliers: odd}
}
