package burnin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// NVBandwidth is the output of nvbandwidth, as JSON (-j) or as text. Its copy engine
// tests verify what they copied unless they are told not to.
var NVBandwidth = Probe[CopyLog]{
	Spec:  ProbeSpec{Name: "nvbandwidth", Tool: "nvbandwidth"},
	Parse: parseNVBandwidth,
}

// CopyLog is what nvbandwidth said.
type CopyLog struct {
	Version  string
	Devices  []CopyDevice // since version 0.6; CUDA's order
	Tests    []CopyTest
	Error    string   // what ended the program, "" = nothing
	Messages []string // lines that belong to no test
}

// CopyDevice is one GPU as nvbandwidth lists it.
type CopyDevice struct {
	Index   int
	Address string // PCI
}

// CopyTest is one test case with its matrix: a row for each source (the host is one),
// a column for each GPU. A cell that was not measured is not set.
type CopyTest struct {
	Name   string
	Status string // "passed", "waived", "error", "not found"; in lower case, "" = none printed
	Cells  [][]Opt[float64]
	Text   string // why it did not pass, in the tool's words
}

// Passed reports whether the test measured something, and says why not.
func (t *CopyTest) Passed() error {
	switch {
	case t.Status == "waived":
		return fmt.Errorf("nvbandwidth waived %s: it does not suit this machine", t.Name)
	case t.Status != "passed":
		return fmt.Errorf("nvbandwidth could not run %s: %s", t.Name, firstWord(t.Text, t.Status, "it says no status"))
	case len(t.Cells) == 0:
		return fmt.Errorf("nvbandwidth says that %s passed, and shows no figures", t.Name)
	}
	return nil
}

// Test returns a test by its name, the worst of several, or nil.
func (l *CopyLog) Test(name string) *CopyTest {
	var found *CopyTest
	for i := range l.Tests {
		t := &l.Tests[i]
		if t.Name == name && (found == nil || t.Passed() != nil) {
			found = t
		}
	}
	return found
}

// wrongCopy is printed by the GPU that finds other data than were copied.
const wrongCopy = "Invalid value when checking the pattern"

// copyFaults are errors of CUDA by which the hardware is at fault, not the program or
// the driver's state.
var copyFaults = []string{wrongCopy, "CUDA_ERROR_ECC_UNCORRECTABLE", "CUDA_ERROR_NVLINK_UNCORRECTABLE", "CUDA_ERROR_HARDWARE_STACK_ERROR", "cudaErrorECCUncorrectable", "cudaErrorNvlinkUncorrectable", "cudaErrorHardwareStackError"}

// Fault returns the line by which the hardware is at fault, or "".
func (l *CopyLog) Fault() string {
	said := append([]string{l.Error}, l.Messages...)
	for _, t := range l.Tests {
		said = append(said, t.Text)
	}
	for _, line := range said {
		for _, word := range copyFaults {
			if strings.Contains(line, word) {
				return strings.TrimSpace(line)
			}
		}
	}
	return ""
}

func parseNVBandwidth(e *Evidence) (CopyLog, error) {
	body, _ := e.Body()
	var l CopyLog
	at := jsonStart.FindIndex(body)
	if at == nil {
		l.text(string(body))
	} else {
		l.Messages = lines(body[:at[0]])
		if err := l.json(body[at[0]:]); err != nil && l.Fault() == "" {
			return CopyLog{}, err
		}
	}
	l.Messages = append(l.Messages, lines(e.Err)...)
	if err := e.hung(); err != nil && len(l.Tests) == 0 && l.Fault() == "" {
		return l, err
	}
	if len(l.Tests) == 0 && l.Version == "" && l.Error == "" && l.Fault() == "" {
		return l, fmt.Errorf("nvbandwidth: this is no output of nvbandwidth%s", firstLine(append(bytes.TrimSpace(body), e.Err...)))
	}
	return l, nil
}

// jsonStart is where JSON begins behind what a program says first.
var jsonStart = regexp.MustCompile(`(?m)^\s*\{`)

// copyDoc is the part of nvbandwidth's JSON that is read.
type copyDoc struct {
	Root *struct {
		Version any       `json:"version"`
		Devices []any     `json:"GPU Device list"`
		Error   any       `json:"error"`
		Warning any       `json:"warning"`
		Tests   []copyRow `json:"testcases"`
	} `json:"nvbandwidth"`
}

type copyRow struct {
	Name   any     `json:"name"`
	Status any     `json:"status"`
	Error  any     `json:"error"`
	Matrix [][]any `json:"bandwidth_matrix"`
}

func (l *CopyLog) json(b []byte) error {
	var doc copyDoc
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&doc); err != nil {
		return fmt.Errorf("nvbandwidth: the JSON cannot be read, or was cut: %w", err)
	}
	if doc.Root == nil {
		return errors.New("nvbandwidth: the JSON is not that of nvbandwidth")
	}
	l.Version, l.Error = word(doc.Root.Version), word(doc.Root.Error)
	if w := word(doc.Root.Warning); w != "" {
		l.Messages = append(l.Messages, w)
	}
	for _, d := range doc.Root.Devices {
		l.device(word(d))
	}
	for _, row := range doc.Root.Tests {
		t := CopyTest{Name: word(row.Name), Status: strings.ToLower(word(row.Status)), Text: firstWord(word(row.Error), l.Error)}
		for _, cells := range row.Matrix {
			var r []Opt[float64]
			for _, c := range cells {
				r = append(r, optRate(word(c)))
			}
			t.Cells = append(t.Cells, r)
		}
		l.Tests = append(l.Tests, t)
	}
	return nil
}

// word is what a JSON value reads, "" of none and of what is no plain value.
func word(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// optRate reads a cell. What is not measured, as the diagonal, is "N/A", or 0.00 in
// versions before 0.5.
func optRate(text string) Opt[float64] {
	o := optQuantity(text, profiles.GBPerSecond, profiles.GBPerSecond)
	if o.V <= 0 {
		return Opt[float64]{Text: text}
	}
	return o
}

var (
	// "0: NVIDIA H100 80GB HBM3 (00000000:19:00): (host)", "Device 0: NVIDIA H100 80GB HBM3 (00000000:19:00)"
	copyDevice  = regexp.MustCompile(`^(?:Device )?(\d+): .*\(([0-9a-fA-F]{8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})\)`)
	copyRunning = regexp.MustCompile(`^Running (\w+)\.$`)
	copyEnded   = regexp.MustCompile(`(?i)^(waived|error|not found)\b:?\s*(.*)$`)
	copyCells   = regexp.MustCompile(`^\d+(?:\s+(?:\d+(?:\.\d+)?|N/A))+$`)
	copyColumns = regexp.MustCompile(`^\d+(?:\s+\d+)*$`)
)

func (l *CopyLog) device(line string) bool {
	m := copyDevice.FindStringSubmatch(line)
	if m != nil {
		l.Devices = append(l.Devices, CopyDevice{Index: atoi(m[1]), Address: normalAddress(m[2])})
	}
	return m != nil
}

// text reads the plain form: "Running X.", a description, a line of columns, and a
// line for each row, which begins with its number.
func (l *CopyLog) text(body string) {
	columns := 0 // of the table that is being read
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		switch m := copyRunning.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "nvbandwidth Version: "):
			l.Version = strings.TrimPrefix(line, "nvbandwidth Version: ")
		case l.device(line):
		case m != nil:
			l.Tests = append(l.Tests, CopyTest{Name: m[1]})
			columns = 0
		case line == "":
			columns = 0 // another table of the test may follow
		case len(l.Tests) > 0 && l.Tests[len(l.Tests)-1].line(line, &columns):
		default:
			l.Messages = append(l.Messages, line)
		}
	}
}

// line takes a line of a test, and reports whether it is one.
func (t *CopyTest) line(line string, columns *int) bool {
	ended := copyEnded.FindStringSubmatch(line)
	switch {
	case ended != nil && (len(t.Cells) == 0 || !strings.EqualFold(ended[1], "waived")): // else it is of a test that is not named
		t.Status, t.Text = strings.ToLower(ended[1]), ended[2]
	case *columns == 0 && copyColumns.MatchString(line):
		*columns = len(strings.Fields(line))
	case *columns > 0 && copyCells.MatchString(line):
		t.row(strings.Fields(line)[1:], *columns)
	default:
		return false
	}
	return true
}

// row takes a line of figures; one that was cut holds fewer than there are columns.
func (t *CopyTest) row(cells []string, columns int) {
	if len(cells) != columns {
		t.Status, t.Text = "error", "a line of its table was cut"
		return
	}
	var r []Opt[float64]
	for _, c := range cells {
		r = append(r, optRate(c))
	}
	t.Cells = append(t.Cells, r)
	if t.Status == "" {
		t.Status = "passed"
	}
}
