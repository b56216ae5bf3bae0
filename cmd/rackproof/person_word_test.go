package main

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/journal"
)

func TestDoneAndRetestOfAMachineThatIsWell(t *testing.T) {
	state := verbsOn(t)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"done", "good"}, "good is PASSED and waits for nobody\n  next: to test it anew: rackproof retest good\n"},
		{[]string{"retest", "good"}, "next: if that is meant: rackproof retest good --yes\n"},
	} {
		code, _, stderr := cli(t, append(test.args, "--state", state)...)
		if code != exitUsage || !strings.Contains(stderr, test.want) {
			t.Errorf("%v: exit %d\n%s", test.args, code, stderr)
		}
	}
	if _, stdout, _ := cli(t, "status", "job", "--json", "--state", state); !strings.Contains(stdout, `"attempt": 1`) || strings.Contains(stdout, `"attempt": 2`) {
		t.Errorf("a refused word changed the run:\n%s", stdout)
	}
}

// Where a machine waits in several runs, the worklist names them and nothing is
// guessed.
func TestWaitsInSeveralRuns(t *testing.T) {
	state := verbsOn(t)
	e, err := journal.Open(t.Context(), state, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &provision.Batch{Name: "other", Machines: []provision.Machine{{Name: "bad", BMC: "192.0.2.2", Rack: "R1", U: 2, Spec: "standard"}}}
	if _, err := e.Submit(t.Context(), b, provision.Workflow{Name: "none"}); err != nil {
		t.Fatal(err)
	}
	ev, err := provision.NewEvent("other", "bad", provision.GotStuck, provision.Stuck{Why: "silent"})
	if err != nil {
		t.Fatal(err)
	}
	ev.Attempt = 1
	if err := e.Tell(t.Context(), ev); err != nil {
		t.Fatal(err)
	}
	_ = e.Close()
	code, _, stderr := cli(t, "done", "bad", "--state", state)
	if code != exitUsage || !strings.Contains(stderr, "bad waits in several runs: job (FAILED), other (STUCK)") || !strings.Contains(stderr, "--run") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
	_, stdout, _ := cli(t, "hands", "--state", state)
	for _, want := range []string{"R1, run job\n", "R1, run other\n", "then   rackproof done bad --run job\n", "then   rackproof resume other\n"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("hands does not say %q:\n%s", want, stdout)
		}
	}
}

// Advice that wants the evidence packet comes with the command that writes it.
func TestHandsSayHowToGetThePacket(t *testing.T) {
	c := provision.Chore{Run: "job", Machine: "bad", State: provision.StateFailed, Hands: provision.Hands{
		Do: []burnin.Advice{{Do: "Open a vendor ticket with the evidence packet", Minutes: 5, Who: "vendor"}}, Next: "rackproof done bad",
	}}
	if text := choresText([]provision.Chore{c}); !strings.Contains(text, "packet rackproof report job --machines bad --format tar --out packets\n") {
		t.Errorf("%s", text)
	}
	c.Hands.Do[0].Do = "cords out 60 s"
	if text := choresText([]provision.Chore{c}); strings.Contains(text, "packet") {
		t.Errorf("%s", text)
	}
}
