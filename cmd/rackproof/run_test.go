package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/journal"
)

// patience is how long a test waits for what must come: an end that computers with other
// work, and the race detector, stay clear of.
const patience = 10 * time.Minute

// cli runs the program and returns its exit status and both streams.
func cli(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	code = Main(ctx, args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// silentBMC listens and counts who calls.
func silentBMC(t *testing.T) (addr string, calls *atomic.Int32) {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	calls = &atomic.Int32{}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			calls.Add(1)
			_ = c.Close()
		}
	}()
	return ln.Addr().String(), calls
}

func TestBadInputEndsWith2AndContactsNobody(t *testing.T) {
	bmc, calls := silentBMC(t)
	t.Setenv("BMC_USER", "admin")
	t.Setenv("BMC_PASSWORD", "planted-secret")
	good := "name: a\nprofile: a40-4\nmachines: [{name: m, bmc: \"" + bmc + "\"}]\n"
	for _, test := range []struct {
		name, batch string
		args        []string
		want        string
	}{
		{name: "no file named", args: []string{"run"}, want: "at least one of the flags"},
		{name: "file is not there", args: []string{"run", "-f", "absent.yaml"}, want: "absent.yaml"},
		{name: "unknown key", batch: strings.Replace(good, "profile:", "profle:", 1), want: `batch.yaml:2:1: unknown key "profle" in the batch, did you mean "profile"?`},
		{name: "unknown profile", batch: strings.Replace(good, "a40-4", "a40-5", 1), want: "batch.yaml:2:10:"},
		{name: "duplicate BMC", batch: good[:len(good)-2] + ", {name: n, bmc: \"" + bmc + "\"}]\n", want: "is already that of m"},
		{name: "credential not set", batch: good + "defaults: {bmc: {password: \"env:RACKPROOF_NOT_SET\"}}\n", want: "env:RACKPROOF_NOT_SET is not set"},
		{name: "bad unit", batch: good + "limits: {load: 10 parsec}\n", want: `unknown unit "parsec"`},
		{name: "wrong address", batch: strings.Replace(good, bmc, "10.0.0.300", 1), want: "is not an IPv4 address"},
		{name: "another engine", batch: good, args: []string{"--engine", "airflow"}, want: "there are journal and temporal"},
		{name: "no server", batch: good, args: []string{"--engine", "temporal"}, want: "needs the server's address"},
		{name: "server without engine", batch: good, args: []string{"--temporal", "127.0.0.1:1"}, want: "go with --engine temporal"},
		{
			name: "credential of this machine", batch: good + "defaults: {bmc: {user: \"secret:bmc-user\", password: \"env:BMC_PASSWORD\"}}\n",
			args: []string{"--engine", "temporal", "--temporal", "127.0.0.1:1"}, want: "batch.yaml:3:12: bmc password of m: credential env:BMC_PASSWORD is of this machine",
		},
		{name: "credential of a worker", batch: good + "defaults: {bmc: {password: \"secret:bmc\"}}\n", want: "it is in the file of a Temporal worker"},
		{name: "selector", batch: good, args: []string{"--machines", "x"}, want: `no machine "x" in a`},
		{name: "only", batch: good, args: []string{"--only", "broken"}, want: "choose failed, stuck, hands or incomplete"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			args := test.args
			if test.batch != "" {
				file := filepath.Join(dir, "batch.yaml")
				if err := os.WriteFile(file, []byte(test.batch), 0o600); err != nil {
					t.Fatal(err)
				}
				args = append([]string{"run", "-f", file}, args...)
			}
			code, stdout, stderr := cli(t, append(args, "--state", filepath.Join(dir, "state"))...)
			if code != exitUsage || !strings.Contains(stderr, test.want) || stdout != "" {
				t.Errorf("exit %d, want 2 and %q\nstdout %s\nstderr %s", code, test.want, stdout, stderr)
			}
			if strings.Contains(stderr, "planted-secret") {
				t.Errorf("a secret is printed: %s", stderr)
			}
			code, stdout, _ = cli(t, append(args, "--json", "--state", filepath.Join(dir, "state"))...)
			var e struct {
				Error struct{ Code, Message string } `json:"error"`
			}
			if err := json.Unmarshal([]byte(stdout), &e); err != nil && test.args == nil || code != exitUsage || err == nil && !strings.Contains(e.Error.Message, test.want) {
				t.Errorf("with --json: exit %d, %v\n%s", code, err, stdout)
			}
		})
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("the BMC was called %d times", n)
	}
}

// An address where nothing answers is infrastructure: STUCK, exit 5, and the verbs
// for people know of it.
func TestSilentBMCIsStuck(t *testing.T) {
	if testing.Short() {
		t.Skip("waits 20 s for a BMC that does not answer")
	}
	bmc, _ := silentBMC(t)
	dir := t.TempDir()
	t.Setenv("BMC_USER", "admin")
	t.Setenv("BMC_PASSWORD", "planted-secret")
	file, state := filepath.Join(dir, "batch.yaml"), filepath.Join(dir, "state")
	batch := "name: job\nprofile: a40-4\nmachines: [{name: m, bmc: \"" + bmc + "\", rack: R1, u: 3}]\n"
	if err := os.WriteFile(file, []byte(batch), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := cli(t, "run", "-f", file, "--state", state)
	if code != exitNotFinished || !strings.Contains(stdout, "STUCK m (R1 U03)") || !strings.Contains(stdout, "1 machine: 1 need you (rackproof hands)") {
		t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
	}
	if code, stdout, _ := cli(t, "hands", "--state", state); code != 0 || !strings.Contains(stdout, "STUCK  m") {
		t.Errorf("hands: exit %d\n%s", code, stdout)
	}
	if code, stdout, _ := cli(t, "status", "job", "--json", "--state", state); code != 0 || !strings.Contains(stdout, `"state": "STUCK"`) {
		t.Errorf("status: exit %d\n%s", code, stdout)
	}
	err := filepath.WalkDir(state, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte("planted-secret")) {
			t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// verbsOn makes a state folder with one run: a passed machine and a failed one.
func verbsOn(t *testing.T) string {
	t.Helper()
	state := t.TempDir()
	e, err := journal.Open(t.Context(), state, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	b := &provision.Batch{Name: "job", Machines: []provision.Machine{
		{Name: "good", BMC: "192.0.2.1", Rack: "R1", U: 1, Spec: "standard"}, {Name: "bad", BMC: "192.0.2.2", Rack: "R1", U: 2, Spec: "standard"},
	}}
	if _, err := e.Submit(t.Context(), b, provision.Workflow{Name: "none"}); err != nil {
		t.Fatal(err)
	}
	for name, facts := range map[string]provision.Facts{
		"good": {provision.FactResult: "passed", provision.FactLine: "PASSED good (R1 U01) all well"},
		"bad":  {provision.FactResult: "failed", provision.FactLine: "FAIL bad (R1 U02) GPU SXM3 gone", provision.FactLadder: `{"do":[{"do":"cords out 60 s","minutes":12,"who":"hands"}],"where":"R1 U02, GPU SXM3","next":"rackproof done bad","ladder":"1 of 3","why":"GPU SXM3 gone"}`},
	} {
		for _, ev := range []struct {
			kind provision.Kind
			data any
		}{{provision.StepEnded, provision.StepDone{Facts: facts}}, {provision.MachineOver, nil}} {
			out, err := provision.NewEvent("job", name, ev.kind, ev.data)
			if err != nil {
				t.Fatal(err)
			}
			out.Attempt, out.Step = 1, "report"
			if err := e.Tell(t.Context(), out); err != nil {
				t.Fatal(err)
			}
		}
	}
	return state
}

func TestVerbsOnAFinishedRun(t *testing.T) {
	state := verbsOn(t)
	for _, test := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"status"}, 0, []string{"job", "2 machines: 1 PASSED · 1 FAILED", "exit 3"}},
		{[]string{"status", "job"}, 0, []string{"R1 U02 bad     FAILED", "GPU SXM3 gone", "all well"}},
		{[]string{"status", "job", "--only", "failed"}, 0, []string{"1 machine: 1 FAILED"}},
		{[]string{"status", "other"}, 2, []string{`no run "other"`}},
		{[]string{"hands"}, 0, []string{"R1\n", "R1 U02, GPU SXM3", "cords out 60 s (12 min, hands; rung 1 of 3)", "rackproof done bad"}},
		{[]string{"hands", "--rack", "R2"}, 2, []string{`no machine in rack "R2"`}},
		{[]string{"hands", "--machines", "good"}, 0, []string{"nothing waits for you"}},
		{[]string{"resume", "job"}, 3, []string{"job is finished", "1 PASSED · 1 FAILED"}},
		{[]string{"cancel", "job"}, 2, []string{"job is finished"}},
		{[]string{"stop"}, 2, []string{"stop what?"}},
		{[]string{"stop", "--all"}, 0, []string{"stopped 0 machines"}},
		{[]string{"retest", "nobody"}, 2, []string{`has a machine "nobody"`}},
		{[]string{"done"}, 2, []string{"requires at least 1 arg"}},
	} {
		code, stdout, stderr := cli(t, append(test.args, "--state", state)...)
		if code != test.code {
			t.Errorf("%v: exit %d, want %d\n%s%s", test.args, code, test.code, stdout, stderr)
		}
		for _, want := range test.want {
			if !strings.Contains(stdout+stderr, want) {
				t.Errorf("%v does not say %q:\n%s%s", test.args, want, stdout, stderr)
			}
		}
	}
}

func TestTableFitsATerminal(t *testing.T) {
	r := &provision.Run{ID: "job", Batch: &provision.Batch{Racks: map[string]provision.Rack{"R12": {KW: 32}}}}
	for i, s := range []provision.State{provision.StateHands, provision.StateStuck, provision.StateDeviations, provision.StateRun} {
		r.Machines = append(r.Machines, provision.MachineRun{
			Machine: provision.Machine{Name: fmt.Sprintf("a-very-long-machine-name-%d", i), Rack: "R12", U: 40 + i, Spec: "standard"},
			State:   s, Result: burnin.Passed, Step: "burn-in", Why: strings.Repeat("ü what matters ", 9), Until: time.Now().Add(90 * time.Minute),
		})
	}
	text := header(r) + tableOf(r, provision.Selector{}, tableStyle{width: tableWidth})
	for line := range strings.Lines(text) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > tableWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, want := range []string{"spec standard · 0.0 of 32 kW · load ends", "U       MACHINE      STATE      STEP    LEFT WHAT MATTERS", "DEVIATIONS", "1h29"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
