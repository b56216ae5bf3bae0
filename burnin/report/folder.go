package report

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rackproof/rackproof/burnin"
)

// Attempts lists the attempt folders of one machine's folder, oldest first.
func Attempts(machineDir string) ([]string, error) {
	entries, err := os.ReadDir(machineDir)
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && e.IsDir() && isAttempt(filepath.Join(machineDir, e.Name())) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	dirs := make([]string, 0, len(numbers))
	for _, n := range numbers {
		dirs = append(dirs, filepath.Join(machineDir, strconv.Itoa(n)))
	}
	return dirs, nil
}

func isAttempt(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "evidence.json"))
	return err == nil
}

// Earlier reads the results of attempts before the last from their report.json;
// one that never got so far is told by that.
func Earlier(dirs []string) []Attempt {
	var out []Attempt
	for _, dir := range dirs {
		n, _ := strconv.Atoi(filepath.Base(dir))
		a := Attempt{Number: n, Result: burnin.Incomplete, Line: "did not get as far as a report"}
		if j, err := ReadJudgement(filepath.Join(dir, JSONFile)); err == nil {
			a.Result, a.Line = j.Result, burnin.OneLine(j.Reason())
		}
		if rec, err := burnin.LoadRecord(dir); err == nil {
			a.Started = rec.Meta.Started
		}
		out = append(out, a)
	}
	return out
}

// Folder judges what lies at path by what stands in it.
func Folder(path string) ([]*Machine, error) { return By{}.Folder(path) }

// Folder judges what lies at path: one attempt (folder or tarball), one machine's
// attempts, or all machines of a run, each by its last attempt.
func (by By) Folder(path string) ([]*Machine, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() || isAttempt(path) {
		m, err := by.Load(path)
		if err != nil {
			return nil, err
		}
		return []*Machine{m}, nil
	}
	if dirs, err := Attempts(path); err == nil && len(dirs) > 0 {
		m, err := by.latest(dirs)
		return []*Machine{m}, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var all []*Machine
	for _, e := range entries {
		dirs, err := Attempts(filepath.Join(path, e.Name()))
		if err != nil || len(dirs) == 0 {
			continue // run.log and the like
		}
		m, err := by.latest(dirs)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s holds no evidence (evidence.json) of any machine", path)
	}
	return all, nil
}

func (by By) latest(dirs []string) (*Machine, error) {
	m, err := by.Load(dirs[len(dirs)-1])
	if err != nil {
		return nil, err
	}
	m.Attempts = Earlier(dirs[:len(dirs)-1])
	return m, nil
}

// Write renders machines into out: per machine NAME.html and NAME.json, and for
// several a page and a file over all of them. Formats are "html", "json" and "tar":
// the evidence packet NAME.tar.gz, which holds all that was measured.
func Write(out, batch, summary string, ms []*Machine, formats []string) ([]string, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	var written []string
	put := func(name string, b []byte, err error) error {
		if err != nil {
			return fmt.Errorf("render %s: %w", name, err)
		}
		path := filepath.Join(out, name)
		written = append(written, path)
		return replace(path, b)
	}
	b := NewBatch(batch, summary, ms)
	for _, format := range formats {
		for _, m := range ms {
			if format == telemetryFormat {
				path, err := m.telemetry(out)
				if err != nil {
					return written, err
				}
				written = append(written, path)
				continue
			}
			if err := put(m.one(format)); err != nil {
				return written, err
			}
		}
		if len(ms) > 1 && format != "tar" && format != telemetryFormat {
			if err := put(b.all(format, ms)); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

func (m *Machine) one(format string) (string, []byte, error) {
	name := fileName(m.Machine.Name) + "." + format
	switch format {
	case "json":
		b, err := JSON(m.Judgement)
		return name, b, err
	case "html":
		var page strings.Builder
		err := HTML(&page, m)
		return name, []byte(page.String()), err
	case "tar":
		b, err := m.packet()
		return fileName(m.Machine.Name) + ".tar.gz", b, err
	default:
		return name, nil, fmt.Errorf("format %q: want html, json, telemetry or tar", format)
	}
}

// telemetryFormat is what was measured under load, as JSON lines.
const telemetryFormat = "telemetry"

// telemetry writes what was measured under load, NAME.telemetry.jsonl.
func (m *Machine) telemetry(out string) (path string, err error) {
	path = filepath.Join(out, fileName(m.Machine.Name)+".telemetry.jsonl")
	err = replaceBy(path, func(w io.Writer) error { return burnin.WriteTelemetry(w, m.Record, m.Profile) })
	if err != nil {
		return path, fmt.Errorf("render %s: %w", path, err)
	}
	return path, nil
}

// packet is the evidence as one .tar.gz: made of a folder, or the one that m was
// read from.
func (m *Machine) packet() ([]byte, error) {
	info, err := os.Stat(m.From)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return os.ReadFile(m.From)
	}
	var b bytes.Buffer
	err = burnin.Pack(m.From, &b)
	return b.Bytes(), err
}

func (b *Batch) all(format string, ms []*Machine) (string, []byte, error) {
	if format == "json" {
		js := make([]burnin.Judgement, 0, len(ms))
		for _, m := range ms {
			js = append(js, m.Judgement)
		}
		text, err := JSON(NewBatchJSON(b.Name, js))
		return "batch.json", text, err
	}
	var page strings.Builder
	err := BatchHTML(&page, b)
	return "index.html", []byte(page.String()), err
}

// NewBatch makes the page over several machines.
func NewBatch(name, summary string, ms []*Machine) *Batch {
	b := &Batch{Name: name, Summary: summary}
	js := make([]burnin.Judgement, 0, len(ms))
	for _, m := range ms {
		js = append(js, m.Judgement)
		b.Simulated = b.Simulated || m.Simulated
		b.Rows = append(b.Rows, Row{
			Name: m.Machine.Name, Rack: place(m.Machine), Attempt: m.Machine.Attempt, Serial: m.Machine.Identity.SystemSerial,
			Result: m.Result.Word(), Class: string(m.Result), Line: burnin.OneLine(m.Reason()), Href: fileName(m.Machine.Name) + ".html",
		})
	}
	b.Causes, b.Odd = Causes(js), burnin.OddMachines(js)
	if summary == "" {
		b.Summary = Tally(js)
	}
	return b
}

func place(m burnin.MachineLine) string {
	if m.U > 0 {
		return fmt.Sprintf("%s U%02d", m.Rack, m.U)
	}
	return m.Rack
}

// Tally counts results in one line: "12 machines: 3 PASSED · 9 FAILED".
func Tally(js []burnin.Judgement) string {
	count := map[burnin.Result]int{}
	for _, j := range js {
		count[j.Result]++
	}
	var parts []string
	for _, r := range []burnin.Result{burnin.Passed, burnin.PassedWithDeviations, burnin.Failed, burnin.Incomplete} {
		if count[r] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[r], r.Word()))
		}
	}
	return fmt.Sprintf("%d machines: %s", len(js), strings.Join(parts, " · "))
}

// fileName makes a machine's name usable as a file's.
func fileName(machine string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("/\\:*?\"<>| ", r) || r < ' ' {
			return '_'
		}
		return r
	}, machine)
}
