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

// LoadDir reads the captured tree at or below dir. Any layout
// <prefix>/redfish/v1/**/index.json is accepted, with at most one prefix;
// bodies beside it that a tree links outside /redfish (Supermicro serves
// /registries/…) come along.
func LoadDir(dir string) (Tree, error) {
	c := capture{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() != "index.json" {
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
		return nil, fmt.Errorf("redfish tree %s: %w", dir, err)
	}
	return c.tree(dir)
}

// LoadTarGz reads a captured tree from a gzipped tar archive; the layout is
// that of [LoadDir].
func LoadTarGz(path string) (Tree, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("redfish tree: %w", err)
	}
	defer func() { _ = f.Close() }() // read only
	tree, err := readTarGz(f, path)
	if err != nil {
		return nil, fmt.Errorf("redfish tree %s: %w", path, err)
	}
	return tree, nil
}

func readTarGz(r io.Reader, name string) (Tree, error) {
	zr, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	c := capture{}
	tr := tar.NewReader(zr)
	for {
		header, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return c.tree(name)
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeReg || !strings.HasSuffix(header.Name, "/index.json") {
			continue
		}
		body, err := io.ReadAll(io.LimitReader(tr, maxBody))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", header.Name, err)
		}
		c.add(header.Name, body)
	}
}

// capture collects files by path until the prefix before /redfish is known.
type capture map[string]json.RawMessage

func (c capture) add(path string, body []byte) {
	c["/"+strings.TrimPrefix(strings.TrimSuffix(path, "/index.json"), "./")] = body
}

// tree strips the prefix before /redfish/v1 off every path.
func (c capture) tree(name string) (Tree, error) {
	prefix, found := "", false
	for path := range c {
		if p, ok := strings.CutSuffix(path, "/redfish/v1"); ok && (!found || len(p) < len(prefix)) {
			prefix, found = p, true
		}
	}
	if !found {
		return nil, fmt.Errorf("%s holds no redfish/v1/index.json; unpack a capture so that it does", name)
	}
	tree := make(Tree, len(c))
	for path, body := range c {
		if uri, ok := strings.CutPrefix(path, prefix); ok && uri != "" {
			tree[uri] = body
		}
	}
	return tree, nil
}
