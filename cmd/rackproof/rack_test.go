package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin/report"
	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/journal"
	"github.com/rackproof/rackproof/provision/simrack"
)

// rackJob is a batch over a simulated rack: r12u01 is well, r12u09 has a narrow
// link.
type rackJob struct {
	t     *testing.T
	rack  *simrack.Rack
	batch string // its file
	state string
}

func newRackJob(t *testing.T) *rackJob {
	t.Helper()
	specs := []simrack.MachineSpec{{}, {Fault: "gpu-x8"}}
	for i := range specs {
		specs[i] = specs[i].Placed(i)
	}
	rack, err := simrack.Start(t.Context(), simrack.Options{Machines: specs, Seed: 4, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rack.Close() })
	for name, value := range rack.Credentials() {
		t.Setenv(name, value)
	}
	dir := t.TempDir()
	j := &rackJob{t: t, rack: rack, batch: filepath.Join(dir, "batch.yaml"), state: filepath.Join(dir, "state")}
	j.write(string(rack.BatchYAML("job")))
	t.Cleanup(func() { // whatever a test does with it
		searchSecrets(t, dir, []string{rack.Login().Password, strings.Split(rack.Login().Key, "\n")[2]})
	})
	return j
}

func (j *rackJob) write(batch string) {
	j.t.Helper()
	if err := os.WriteFile(j.batch, []byte(batch), 0o600); err != nil {
		j.t.Fatal(err)
	}
}

// does runs the program and wants an exit status and words on either stream.
func (j *rackJob) does(code int, args []string, want ...string) (stdout, stderr string) {
	j.t.Helper()
	got, stdout, stderr := cli(j.t, append(args, "--state", j.state)...)
	if got != code {
		j.t.Fatalf("%v: exit %d, want %d\n%s%s", args, got, code, stdout, stderr)
	}
	for _, w := range want {
		if !strings.Contains(stdout+stderr, w) {
			j.t.Errorf("%v does not say %q:\n%s%s", args, w, stdout, stderr)
		}
	}
	return stdout, stderr
}

// loads counts the loads that the machines have run.
func (j *rackJob) loads() int {
	n := 0
	for _, acts := range j.rack.Acts() {
		n += acts["host.load.gpu-burn"]
	}
	return n
}

// One job as people do it over two days: planned, changed, run by the plan, judged
// by another spec, repaired and tested again.
func TestJobOnARack(t *testing.T) {
	if testing.Short() {
		t.Skip("carries three runs through")
	}
	j := newRackJob(t)
	good, narrow := j.rack.Machines()[0].Name, j.rack.Machines()[1].Name
	plan := filepath.Join(filepath.Dir(j.batch), "night.plan")
	j.does(0, []string{"plan", "-f", j.batch, "-o", plan}, "plan kept in", "bios: ", "Nothing was changed.")
	j.refusesAnotherPlan(plan)

	stdout, stderr := j.does(exitHardware, []string{"run", "--plan", plan, "--json"}, "report: ")
	j.hasBatchPage(stdout, stderr, good, narrow)
	j.does(exitPassed, []string{"run", "--plan", plan, "--fail-on", "incomplete,unfinished"}, "exit 0 (--fail-on incomplete,unfinished)")
	j.does(exitUsage, []string{"run", "--plan", plan, "--fail-on", "everything"}, "choose failed, incomplete, unfinished or none")
	j.does(exitPassed, []string{"report", "job", "--only", "failed", "--out", filepath.Join(j.state, "out")}, narrow+".html")
	if _, err := os.Stat(filepath.Join(j.state, "out", good+".html")); err == nil {
		t.Error("report --only failed rendered a good machine")
	}

	burned, acts := j.loads(), j.rack.Acts()[narrow]["session.create"]
	j.judgedByAnotherSpec(narrow)
	if j.loads() != burned || j.rack.Acts()[narrow]["session.create"] != acts {
		t.Errorf("judging again touched the machines: %d loads, were %d; %d sessions, were %d", j.loads(), burned, j.rack.Acts()[narrow]["session.create"], acts)
	}

	if err := j.rack.Repair(narrow); err != nil {
		t.Fatal(err)
	}
	j.does(exitUsage, []string{"retest", narrow, "--swapped", "SXM3"}, "write the labels of two places")
	j.does(exitPassed, []string{"retest", narrow, "--yes", "--swapped", "SXM3<->SXM5"},
		narrow+" (", "PASSED in attempt 2", "was   attempt 1: PASSED", "done  swapped SXM3 and SXM5")
	if j.loads() != burned+1 {
		t.Errorf("%d loads after the retest of one machine, were %d", j.loads(), burned)
	}
}

// refusesAnotherPlan spoils a plan in ways that a night brings about.
func (j *rackJob) refusesAnotherPlan(plan string) {
	j.t.Helper()
	text, err := os.ReadFile(plan)
	if err != nil {
		j.t.Fatal(err)
	}
	spoiled := plan + ".spoiled"
	for _, test := range []struct{ old, new, want string }{
		{`"want": "Disable"`, `"want": "Auto"`, "the plan does not hold any more; nothing was changed"},
		{`"uuid": "`, `"uuid": "f`, "is another machine"},
		{`"schema"`, `"shema"`, "not a plan file"},
	} {
		if !strings.Contains(string(text), test.old) {
			j.t.Fatalf("no %s in\n%s", test.old, text)
		}
		if err := os.WriteFile(spoiled, []byte(strings.Replace(string(text), test.old, test.new, 1)), 0o600); err != nil {
			j.t.Fatal(err)
		}
		j.does(exitUsage, []string{"run", "--plan", spoiled}, test.want)
	}
	batch, err := os.ReadFile(j.batch)
	if err != nil {
		j.t.Fatal(err)
	}
	j.write(strings.Replace(string(batch), "parallel: 16", "parallel: 1", 1))
	j.does(exitUsage, []string{"run", "--plan", plan}, "was changed since", "nothing was contacted")
	j.write(string(batch))
	for name, acts := range j.rack.Acts() {
		if acts["host.boot"] != 0 || acts["host.load.gpu-burn"] != 0 {
			j.t.Errorf("a refused plan changed %s: %v", name, acts)
		}
	}
	j.does(exitPassed, []string{"status"}, "no runs yet")
}

func (j *rackJob) hasBatchPage(stdout, stderr string, machines ...string) {
	j.t.Helper()
	var b report.BatchJSON
	if err := json.Unmarshal([]byte(stdout), &b); err != nil || b.Schema != report.BatchSchema || len(b.Machines) != len(machines) {
		j.t.Errorf("--json: %v\n%s", err, stdout)
	}
	dir := filepath.Join(provision.RunDir(j.state, "job"), "reports")
	if !strings.Contains(stderr, filepath.Join(dir, "index.html")) {
		j.t.Errorf("the page's path is not told:\n%s", stderr)
	}
	page, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil {
		j.t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join(dir, "batch.json"))
	if err != nil || string(kept) != stdout {
		j.t.Errorf("batch.json is not what was printed: %v", err)
	}
	for _, m := range machines {
		if !strings.Contains(string(page), `href="`+m+`.html"`) {
			j.t.Errorf("the page does not lead to %s", m)
		}
		own, err := os.ReadFile(filepath.Join(dir, m+".html"))
		sealed, err2 := os.ReadFile(filepath.Join(provision.AttemptDir(j.state, "job", m, 1), report.HTMLFile))
		if err != nil || err2 != nil || string(own) != string(sealed) {
			j.t.Errorf("page of %s: %v, %v", m, err, err2)
		}
	}
}

// judgedByAnotherSpec takes the width of links out of the spec, and what a narrow one
// copies: the same evidence then passes.
func (j *rackJob) judgedByAnotherSpec(narrow string) {
	j.t.Helper()
	dir := filepath.Dir(j.batch)
	spec := "schema: rackproof/spec/1\nname: narrow\nextends: [standard]\nchecks:\n  pcie.link: out_of_scope\n  gpu.copy: out_of_scope\n"
	if err := os.WriteFile(filepath.Join(dir, "narrow.yaml"), []byte(spec), 0o600); err != nil {
		j.t.Fatal(err)
	}
	batch, err := os.ReadFile(j.batch)
	if err != nil {
		j.t.Fatal(err)
	}
	j.write(strings.Replace(string(batch), "spec: standard", "spec: "+filepath.Join(dir, "narrow.yaml"), 1))
	j.does(exitPassed, []string{"run", "-f", j.batch},
		"2 finished, other profile, spec or cables", "judged again, nothing burned in: was FAILED by profile", "2 machines: 2 PASSED")
	attempt := provision.AttemptDir(j.state, "job", narrow, 1)
	kept, err := os.ReadFile(filepath.Join(attempt, "spec.yaml"))
	if err != nil || !strings.Contains(string(kept), "name: narrow") {
		j.t.Errorf("spec.yaml of the attempt: %v", err)
	}
	judged, err := provision.ReadReport(attempt)
	if err != nil || judged.Spec.Name != "narrow" || judged.Machine.Attempt != 1 {
		j.t.Errorf("report: %+v, %v", judged, err)
	}
	lldp, err := os.ReadFile(filepath.Join(attempt, "before", "lldp.out"))
	port := regexp.MustCompile(`"name":"([^"]+)","via"`).FindSubmatch(lldp)
	if err != nil || port == nil {
		j.t.Fatalf("lldp: %v\n%s", err, lldp)
	}
	moved := fmt.Sprintf("- name: %s\n    cables: {%s: leaf9 Ethernet9}", narrow, port[1])
	batch, err = os.ReadFile(j.batch)
	if err != nil {
		j.t.Fatal(err)
	}
	j.write(strings.Replace(string(batch), "- name: "+narrow, moved, 1))
	j.does(exitHardware, []string{"run", "-f", j.batch},
		"1 finished, other profile, spec or cables ("+narrow+")", "judged again, nothing burned in: was PASSED by profile", "leaf9")
	j.write(string(batch))
	j.does(exitPassed, []string{"run", "-f", j.batch}, "judged again, nothing burned in: was FAILED by profile", "2 machines: 2 PASSED")
	log, _ := j.does(exitPassed, []string{"status", "job", "--json"})
	if !strings.Contains(log, `"judged_again": "was FAILED by profile`) {
		j.t.Errorf("status does not tell it:\n%s", log)
	}
}

// Without a terminal nothing is asked: a machine of an open run that became another
// one is taken over with --yes only.
func TestEditedSerialWaitsForYes(t *testing.T) {
	bmc, calls := silentBMC(t)
	t.Setenv("BMC_USER", "admin")
	t.Setenv("BMC_PASSWORD", "planted-secret")
	dir := t.TempDir()
	file, state := filepath.Join(dir, "batch.yaml"), filepath.Join(dir, "state")
	batch := "name: job\nprofile: a40-4\nmachines: [{name: m, serial: S1, bmc: \"" + bmc + "\"}]\n"
	if err := os.WriteFile(file, []byte(batch), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := provision.LoadBatch(file, profiles.Open())
	if err != nil {
		t.Fatal(err)
	}
	e, err := journal.Open(t.Context(), state, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Submit(t.Context(), b, provision.Qualify()); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(batch, "S1", "S2", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := cli(t, "run", "-f", file, "--state", state)
	if code != exitUsage || !strings.Contains(stderr, "1 serial changed (m): asks, 0 untouched") || !strings.Contains(stderr, "add --yes") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("the BMC was called %d times", n)
	}
}

func TestWaitingSaysForWhat(t *testing.T) {
	until := time.Date(2026, 3, 1, 8, 0, 0, 0, time.Local)
	r := &provision.Run{Machines: []provision.MachineRun{
		{Machine: provision.Machine{Name: "a"}, State: provision.StateRun, Step: "boot", Why: "waits for POST"},
		{Machine: provision.Machine{Name: "b"}, State: provision.StateRun, Step: "burn-in", Until: until},
		{Machine: provision.Machine{Name: "c"}, State: provision.StateRun, Step: "burn-in"},
		{Machine: provision.Machine{Name: "d"}, State: provision.StateStuck, Step: "boot"},
	}}
	want := []string{"under way: a in boot (waits for POST)", "under way: b in burn-in, until 08:00:00", "under way: c in burn-in"}
	if got := waiting(r, provision.Selector{}); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for i := range spelledOut { // too many for a line each
		r.Machines = append(r.Machines, provision.MachineRun{Machine: provision.Machine{Name: fmt.Sprint("e", i)}, State: provision.StateRun, Step: "burn-in"})
	}
	want = []string{"7 under way: 6 in burn-in, until 08:00:00; a in boot (waits for POST)"}
	if got := waiting(r, provision.Selector{}); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := waiting(r, provision.Selector{Machines: []string{"d"}}); got != nil {
		t.Errorf("nothing goes on, and it says %q", got)
	}
}

func TestWordsInASilence(t *testing.T) {
	var said []string
	l := newLines(func(format string, _ ...any) { said = append(said, format) }, provision.Selector{})
	l.close()
	l.seen.run = &provision.Run{Machines: []provision.MachineRun{{Machine: provision.Machine{Name: "a"}, State: provision.StateRun, Step: "boot"}}}
	start := l.next.Add(-firstWord)
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{firstWord - time.Second, 0}, {firstWord, 1}, {firstWord + time.Second, 1}, {firstWord + nextWord - time.Second, 1}, {firstWord + nextWord, 2}} {
		l.word(start.Add(step.after))
		if len(said) != step.want {
			t.Errorf("%d words after %s, want %d", len(said), step.after, step.want)
		}
	}
}

func TestFailOn(t *testing.T) {
	for _, test := range []struct {
		list  string
		codes []int
		want  int
	}{
		{"", []int{5, 3}, 5},
		{"failed", []int{5, 3}, 3},
		{"failed", []int{5, 4}, 0},
		{"incomplete,failed", []int{3, 4}, 3},
		{"none", []int{5, 3, 4}, 0},
		{"none", []int{1, 5}, 1},
		{"unfinished", nil, 0},
	} {
		var f failOn
		if test.list != "" {
			if err := f.Set(test.list); err != nil {
				t.Fatal(err)
			}
		}
		if got := f.worst(test.codes...); got != test.want {
			t.Errorf("--fail-on %q of %v is %d, want %d", test.list, test.codes, got, test.want)
		}
	}
	if err := new(failOn).Set("failed,x"); err == nil {
		t.Error("a word that is none was taken")
	}
}
