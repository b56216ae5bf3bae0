package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A wrong command line points to the help of the verb that was meant, and says what
// would be right.
func TestWrongLinesPointToTheirVerb(t *testing.T) {
	t.Setenv("BMC_USER", "")
	t.Setenv("BMC_PASSWORD", "")
	batch := filepath.Join(t.TempDir(), "batch.yaml")
	if err := os.WriteFile(batch, []byte("name: a\nprofile: a40-4\nmachines: [{name: m, bmc: 192.0.2.1}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"done"}, []string{"next: rackproof done --help"}},
		{[]string{"run", "--bogus"}, []string{"next: rackproof run --help"}},
		{[]string{"bmc", "192.0.2.1", "power", "x", "y"}, []string{"next: rackproof bmc 192.0.2.1 power --help"}},
		{[]string{"sim", "--machines", "0"}, []string{"next: rackproof sim --help"}},
		{[]string{"sim", "--fault", "gpu-x7"}, []string{"did you mean gpu-x8?", "xid79", "session-limit"}},
		{[]string{"run", "-f", batch}, []string{"next: export BMC_USER BMC_PASSWORD; nothing was contacted"}},
	} {
		code, _, stderr := cli(t, append(test.args, "--state", t.TempDir())...)
		if code != exitUsage {
			t.Errorf("%v: exit %d\n%s", test.args, code, stderr)
		}
		for _, want := range test.want {
			if !strings.Contains(stderr, want) {
				t.Errorf("%v does not say %q:\n%s", test.args, want, stderr)
			}
		}
	}
}

func TestJudgeSaysThatAFileIsOfAnotherTool(t *testing.T) {
	file := filepath.Join(t.TempDir(), "smi.xml")
	if err := os.WriteFile(file, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := cli(t, "judge", "--profile", "l40s-8", "--probe", "nvidia-smi="+file)
	if code != exitIncomplete || !strings.Contains(stderr, "before/nvidia-smi: not nvidia-smi output") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}

// The help of `sim` tells how a script plays the hands.
func TestSimHelpTellsTheControlInterface(t *testing.T) {
	_, stdout, _ := cli(t, "sim", "--help")
	for _, want := range []string{"POST /machines/NAME/repair", "curl -X POST"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
}
