package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/provision"
)

// The batch files of README and docs load, and the README's commands are ones that
// the program has.
func TestReadme(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	readme := string(b)

	for _, file := range []string{"README.md", "docs/batch.md"} {
		t.Run(file, func(t *testing.T) { loadsBatch(t, file) })
	}

	commands := regexp.MustCompile("`rackproof ([a-z][^`]*)`").FindAllStringSubmatch(readme, -1)
	if len(commands) < 6 {
		t.Fatalf("found %d commands in the README", len(commands))
	}
	for _, c := range commands {
		t.Run(c[1], func(t *testing.T) {
			args := words(c[1])
			var out, errs bytes.Buffer
			// --help after the whole line: every flag must be known, nothing is done.
			if code := Main(t.Context(), append(args, "--help"), strings.NewReader(""), &out, &errs); code != exitPassed {
				t.Errorf("exit %d: %s", code, errs.String())
			}
			if !strings.Contains(out.String(), "rackproof "+args[0]) {
				t.Errorf("no help of %s", args[0])
			}
		})
	}

	targets, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`make ([a-z]+)`).FindAllStringSubmatch(readme, -1) {
		if !bytes.Contains(targets, []byte("\n"+m[1]+":")) {
			t.Errorf("the README says make %s, the Makefile has no such target", m[1])
		}
	}
}

// loadsBatch loads the batch file that a page shows. No BMC is asked.
func loadsBatch(t *testing.T, page string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)\n( *)```yaml\n(.*?)```").FindStringSubmatch(string(b))
	if block == nil {
		t.Fatal("the page shows no batch file")
	}
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("BMC_USER", "admin")
	t.Setenv("BMC_PASSWORD", "secret")
	key := filepath.Join(dir, ".ssh", "id_ed25519")
	file := filepath.Join(dir, "batch.yaml")
	for _, folder := range []string{filepath.Dir(key), filepath.Join(dir, "fw")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{key: "not looked at", file: strings.ReplaceAll("\n"+block[2], "\n"+block[1], "\n")} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := &app{stateDir: filepath.Join(dir, "state")}
	batch, _, err := a.loadBatch(file, "", provision.Selector{})
	if err != nil {
		t.Fatal(err)
	}
	if m := batch.Machines[0]; m.Name != "r12u07" || m.Profile != "hgx-h100-8" || m.Serial != "S498765X3" {
		t.Errorf("first machine %+v", m)
	}
}

// words splits a command line of the README; quotes hold a word together.
func words(line string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`"([^"]*)"|(\S+)`).FindAllStringSubmatch(line, -1) {
		out = append(out, m[1]+m[2])
	}
	return out
}
