package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/lab"
)

// run is one call of the program, in a state folder where no lab runs.
func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	args = append([]string{"--dir", filepath.Join(t.TempDir(), "lab")}, args...)
	code = Main(t.Context(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func TestEveryVerbHasHelp(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if !c.Hidden && c.Name() != "help" && c.Name() != "completion" {
			if !strings.Contains(c.Long, "Example") || !strings.Contains(c.Long, "Exit codes:") {
				t.Errorf("%s: no example or no exit codes in its help", c.CommandPath())
			}
			if c.HasParent() && !strings.Contains(c.Long, "rackproof-lab "+c.Name()) {
				t.Errorf("%s: the example is of something else", c.CommandPath())
			}
		}
		for _, s := range c.Commands() {
			walk(s)
		}
	}
	walk((&app{}).rootCommand())
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"status"}, exitFailed, "rackproof-lab up"},
		{[]string{"console", "lab1"}, exitFailed, "no lab runs"},
		{[]string{"fault", "lab1", "mce"}, exitFailed, "no lab runs"},
		{[]string{"run", "--", "true"}, exitFailed, "no lab runs"},
		{[]string{"serve"}, exitFailed, "rackproof-lab up"},
		{[]string{"down"}, exitDone, "no lab runs"},
		{[]string{"down", "now"}, exitUsage, "unknown"},
		{[]string{"nothing"}, exitUsage, "nothing"},
		{[]string{"up", "--machines", "0"}, exitUsage, "1 to 9"},
		{[]string{"up", "--gpus", "9"}, exitUsage, "1 to 8"},
		{[]string{"up", "--firmware", "coreboot"}, exitUsage, "bios or uefi"},
		{[]string{"fault", "lab1"}, exitUsage, "accepts"},
		{[]string{"fault", "--list"}, exitDone, ""},
	} {
		if code, _, stderr := run(t, c.args...); code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("%q: exit %d, want %d; stderr %q, want %q in it", c.args, code, c.code, stderr, c.says)
		}
	}
}

func TestFaultListAsJSON(t *testing.T) {
	_, out, _ := run(t, "fault", "--list", "--json")
	var faults []lab.Fault
	if err := json.Unmarshal([]byte(out), &faults); err != nil || len(faults) != len(lab.Faults()) || faults[0].Name != "pcie-width" {
		t.Errorf("%v: %s", err, out)
	}
}

func TestErrorAsJSON(t *testing.T) {
	code, out, stderr := run(t, "status", "--json")
	var got struct{ Error failure }
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitFailed || got.Error.Code != "failed" || stderr != "" {
		t.Errorf("exit %d, %v: %s%s", code, err, out, stderr)
	}
}

func TestJobWritesItsBatch(t *testing.T) {
	j := job{name: "lab-1", load: "20 s", out: filepath.Join(t.TempDir(), "new", "folder")}
	file, err := j.prepare(lab.Status{Machines: []lab.MachineStatus{{Name: "lab1"}}}, provision.OverIPMI)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), "name: lab1,") {
		t.Errorf("%s: %q, %v", file, b, err)
	}
}

func TestConsoleEndsAtItsKey(t *testing.T) {
	for input, want := range map[string]bool{"ls\r\x1drm": true, "ls\r": false} {
		var line bytes.Buffer
		if got := typeUntilEnd(&line, strings.NewReader(input)); got != want || line.String() != "ls\r" {
			t.Errorf("%q: left %v, typed %q", input, got, line.String())
		}
	}
}
