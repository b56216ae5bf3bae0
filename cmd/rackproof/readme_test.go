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

// The README's batch file loads, and its commands are ones that the program has.
func TestReadme(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	readme := string(b)

	t.Run("batch", func(t *testing.T) {
		block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(readme)
		if block == nil {
			t.Fatal("the README shows no batch file")
		}
		dir := t.TempDir()
		t.Setenv("HOME", dir)
		t.Setenv("BMC_USER", "admin")
		t.Setenv("BMC_PASSWORD", "secret")
		key := filepath.Join(dir, ".ssh", "id_ed25519")
		file := filepath.Join(dir, "batch.yaml")
		if err := os.MkdirAll(filepath.Dir(key), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{key: "not looked at", file: strings.ReplaceAll("\n"+block[1], "\n   ", "\n")} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		a := &app{stateDir: filepath.Join(dir, "state")}
		batch, _, err := a.loadBatch(file, "", provision.Selector{})
		if err != nil {
			t.Fatal(err)
		}
		if len(batch.Machines) != 1 || batch.Machines[0].Name != "r12u07" || batch.Machines[0].Profile != "hgx-h100-8" {
			t.Errorf("machines %+v", batch.Machines)
		}
	})

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

// words splits a command line of the README; quotes hold a word together.
func words(line string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`"([^"]*)"|(\S+)`).FindAllStringSubmatch(line, -1) {
		out = append(out, m[1]+m[2])
	}
	return out
}
