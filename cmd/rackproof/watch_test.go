package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/journal"
)

// stuckRun is a run of three machines that are STUCK in the same way, one of them behind
// an act.
func stuckRun(t *testing.T) (state string) {
	t.Helper()
	state = t.TempDir()
	e, err := journal.Open(t.Context(), state, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	b := &provision.Batch{Name: "job", Resolved: map[string][]byte{"x": []byte("profile bytes")}}
	for _, name := range []string{"m1", "m2", "m3"} {
		b.Machines = append(b.Machines, provision.Machine{Name: name, BMC: "192.0.2.1" + name[1:], Serial: "S-" + name, Rack: "R1", Spec: "standard"})
	}
	if _, err := e.Submit(t.Context(), b, provision.Workflow{Name: "none"}); err != nil {
		t.Fatal(err)
	}
	tell := func(machine string, kind provision.Kind, data any) {
		ev, err := provision.NewEvent("job", machine, kind, data)
		if err != nil {
			t.Fatal(err)
		}
		ev.Attempt, ev.Step = 1, "bios"
		if err := e.Tell(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
	}
	tell("m1", provision.Intended, provision.Intent{Act: "bios settings", Mark: "1"})
	for _, m := range b.Machines {
		tell(m.Name, provision.StepEnded, provision.StepDone{Seconds: 60})
		tell(m.Name, provision.GotStuck, provision.Stuck{Why: m.Name + ": no attribute IOMMU"})
	}
	return state
}

// What machines have in common is said of the batch, with the time of its steps.
func TestStatusSaysCauses(t *testing.T) {
	state := stuckRun(t)
	code, stdout, stderr := cli(t, "status", "job", "--state", state)
	for _, want := range []string{
		"3 of 3 STUCK the same way: no attribute IOMMU (every machine: firmware, profile or network, not hands): m1, m2, m3\n",
	} {
		if code != exitPassed || !strings.Contains(stdout, want) {
			t.Errorf("exit %d, no %q in\n%s%s", code, want, stdout, stderr)
		}
	}
	_, stdout, _ = cli(t, "status", "job", "--state", state, "--json")
	var said struct {
		Causes []provision.Cause `json:"causes"`
	}
	if err := json.Unmarshal([]byte(stdout), &said); err != nil || len(said.Causes) != 1 || len(said.Causes[0].Machines) != 3 || said.Causes[0].Of != 3 {
		t.Errorf("%+v, %v", said, err)
	}
}

func TestWatch(t *testing.T) {
	state := stuckRun(t)
	code, stdout, stderr := cli(t, "watch", "--state", state, "--json")
	rows := strings.Split(strings.TrimSpace(stdout), "\n")
	if code != exitNotFinished || len(rows) != 8 || strings.Contains(stdout, "resolved") {
		t.Fatalf("exit %d, %d events\n%s%s", code, len(rows), stdout, stderr)
	}
	for i, row := range rows {
		var e provision.Event
		if err := json.Unmarshal([]byte(row), &e); err != nil || e.Run != "job" || int(e.Seq) != i+1 || e.By != provision.Operator() {
			t.Errorf("%v: %s", err, row)
		}
	}
	if code, stdout, _ := cli(t, "watch", "job", "--state", state, "--json", "--after", "4", "--machines", "m2"); code != exitNotFinished || strings.Count(stdout, "\n") != 2 || !strings.Contains(stdout, `"machine":"m2"`) {
		t.Errorf("exit %d\n%s", code, stdout)
	}
	if code, _, stderr := cli(t, "watch", "job", "--state", state, "--fail-on", "none"); code != exitPassed || !strings.Contains(stderr, "STUCK") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}

func TestAudit(t *testing.T) {
	state := stuckRun(t)
	code, stdout, stderr := cli(t, "audit", "job", "--state", state)
	who := provision.Operator()
	for _, want := range []string{who + "  the run  started: workflow none over 3 machines\n", who + "  m1 S/N S-m1  bios: bios settings begins\n"} {
		if code != exitPassed || !strings.Contains(stdout, want) {
			t.Errorf("exit %d, no %q in\n%s%s", code, want, stdout, stderr)
		}
	}
	if _, stdout, _ = cli(t, "audit", "--state", state, "--json", "--machines", "m1"); strings.Count(stdout, "\n") != 1 || !strings.Contains(stdout, `"serial":"S-m1","bmc":"192.0.2.11"`) {
		t.Errorf("%s", stdout)
	}
}
