package burnin

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestScript runs the script on this machine and reads its tarball back.
func TestScript(t *testing.T) {
	needsLinux(t)
	before := []Phase{PhaseBefore}
	script, err := Script([]ProbeSpec{
		{Name: "os", Command: said(`printf 'it%%s "%s"\\n' \'s "a\b"; echo oops >&2; (exit 3)`), Phases: before},
		{Name: "no-tool", Command: said("no-such-tool"), Phases: before, Tool: "no-such-tool"},
		{Name: "slow", Command: said("sleep 60"), Phases: before, Deadline: time.Second},
		{Name: "each", Command: said(`echo "<$1>"`), Phases: before, Instances: "echo nvme0; echo '../x'; echo nvme1"},
		{Name: "under-load", Command: said("echo no"), Phases: []Phase{PhaseLoad}},
	}, nil, `1.0 "x"`)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "capture.sh")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", file)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	rec, err := LoadRecord(filepath.Join(dir, strings.TrimSpace(string(out))))
	if err != nil {
		t.Fatal(err)
	}
	if got := refs(rec.Evidence); got != "before/each@nvme0 before/each@nvme1 before/no-tool before/os before/slow" {
		t.Fatalf("evidence %s", got)
	}
	byRef := map[string]*Evidence{}
	for _, e := range rec.Evidence {
		byRef[e.Ref()] = e
	}
	first := byRef["before/os"]
	body, complete := first.Body()
	if string(body) != `it%s "'s"\nit%s "a\b"\n` || !complete || string(first.Err) != "oops\n" || first.Exit == nil || *first.Exit != 3 || first.Source != FromScript {
		t.Errorf("os: body %q, %+v", body, first)
	}
	if first.Command != `printf 'it%%s "%s"\\n' \'s "a\b"; echo oops >&2; (exit 3)` {
		t.Errorf("command %s", first.Command)
	}
	if e := byRef["before/slow"]; e.Ended != EndedTimeout || e.Exit != nil {
		t.Errorf("slow: %+v", e)
	}
	if e := byRef["before/no-tool"]; e.Ended != EndedNoTool || e.Exit != nil {
		t.Errorf("no-tool: %+v", e)
	}
	if e := byRef["before/each@nvme1"]; !strings.HasPrefix(string(e.Out), "<nvme1>\n") || e.Command != `set -- 'nvme1'; echo "<$1>"` {
		t.Errorf("each: %q %s", e.Out, e.Command)
	}
	if rec.Meta.Rackproof != `1.0 "x"` || rec.Meta.Coverage != CoverHost || rec.Machine.BootID == "" {
		t.Errorf("meta %+v, machine %+v", rec.Meta, rec.Machine)
	}
}

// TestScriptOfAllProbes: what ships is a script that a plain shell accepts.
func TestScriptOfAllProbes(t *testing.T) {
	script, err := Script(Probes(), nil, "devel")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-n")
	cmd.Stdin = strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
