package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rackproof/rackproof/burnin"
)

// Names of the files that a report adds to an evidence folder.
const (
	HTMLFile = "report.html"
	JSONFile = "report.json"
)

// Save judges the evidence folder of an attempt and writes SHA256SUMS, report.html
// and report.json into it. Running it again gives the same bytes.
func Save(dir string, read Read, earlier []Attempt) (*Machine, error) {
	store, err := burnin.OpenStore(dir)
	if err != nil {
		return nil, err
	}
	rec, err := store.Sealed()
	if err != nil {
		return nil, err
	}
	m, err := By{Read: read}.Record(rec)
	if err != nil {
		return nil, err
	}
	m.From, m.Attempts = dir, earlier
	var page bytes.Buffer
	if err := HTML(&page, m); err != nil {
		return nil, err
	}
	text, err := JSON(m.Judgement)
	if err != nil {
		return nil, err
	}
	// report.json comes last: by it an attempt is known to be judged.
	return m, errors.Join(store.Put(HTMLFile, page.Bytes()), store.Put(JSONFile, text))
}

// JSON is the form that judge, burnin, run and report share.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// ReadJudgement reads a report.json.
func ReadJudgement(path string) (burnin.Judgement, error) {
	var j burnin.Judgement
	b, err := os.ReadFile(path)
	if err != nil {
		return j, err
	}
	if err := json.Unmarshal(b, &j); err != nil {
		return j, fmt.Errorf("%s: %w", path, err)
	}
	if j.Schema != burnin.ReportSchema {
		return j, fmt.Errorf("%s: schema %q, want %q", path, j.Schema, burnin.ReportSchema)
	}
	return j, nil
}

// replace writes a file whole or not at all.
func replace(path string, b []byte) error {
	return replaceBy(path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// replaceBy is replace for what is too large to be held in memory.
func replaceBy(path string, write func(io.Writer) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".part-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	if err := write(tmp); err != nil {
		_ = tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
