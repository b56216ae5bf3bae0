package redfishtest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// layouts are the file layouts that a capture comes in.
var layouts = map[string]string{
	"bare":          "",
	"with a folder": "vendor/",
	"dotted":        "./vendor/",
}

func files(prefix string) map[string]string {
	return map[string]string{
		prefix + "redfish/v1/index.json":                        `{"Id":"root"}`,
		prefix + "redfish/v1/Systems/1/index.json":              `{"Id":"1",}`, // not valid, kept
		prefix + "redfish/v1/Sensors?$skip=75/index.json":       `{}`,
		prefix + "redfish/v1/Registries/%23Smart.v2/index.json": `{}`,
		prefix + "registries/Bios.json/index.json":              `{}`,
		prefix + "redfish/v1/$metadata/index.xml":               `<x/>`,
		prefix + "redfish/v1/Managers/1/Certificates/error.txt": `404`,
		prefix + "README": `x`,
	}
}

func checkTree(t *testing.T, tree Tree) {
	t.Helper()
	want := []string{
		"/redfish/v1", "/redfish/v1/Registries/%23Smart.v2", "/redfish/v1/Sensors?$skip=75",
		"/redfish/v1/Systems/1", "/registries/Bios.json",
	}
	if got := slices.Sorted(maps.Keys(tree)); !slices.Equal(got, want) {
		t.Errorf("URIs %q, want %q", got, want)
	}
	if string(tree["/redfish/v1/Systems/1"]) != `{"Id":"1",}` {
		t.Errorf("body %s", tree["/redfish/v1/Systems/1"])
	}
}

func TestLoadDir(t *testing.T) {
	for name, prefix := range layouts {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for path, body := range files(prefix) {
				full := filepath.Join(dir, filepath.FromSlash(path))
				if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(full, []byte(body), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			tree, err := LoadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			checkTree(t, tree)
		})
	}
}

func TestLoadTarGz(t *testing.T) {
	for name, prefix := range layouts {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tree.tar.gz")
			if err := os.WriteFile(path, archive(t, files(prefix)), 0o600); err != nil {
				t.Fatal(err)
			}
			tree, err := LoadTarGz(path)
			if err != nil {
				t.Fatal(err)
			}
			checkTree(t, tree)
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	dir := t.TempDir()
	if tree, err := LoadDir(dir); err == nil {
		t.Errorf("an empty folder gave %d resources", len(tree))
	}
	if _, err := LoadDir(filepath.Join(dir, "absent")); err == nil {
		t.Error("an absent folder gave a tree")
	}
	if _, err := LoadTarGz(filepath.Join(dir, "absent")); err == nil {
		t.Error("an absent archive gave a tree")
	}
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadTarGz(text); err == nil {
		t.Error("a text gave a tree")
	}
}

func archive(tb testing.TB, files map[string]string) []byte {
	tb.Helper()
	var out bytes.Buffer
	zw := gzip.NewWriter(&out)
	tw := tar.NewWriter(zw)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Name: path, Mode: 0o600, Size: int64(len(files[path])), Typeflag: tar.TypeReg}
		if err := tw.WriteHeader(header); err != nil {
			tb.Fatal(err)
		}
		if _, err := tw.Write([]byte(files[path])); err != nil {
			tb.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		tb.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func FuzzReadTarGz(f *testing.F) {
	f.Add(archive(f, files("vendor/")))
	f.Add([]byte("no archive"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := readTarGz(bytes.NewReader(data), "fuzz")
		if _, ok := c.Tree["/redfish/v1"]; err == nil && !ok {
			t.Errorf("a tree without a root: %q", slices.Sorted(maps.Keys(c.Tree)))
		}
	})
}

func TestParseRefusal(t *testing.T) {
	for _, c := range []struct {
		file, body string
		status     int // 0: says nothing
	}{
		{"HTTP 405\nAllow: \nContent-Length: 0\n\n", "", 405},
		{"HTTP 503 Service Unavailable\r\n\r\n{\"error\":{}}\r\n", `{"error":{}}`, 503},
		{"HTTP 404", "", 404},
		{"HTTP 200\n\n{}", "", 0},
		{"404", "", 0},
		{"", "", 0},
	} {
		got, ok := parseRefusal([]byte(c.file))
		if got.Status != c.status || ok != (c.status != 0) || string(got.Body) != c.body {
			t.Errorf("%q: %d %q %v, want %d %q", c.file, got.Status, got.Body, ok, c.status, c.body)
		}
	}
}
