package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/provision"
)

// A run that must end before anything could be done changes nothing, says so, and is
// carried on by resume, which lifts the deadline.
func TestRunUntil(t *testing.T) {
	t.Parallel()
	r := &provision.Run{ID: "job", Until: time.Date(2026, 3, 2, 6, 0, 0, 0, time.Local), Batch: &provision.Batch{}}
	r.Machines = []provision.MachineRun{
		{Machine: provision.Machine{Name: "a", Rack: "R1", U: 3}, State: provision.StateRun, Stopped: true, Late: &provision.PutDown{Why: "bios was not begun", Untouched: true}},
		{Machine: provision.Machine{Name: "b", Rack: "R1", U: 5}, State: provision.StateRun, Stopped: true, Late: &provision.PutDown{Why: "put down in burn-in: the run ends at 06:00; its load is down"}},
		{Machine: provision.Machine{Name: "c"}, State: provision.StatePassed},
	}
	want := "not begun, nothing of theirs was changed: a\nb (R1 U05): put down in burn-in: the run ends at 06:00; its load is down\ncarry on: rackproof resume job"
	if got := strings.Join(late(r, provision.Selector{}), "\n"); got != want {
		t.Errorf("late:\n%s\nwant\n%s", got, want)
	}
	if h := header(r); !strings.Contains(h, "until 2026-03-02 06:00") {
		t.Errorf("header %q", h)
	}
}

func TestUntilOnARack(t *testing.T) {
	if testing.Short() {
		t.Skip("carries a run through")
	}
	j := newRackJob(t)
	good, narrow := j.rack.Machines()[0].Name, j.rack.Machines()[1].Name
	j.does(exitUsage, []string{"run", "-f", j.batch, "--until", "2020-01-01T06:00:00Z"}, "is past", "nothing was contacted")
	j.does(exitUsage, []string{"resume", "--until", "morning"}, "write 06:00")
	stdout, _ := j.does(exitNotFinished, []string{"run", "-f", j.batch, "--until", "2m"},
		"until 20", "not begun, nothing of theirs was changed: ", "carry on: rackproof resume job", "bios was not begun: it may take 15 min", "exit 5")
	if !strings.Contains(stdout, good) || !strings.Contains(stdout, narrow) {
		t.Errorf("machines are not named:\n%s", stdout)
	}
	for name, acts := range j.rack.Acts() {
		for act, n := range acts {
			if n > 0 && (strings.Contains(act, "reset") || strings.Contains(act, "load") || strings.Contains(act, "patch")) {
				t.Errorf("%s: %s happened %d times", name, act, n)
			}
		}
	}
	stdout, _ = j.does(exitNotFinished, []string{"run", "-f", j.batch, "--until", "3m", "--json"})
	var out struct {
		Until time.Time `json:"until"`
	}
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || time.Until(out.Until) > 3*time.Minute || time.Until(out.Until) < 0 {
		t.Errorf("until %s in JSON, %v", out.Until, err)
	}
	j.does(exitHardware, []string{"resume"}, good, "PASSED")
}
