package redfishtest

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Tree is what a BMC serves: URI as served, without a trailing slash, to body.
// A page of a collection has its query in the URI ("…/Sensors?$skip=75"). A
// body need not be valid JSON: some BMCs send what is not.
//
// A Tree given to [Start] is read, never written: many BMCs can share one.
type Tree map[string]json.RawMessage

// maxBody bounds one captured body; the largest seen (a Dell attribute
// registry) is under 1 MiB.
const maxBody = 16 << 20

// Capture is a tree with what its BMC refused.
type Capture struct {
	Tree    Tree
	Refused map[string]Refusal // by URI, as in a Tree
}

// Refusal is an answer that was no success.
type Refusal struct {
	Status int
	Body   []byte // may be none
}

// LoadDir reads the captured tree at or below dir. Any layout
// <prefix>/redfish/v1/**/index.json is accepted, with at most one prefix;
// bodies beside it that a tree links outside /redfish (Supermicro serves
// /registries/…) come along.
func LoadDir(dir string) (Tree, error) {
	c, err := loadDir(dir)
	return c.Tree, err
}

// LoadTarGz reads a captured tree from a gzipped tar archive; the layout is
// that of [LoadDir].
func LoadTarGz(path string) (Tree, error) {
	c, err := loadTarGz(path)
	return c.Tree, err
}

// LoadCapture reads a folder or archive as [LoadDir] and [LoadTarGz] do, with the
// refusals that stand in error.txt files beside: "HTTP 503", headers, an empty line,
// the body.
func LoadCapture(path string) (Capture, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return Capture{}, fmt.Errorf("redfish tree: %w", err)
	case info.IsDir():
		return loadDir(path)
	}
	return loadTarGz(path)
}

// What a capture consists of.
const (
	bodyFile    = "index.json"
	refusalFile = "error.txt"
)

func loadDir(dir string) (Capture, error) {
	c := capture{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() != bodyFile && entry.Name() != refusalFile {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		c.add(filepath.ToSlash(rel), body)
		return err
	})
	if err != nil {
		return Capture{}, fmt.Errorf("redfish tree %s: %w", dir, err)
	}
	return c.tree(dir)
}

func loadTarGz(path string) (Capture, error) {
	f, err := os.Open(path)
	if err != nil {
		return Capture{}, fmt.Errorf("redfish tree: %w", err)
	}
	defer func() { _ = f.Close() }() // read only
	c, err := readTarGz(f, path)
	if err != nil {
		return Capture{}, fmt.Errorf("redfish tree %s: %w", path, err)
	}
	return c, nil
}

func readTarGz(r io.Reader, name string) (Capture, error) {
	zr, err := gzip.NewReader(r)
	if err != nil {
		return Capture{}, err
	}
	c := capture{}
	tr := tar.NewReader(zr)
	for {
		header, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return c.tree(name)
		}
		if err != nil {
			return Capture{}, err
		}
		if header.Typeflag != tar.TypeReg || !strings.HasSuffix(header.Name, "/"+bodyFile) && !strings.HasSuffix(header.Name, "/"+refusalFile) {
			continue
		}
		body, err := io.ReadAll(io.LimitReader(tr, maxBody))
		if err != nil {
			return Capture{}, fmt.Errorf("%s: %w", header.Name, err)
		}
		c.add(header.Name, body)
	}
}

// capture collects files by path until the prefix before /redfish is known.
type capture map[string][]byte

func (c capture) add(path string, body []byte) { c["/"+strings.TrimPrefix(path, "./")] = body }

// tree strips the prefix before /redfish/v1 off every path.
func (c capture) tree(name string) (Capture, error) {
	prefix, found := "", false
	for path := range c {
		if p, ok := strings.CutSuffix(path, "/redfish/v1/"+bodyFile); ok && (!found || len(p) < len(prefix)) {
			prefix, found = p, true
		}
	}
	if !found {
		return Capture{}, fmt.Errorf("%s holds no redfish/v1/index.json; unpack a capture so that it does", name)
	}
	out := Capture{Tree: make(Tree, len(c)), Refused: map[string]Refusal{}}
	for path, body := range c {
		path, ok := strings.CutPrefix(path, prefix)
		if uri, isBody := strings.CutSuffix(path, "/"+bodyFile); ok && isBody && uri != "" {
			out.Tree[uri] = body
		}
		if uri, isRefusal := strings.CutSuffix(path, "/"+refusalFile); ok && isRefusal {
			if r, known := parseRefusal(body); known {
				out.Refused[uri] = r
			}
		}
	}
	return out, nil
}

// parseRefusal reads error.txt; a file without a status says nothing.
func parseRefusal(file []byte) (Refusal, bool) {
	head, body, _ := strings.Cut(strings.ReplaceAll(string(file), "\r\n", "\n"), "\n\n")
	line, _, _ := strings.Cut(head, "\n")
	word, code, _ := strings.Cut(strings.TrimSpace(line), " ")
	code, _, _ = strings.Cut(code, " ")
	status, err := strconv.Atoi(code)
	if word != "HTTP" || err != nil || status < 400 || status > 599 {
		return Refusal{}, false
	}
	return Refusal{Status: status, Body: []byte(strings.TrimSpace(body))}, true
}
