package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/provision/simrack"
)

// A delivery of four machines: one as ordered, one without a DIMM, one with another GPU
// than ordered, one that nobody ordered; a fifth that was ordered did not come. No BMC
// was changed.
func TestIntake(t *testing.T) {
	rack, err := simrack.Start(t.Context(), simrack.Options{Seed: 3, Machines: []simrack.MachineSpec{
		{Name: "good"}, {Name: "short", Fault: "dimm-missing"}, {Name: "other"}, {Name: "foreign"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rack.Close() })
	t.Setenv("BMC_USER", rack.Login().User)
	t.Setenv("BMC_PASSWORD", rack.Login().Password)
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	addrs := []string{"--state", state}
	table := "Seriennummer;Name;GPUs;DIMMs;PSU qty;Preis\n"
	for _, m := range rack.Machines() {
		addrs = append(addrs, m.BMC)
		gpus := "8 x H100"
		if m.Name == "other" {
			gpus = "8 x H200"
		}
		if m.Name != "foreign" {
			table += fmt.Sprintf("%s;%s;%s;%d x %d GB;%d;1\n", m.Serial, m.Name, gpus, m.DIMMs, m.DIMMGiB, m.PSUs)
		}
	}
	order := filepath.Join(dir, "po.csv")
	if err := os.WriteFile(order, []byte(table+"LOST;lost;8;32;6;1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "received.csv")
	code, text, errs := cli(t, append([]string{"intake", order, "--out", out, "--keep", filepath.Join(dir, "kept")}, addrs...)...)
	for _, want := range []string{
		"AS ORDERED ", "short: DIFFERS: 31 of 32 DIMMs: ", " missing\n", "other: DIFFERS: 0 of 8 GPUs are H200; the rest: 8 x H100 80GB HBM3",
		"lost: none of 4 BMCs that were asked says this serial", "columns compared with nothing: Preis",
		"ordered 4 · as ordered 1 · differs 2 · not found 1 · not ordered 1 · exit 5\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s%s", want, text, errs)
		}
	}
	if code != exitNotFinished {
		t.Errorf("exit %d\n%s", code, errs)
	}
	f, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	rows := csv.NewReader(strings.NewReader(string(f)))
	rows.Comma = ';'
	cells, err := rows.ReadAll()
	if err != nil || len(cells) != 6 {
		t.Fatalf("%v\n%s", err, f)
	}
	states := map[string]string{}
	for _, row := range cells[1:] {
		states[row[3]] = row[2]
	}
	if states["good"] != "as_expected" || states["short"] != "differs" || states["other"] != "differs" || states["lost"] != "not_found" || states[""] != "not_expected" {
		t.Errorf("states %v", states)
	}
	if kept, err := filepath.Glob(filepath.Join(dir, "kept", "*", "bmc", "bmc-inventory.out")); err != nil || len(kept) != 4 {
		t.Errorf("kept %v, %v", kept, err)
	}
	intakeOfOne(t, rack, dir, addrs)
	for name, acts := range rack.Acts() {
		for act := range acts {
			if !strings.HasPrefix(act, "session.") {
				t.Errorf("%s: %s", name, act)
			}
		}
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), rack.Login().Password) {
			t.Errorf("%s holds the password", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// intakeOfOne asks for one machine among others, and with what a BMC cannot tell.
func intakeOfOne(t *testing.T, rack *simrack.Rack, dir string, addrs []string) {
	t.Helper()
	m := rack.Machines()[0]
	for _, test := range []struct {
		columns, cells string
		shared         bool
		code           int
		want           string
	}{
		{"gpus,dimms", fmt.Sprintf("8,%d", m.DIMMs), true, exitPassed, `"as_expected":1`},
		{"gpus,dimms", fmt.Sprintf("8,%d", m.DIMMs), false, exitNotFinished, `"not_expected":3`},
		{"gpus", "8 x H100 SXM5", true, exitIncomplete, `"unknown":1`},
		{"psus", "9", true, exitHardware, `"differs":1`},
	} {
		order := filepath.Join(dir, "one.csv")
		if err := os.WriteFile(order, []byte("serial,"+test.columns+"\n"+m.Serial+","+test.cells+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"intake", order, "--json"}, addrs...)
		if test.shared {
			args = append(args, "--shared")
		}
		code, text, errs := cli(t, args...)
		lines := strings.Split(strings.TrimSpace(text), "\n")
		if code != test.code || len(lines) != 5 || !strings.Contains(lines[4], test.want) {
			t.Errorf("%s %q: exit %d, want %d\n%s%s", test.columns, test.cells, code, test.code, text, errs)
		}
		for _, line := range lines {
			if !json.Valid([]byte(line)) {
				t.Errorf("no JSON: %s", line)
			}
		}
	}
}

// Bad input ends with 2 and contacts nobody.
func TestIntakeBadInput(t *testing.T) {
	t.Setenv("BMC_USER", "")
	t.Setenv("BMC_PASSWORD", "")
	dir := t.TempDir()
	order := filepath.Join(dir, "po.csv")
	if err := os.WriteFile(order, []byte("serial,gpus\nS1,8\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(dir, "wrong.csv")
	if err := os.WriteFile(wrong, []byte("serial,bmc\nS1,10.0.0.1:x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range [][]string{
		{"where are the BMCs?", order},
		{"no such file", filepath.Join(dir, "absent.csv"), "192.0.2.1"},
		{"export BMC_USER", order, "192.0.2.1"},
		{"wrong.csv:2:1: BMC address", wrong},
		{"there is such a file", order, "192.0.2.1", "--out", order},
		{"neither an IP address nor a network", order, "nowhere"},
	} {
		code, text, errs := cli(t, slices.Concat([]string{"intake", "--state", dir}, test[1:])...)
		if code != exitUsage || !strings.Contains(errs, test[0]) {
			t.Errorf("%q: exit %d\n%s%s", test, code, text, errs)
		}
	}
}
