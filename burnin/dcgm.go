package burnin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// DCGMDiag is the JSON of dcgmi diag, of DCGM 3 and 4, with lines before it.
var DCGMDiag = Probe[DCGMLog]{
	Spec:  ProbeSpec{Name: "dcgm", Tool: "dcgmi"},
	Parse: parseDCGM,
}

// DCGMLog is what dcgmi diag said.
type DCGMLog struct {
	Version, Driver string
	Results         []DCGMResult
	Error           string // what kept it from running, "" = nothing
}

// DCGMResult is the answer of one test about one GPU, or about none in particular.
type DCGMResult struct {
	Test     string // as DCGM 4 calls it: "software", "targeted_stress"
	GPU      int    // DCGM's number; -1 = none
	Serial   string // of the GPU, where the output tells it
	Status   string // "pass", "warn", "fail", "skip", "not run"; in lower case
	Warnings []string
	Config   bool // DCGM says of each warning that it is about a setting
}

// dcgmInternal is the exit status by which dcgmi says that it broke itself.
const dcgmInternal = 226

// severityConfig is DCGM_ERROR_CONFIG of dcgm_errors.h: a setting, no fault of a part.
const severityConfig = 5

type dcgmDoc struct {
	V4       *dcgmBody `json:"DCGM Diagnostic"`
	V3       *dcgmBody `json:"DCGM GPU Diagnostic"`
	Metadata struct {
		Version any `json:"version"`
		Driver  any `json:"Driver Version Detected"`
	} `json:"metadata"`
	Groups []struct {
		Group    string `json:"entity_group"`
		Entities []struct {
			ID     any `json:"entity_id"`
			Serial any `json:"serial_num"`
		} `json:"entities"`
	} `json:"entity_groups"`
}

type dcgmBody struct {
	Version    any `json:"version"`
	Driver     any `json:"driver_version_detected"`
	Error      any `json:"runtime_error"`
	Categories []struct {
		Category any        `json:"category"`
		Tests    []dcgmTest `json:"tests"`
	} `json:"test_categories"`
}

type dcgmTest struct {
	Name    any       `json:"name"`
	Results []dcgmRow `json:"results"`
	Summary *dcgmRow  `json:"test_summary"`
}

type dcgmRow struct {
	Group    string `json:"entity_group"`
	ID       any    `json:"entity_id"`
	IDs      any    `json:"gpu_ids"` // DCGM 3: "0,1"
	IDv3     any    `json:"gpu_id"`
	Status   any    `json:"status"`
	Warnings any    `json:"warnings"` // DCGM 4: objects; older ones: a word, or words
}

func parseDCGM(e *Evidence) (DCGMLog, error) {
	body, _ := e.Body()
	at := jsonStart.FindIndex(body)
	if at == nil {
		if err := engineMissing(string(body) + "\n" + string(e.Err)); err != nil {
			return DCGMLog{}, err
		}
		if err := e.hung(); err != nil {
			return DCGMLog{}, err
		}
		if e.Exit != nil && *e.Exit == dcgmInternal {
			return DCGMLog{}, errors.New("dcgm: dcgmi ended with 226, an error of its own")
		}
		return DCGMLog{}, fmt.Errorf("dcgm: the output holds no JSON%s", firstLine(append(bytes.TrimSpace(body), e.Err...)))
	}
	var doc dcgmDoc
	if err := json.NewDecoder(bytes.NewReader(body[at[0]:])).Decode(&doc); err != nil {
		return DCGMLog{}, fmt.Errorf("dcgm: the JSON cannot be read, or was cut: %w", err)
	}
	root := doc.V4
	if root == nil {
		root = doc.V3
	}
	if root == nil {
		return DCGMLog{}, errors.New("dcgm: the JSON is not that of dcgmi diag")
	}
	l := DCGMLog{
		Version: firstWord(word(doc.Metadata.Version), word(root.Version)), Driver: firstWord(word(doc.Metadata.Driver), word(root.Driver)),
		Error: word(root.Error),
	}
	if err := engineMissing(l.Error); err != nil {
		l.Error = err.Error()
	}
	for _, category := range root.Categories {
		deployment := strings.EqualFold(word(category.Category), "Deployment")
		for _, t := range category.Tests {
			l.test(&t, deployment)
		}
	}
	for i := range l.Results {
		l.Results[i].Serial = doc.serial(l.Results[i].GPU)
	}
	return l, nil
}

// test takes the results of one test. Of DCGM 3 the tests of the category Deployment are
// what DCGM 4 calls software.
func (l *DCGMLog) test(t *dcgmTest, deployment bool) {
	name := strings.ReplaceAll(strings.ToLower(word(t.Name)), " ", "_")
	about := ""
	if deployment && name != "software" {
		name, about = "software", word(t.Name)
	}
	rows := t.Results
	if len(rows) == 0 && t.Summary != nil {
		rows = []dcgmRow{*t.Summary}
	}
	for i := range rows {
		r := rows[i].result()
		r.Test = name
		if about != "" && r.Status != "pass" && len(r.Warnings) == 0 {
			r.Warnings = []string{about}
		}
		for _, gpu := range rows[i].gpus() {
			one := r
			one.GPU = gpu
			l.Results = append(l.Results, one)
		}
	}
}

func (r *dcgmRow) result() DCGMResult {
	out := DCGMResult{Status: strings.ToLower(word(r.Status)), Config: true}
	list, ok := r.Warnings.([]any)
	if !ok {
		list = []any{r.Warnings}
	}
	for _, w := range list {
		text, config := word(w), false
		if m, ok := w.(map[string]any); ok {
			severity, _ := m["error_severity"].(float64)
			text, config = word(m["warning"]), severity == severityConfig
		}
		if text != "" {
			out.Warnings = append(out.Warnings, text)
			out.Config = out.Config && config
		}
	}
	out.Config = out.Config && len(out.Warnings) > 0
	return out
}

// gpus are the numbers that a result is about; -1 when about none in particular.
func (r *dcgmRow) gpus() []int {
	text := firstWord(word(r.IDs), word(r.IDv3))
	if strings.EqualFold(r.Group, "GPU") {
		text = firstWord(word(r.ID), text)
	}
	var out []int
	for id := range strings.SplitSeq(text, ",") {
		if n := optCount(id); n.Set && n.V < mostGPUs && !slices.Contains(out, int(n.V)) {
			out = append(out, int(n.V))
		}
	}
	if out == nil {
		return []int{-1}
	}
	return out
}

// serial is that of the GPU with a number; DCGM writes "<<<NOT_SUPPORTED>>>" for none.
func (d *dcgmDoc) serial(gpu int) string {
	for _, g := range d.Groups {
		for _, e := range g.Entities {
			if s := word(e.Serial); strings.EqualFold(g.Group, "GPU") && word(e.ID) == fmt.Sprint(gpu) && !strings.HasPrefix(s, "<") {
				return s
			}
		}
	}
	return ""
}
