package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/provision"
)

// A run that writes over disks begins only with their number, whether it follows a plan or not.
func TestEraseDisksIsTheNumberOfThePlan(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"specs/writes.yaml": "schema: rackproof/spec/1\nname: writes\nextends: [standard]\nloads: {nvme: write}\n",
		"batch.yaml": "name: job\nprofile: a40-4\nspec: writes\nmachines:\n" +
			"  - {name: m1, bmc: \"127.0.0.1:1\", rack: R1, write_disks: [S1, S2], wipe: {disks: [S1, S9], level: purge}}\n  - {name: m2, bmc: \"127.0.0.1:2\", rack: R2, write_disks: [S3]}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("BMC_USER", "admin")
	t.Setenv("BMC_PASSWORD", "planted-secret")
	for _, test := range []struct{ flags, want string }{
		{"", "would write over 3 disks (m1: S1, S2; m2: S3), and --erase-disks states 0"},
		{"--erase-disks 2", "would write over 3 disks (m1: S1, S2; m2: S3), and --erase-disks states 2"},
		{"--erase-disks 3 --rack R2", "would write over 1 disks (m2: S3), and --erase-disks states 3"},
		{"--erase-disks 1 --workflow handover", "would write over 0 disks (none), and --erase-disks states 1"},
		{"--workflow wipe", "would write over 2 disks (m1: S1, S9), and --erase-disks states 0"},
	} {
		state := filepath.Join(dir, "state")
		args := append([]string{"run", "-f", filepath.Join(dir, "batch.yaml"), "--profiles", dir, "--state", state}, strings.Fields(test.flags)...)
		code, stdout, stderr := cli(t, args...)
		if code != exitUsage || !strings.Contains(stderr, test.want) || !strings.Contains(stderr, "nothing was changed") || stdout != "" {
			t.Errorf("%q: exit %d\n%s%s", test.flags, code, stdout, stderr)
		}
		if code, stdout, _ := cli(t, "status", "--json", "--state", state); code != exitPassed || !strings.Contains(stdout, `"runs": []`) {
			t.Errorf("%q: a run was begun: exit %d, %s", test.flags, code, stdout)
		}
	}
}

func TestErasedByThePlan(t *testing.T) {
	disk := func(serial string) provision.Change {
		return provision.Change{Step: "burn-in", What: provision.PlanDisk, Now: serial}
	}
	plan := &provision.PlanFile{Machines: []provision.MachinePlan{
		{Machine: "m1", Changes: []provision.Change{{Step: "bios", What: "reset"}, disk("S1")}},
		{Machine: "m2", Changes: []provision.Change{disk("S2")}, Problem: "no answer"}, // it is left alone
		{Machine: "m3", Changes: []provision.Change{disk("S3"), disk("S4")}},
	}}
	got := erasedBy(plan, &provision.Batch{}, provision.Qualify(), provision.Selector{})
	if got.disks != 3 || strings.Join(got.names, "; ") != "m1: S1; m3: S3, S4" {
		t.Errorf("%+v", got)
	}
}
