package main

import (
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/journal"
)

// A run whose process died says so: nothing of it is under way.
func TestStatusOfARunThatNobodyCarries(t *testing.T) {
	state := t.TempDir()
	e, err := journal.Open(t.Context(), state, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &provision.Batch{Name: "job", Machines: []provision.Machine{{Name: "m1", BMC: "192.0.2.1", Spec: "standard"}}}
	if _, err := e.Submit(t.Context(), b, provision.Workflow{Name: "none"}); err != nil {
		t.Fatal(err)
	}
	_ = e.Close()
	code, stdout, stderr := cli(t, "status", "job", "--state", state)
	if code != exitPassed || !strings.HasPrefix(stdout, "nobody carries this run: rackproof resume job\n") || !strings.Contains(stdout, "m1      STOPPED") ||
		strings.Contains(stdout, "under way") || !strings.Contains(stdout, "1 stopped (rackproof resume job)") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	if _, stdout, _ := cli(t, "status", "--state", state); !strings.Contains(stdout, "nobody carries this run: rackproof resume job") {
		t.Errorf("the list does not say it:\n%s", stdout)
	}
}

func TestHeaderOfAFinishedRun(t *testing.T) {
	r := &provision.Run{ID: "job", Batch: &provision.Batch{}, Machines: []provision.MachineRun{{Machine: provision.Machine{Spec: "strict"}, State: provision.StatePassed}}}
	if got := header(r); got != "job · spec strict · finished\n" {
		t.Errorf("%q", got)
	}
}

// The table at the end is read in a file as well: it is not cut as the live one is.
func TestTableIsAsWideAsItsReader(t *testing.T) {
	why := strings.Repeat("x", 200)
	r := &provision.Run{ID: "job", Machines: []provision.MachineRun{{Machine: provision.Machine{Name: "m1"}, State: provision.StateStuck, Why: why}}}
	for _, width := range []int{tableWidth, pipeWidth} {
		line := strings.Split(tableOf(r, provision.Selector{}, tableStyle{width: width}), "\n")[1]
		if n := len([]rune(line)); n != width {
			t.Errorf("%d columns, want %d", n, width)
		}
	}
	if w := (&app{stdout: &strings.Builder{}}).width(); w != pipeWidth {
		t.Errorf("a pipe is %d wide", w)
	}
}

func TestLinesNeverGoBackInTime(t *testing.T) {
	l := &lines{}
	now := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	for _, test := range []struct{ at, want time.Time }{{now, now}, {now.Add(-time.Second), now}, {now.Add(time.Second), now.Add(time.Second)}} {
		if got := l.at(test.at); !got.Equal(test.want) {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
}
