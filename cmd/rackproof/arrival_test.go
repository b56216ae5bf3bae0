package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Two machines are tested, and one loses a DIMM on its way: told by its place and serial
// number, from the run and from evidence packets alike.
func TestArrival(t *testing.T) {
	j := newRackJob(t)
	a, b := j.rack.Machines()[0], j.rack.Machines()[1]
	j.write(strings.Replace(string(j.rack.BatchYAML("job")), "workflow: qualify", "workflow: {name: look, steps: [preflight, verify-bmc, report]}", 1))
	j.does(exitIncomplete, []string{"run", "-f", j.batch})
	t.Setenv("BMC_USER", j.rack.Login().User)
	t.Setenv("BMC_PASSWORD", j.rack.Login().Password)
	j.does(exitPassed, []string{"arrival", "job", "--at", a.BMC, "--at", b.BMC}, "UNCHANGED  "+a.Name, "records 2 · unchanged 2 · exit 0", a.Name+": BMC log since 2")
	if err := j.rack.SetFault(b.Name, "dimm-missing"); err != nil {
		t.Fatal(err)
	}
	packets := t.TempDir()
	j.does(exitPassed, []string{"report", "job", "--format", "tar", "--out", packets})
	files, err := filepath.Glob(filepath.Join(packets, "*.tar.gz"))
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	out := filepath.Join(t.TempDir(), "arrived.csv")
	j.does(exitHardware, append([]string{"arrival", "-f", j.batch, "--out", out}, files...), b.Name+": DIFFERS: DIMM ", " is missing\n", "unchanged 1 · differs 1 · exit 3")
	table, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(table), b.Serial+",differs,"+b.Name) {
		t.Errorf("%v\n%s", err, table)
	}
	j.does(exitNotFinished, []string{"arrival", "job", "--at", a.BMC, "--json"}, `"state":"not_found"`, `"state":"as_expected"`)
	j.does(exitUsage, []string{"arrival", "job"}, "where are the BMCs?")
	j.does(exitUsage, []string{"arrival", "job", files[0], "-f", j.batch}, "are both records of S/N")
	j.does(exitUsage, []string{"arrival", "nothing"}, "nothing")
	for name, acts := range j.rack.Acts() {
		for act := range acts {
			if !strings.HasPrefix(act, "session.") && act != "diagnostics.collect" {
				t.Errorf("%s: %s", name, act)
			}
		}
	}
}
