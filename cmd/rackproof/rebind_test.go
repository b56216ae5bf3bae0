package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A board is exchanged: the retest says what to type, the word of a person is checked,
// and the audit log and the report tell the chain. Nothing but the numbers is read here:
// no host is booted.
func TestRebindVerb(t *testing.T) {
	j := newRackJob(t)
	j.write(strings.Replace(string(j.rack.BatchYAML("job")), "workflow: qualify", "workflow: {name: look, steps: [preflight, verify-bmc, report]}", 1))
	j.does(exitIncomplete, []string{"run", "-f", j.batch})
	was := j.rack.Machines()[0]
	if err := j.rack.SwapBoard(was.Name); err != nil {
		t.Fatal(err)
	}
	is := j.rack.Machines()[0]
	j.does(exitNotFinished, []string{"retest", was.Name}, "certificate")
	j.does(exitNotFinished, []string{"retest", was.Name})
	j.does(exitPassed, []string{"hands"}, "rackproof rebind "+was.Name+" --as NUMBER-ON-THE-STICKER")
	j.does(exitUsage, []string{"rebind", was.Name}, `required flag(s) "as" not set`)
	j.does(exitUsage, []string{"rebind", was.Name, "--as", was.Serial}, "you read "+was.Serial, "nothing was changed")
	j.does(exitUsage, []string{"rebind", was.Name, "--as", j.rack.Machines()[1].Serial, "--bmc", j.rack.Machines()[1].BMC}, "is that of "+j.rack.Machines()[1].Name)
	j.does(exitUsage, []string{"rebind", was.Name, "--as", is.Serial, "--bmc", "a b"}, "neither an IP address nor a name")
	j.does(exitUsage, []string{"rebind", "nobody", "--as", "X"}, `has a machine "nobody"`)
	chain := "S/N " + was.Serial + " is now " + is.Serial
	j.does(exitIncomplete, []string{"rebind", was.Name, "--as", is.Serial, "--note", "RMA 4711"}, "system board exchanged: "+chain)
	j.does(exitPassed, []string{"audit"}, was.Name+" S/N "+is.Serial+"  bound anew: system board exchanged: "+chain, "RMA 4711")
	j.does(exitUsage, []string{"rebind", was.Name, "--as", is.Serial}, "is known by this already")
	j.does(exitIncomplete, []string{"run", "-f", j.batch}, "is finished") // the file has the old numbers
	out := t.TempDir()
	j.does(exitPassed, []string{"report", "job", "--machines", was.Name, "--format", "html", "--out", out})
	page, err := os.ReadFile(filepath.Join(out, was.Name+".html"))
	if err != nil || !strings.Contains(string(page), "system board: exchanged: "+chain) {
		t.Errorf("the report does not tell the chain: %v", err)
	}
}
