package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/burnin"
)

// Names of the files that a report adds to an evidence folder.
const (
	ManifestFile = "SHA256SUMS"
	HTMLFile     = "report.html"
	JSONFile     = "report.json"
)

// Seal writes SHA256SUMS over every evidence file of an attempt's folder, in the
// form that `sha256sum -c` checks, and returns the hash of that file: whoever
// holds it can tell whether any byte of the evidence was changed.
func Seal(dir string) (string, error) {
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		switch rel {
		case ManifestFile, HTMLFile, JSONFile:
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		h := sha256.Sum256(b)
		lines = append(lines, hex.EncodeToString(h[:])+"  "+filepath.ToSlash(rel)+"\n")
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("seal %s: %w", dir, err)
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	manifest := []byte(strings.Join(lines, ""))
	if err := replace(filepath.Join(dir, ManifestFile), manifest); err != nil {
		return "", err
	}
	h := sha256.Sum256(manifest)
	return hex.EncodeToString(h[:]), nil
}

// Save judges the evidence folder of an attempt and writes SHA256SUMS, report.json
// and report.html into it. Running it again gives the same bytes.
func Save(dir string, earlier []Attempt) (*Machine, error) {
	m, err := Load(dir)
	if err != nil {
		return nil, err
	}
	m.Attempts = earlier
	if m.Manifest, err = Seal(dir); err != nil {
		return nil, err
	}
	text, err := JSON(m.Judgement)
	if err != nil {
		return nil, err
	}
	if err := replace(filepath.Join(dir, JSONFile), text); err != nil {
		return nil, err
	}
	var page bytes.Buffer
	if err := HTML(&page, m); err != nil {
		return nil, err
	}
	return m, replace(filepath.Join(dir, HTMLFile), page.Bytes())
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
	tmp, err := os.CreateTemp(filepath.Dir(path), ".part-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	if _, err := tmp.Write(b); err != nil {
		_ = tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
