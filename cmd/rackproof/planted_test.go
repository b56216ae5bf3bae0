package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// searchSecrets reads every file below dir, unpacked, and reports where a secret
// stands. except are names of files that are to hold one.
func searchSecrets(t *testing.T, dir string, secrets []string, except ...string) (files int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || slices.Contains(except, d.Name()) {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		if zr, err := gzip.NewReader(bytes.NewReader(b)); err == nil {
			if unpacked, err := io.ReadAll(zr); err == nil {
				b = append(b, unpacked...)
			}
		}
		for _, s := range secrets {
			if i := bytes.Index(b, []byte(s)); i >= 0 {
				t.Errorf("%s holds a secret: …%q", path, b[max(0, i-60):i])
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return files
}

// bmcVerbLines is one line for each verb of `rackproof bmc`; a verb without one fails
// the test. NEW is where a new password is kept, SEEN what a command sees of itself,
// _ a blank in one argument.
var bmcVerbLines = map[string][]string{
	"power":           {"power", "power off", "power on"},
	"boot":            {"boot", "boot pxe"},
	"capabilities":    {"capabilities"},
	"media":           {"media"},
	"media insert":    {"media insert http://192.0.2.1/a.iso"},
	"media eject":     {"media eject"},
	"bios get":        {"bios get"},
	"bios plan":       {"bios plan Smt=Disabled"},
	"bios set":        {"bios set Smt=Disabled --restart"},
	"bios discard":    {"bios discard"},
	"inventory":       {"inventory", "inventory --json"},
	"firmware":        {"firmware", "firmware --compare hgx-h100-8"},
	"firmware update": {"firmware update http://192.0.2.1/a.bin --dry-run", "firmware update planted_test.go"},
	"locate":          {"locate on"},
	"sel":             {"sel", "sel --since 24h --json"},
	"sensors":         {"sensors"},
	"console":         {"console --for 1s"},
	"screen":          {"screen --out NEW.png"},
	"diagnostics":     {"diagnostics", "diagnostics --json"},

	"diagnostics collect": {"diagnostics collect --out NEW.d"},
	"capture":             {"capture --out NEW.tar.gz", "capture --anonymise --out NEW2.tar.gz"},

	"forget-pin":      {"forget-pin"},
	"password rotate": {"password rotate --store command:cat_NEW --store-set cat_>NEW;cat_/proc/$$/cmdline_/proc/$$/environ_>SEEN"},
}

// TestPlantedPassword runs every verb with everything logged, on a BMC that works and
// on one that refuses, and searches what was printed and written. The new password of
// a rotation counts too.
func TestPlantedPassword(t *testing.T) {
	dir := t.TempDir()
	tag, kept, seen := filepath.Join(dir, "tag"), filepath.Join(dir, "new"), filepath.Join(dir, "seen")
	if err := os.WriteFile(tag, []byte(bmcPassword+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BMC_USER", bmcUser)
	var printed strings.Builder
	for _, fault := range []string{"", "auth-fails", "password-change-required", "html-error*1"} {
		sim, err := redfishtest.Start(context.WithoutCancel(t.Context()), redfishtest.Options{Tree: bmcMachine(), User: bmcUser, Password: bmcPassword})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = sim.Close() })
		for _, lines := range bmcLines(t) {
			if fault != "" {
				if err := sim.SetFault(fault, true); err != nil {
					t.Fatal(err)
				}
			}
			for _, line := range lines {
				// One state folder for each: a refused login is not asked again from one.
				args := []string{"--state", filepath.Join(dir, "state", fault), "--password", "file:" + tag, "-v", sim.Addr()}
				for arg := range strings.FieldsSeq(line) {
					args = append(args, strings.NewReplacer("NEW", kept, "SEEN", seen, "_", " ").Replace(arg))
				}
				_, stdout, stderr := bmc(t, args...)
				printed.WriteString(stdout + stderr)
			}
		}
	}
	secrets := []string{bmcPassword}
	if b, err := os.ReadFile(kept); err != nil || len(b) < 13 {
		t.Errorf("no new password was kept: %q, %v", b, err)
	} else {
		secrets = append(secrets, strings.TrimSpace(string(b)))
	}
	for _, s := range secrets {
		if i := strings.Index(printed.String(), s); i >= 0 {
			t.Errorf("a password was printed behind …%q", printed.String()[max(0, i-200):i])
		}
	}
	if printed.Len() < 10_000 {
		t.Errorf("only %d bytes were printed", printed.Len())
	}
	if n := searchSecrets(t, dir, secrets, "tag", "new"); n < 5 {
		t.Errorf("only %d files were searched", n)
	}
}

// bmcLines gives the lines of every verb that there is.
func bmcLines(t *testing.T) [][]string {
	t.Helper()
	var lines [][]string
	var walk func(cmd *cobra.Command, path string)
	walk = func(cmd *cobra.Command, path string) {
		for _, sub := range cmd.Commands() {
			walk(sub, strings.TrimSpace(path+" "+sub.Name()))
		}
		mine, known := bmcVerbLines[path]
		switch {
		case known:
			lines = append(lines, mine)
		case !cmd.HasSubCommands() && cmd.Name() != "help":
			t.Errorf("verb %q is not tried here", path)
		}
	}
	a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard}
	walk(a.bmcVerbs(&bmcOptions{}), "")
	return lines
}
