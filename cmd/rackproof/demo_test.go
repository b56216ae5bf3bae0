package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/nodetest"
	"github.com/rackproof/rackproof/burnin/report"
	"github.com/rackproof/rackproof/provision/simrack"
)

// planted is where each fault of the demo must be found: check, and part as the
// table names it, "" where the whole machine is at fault.
var planted = map[string]struct{ check, part, says string }{
	"gpu-x8":          {"pcie.link", "GPU SXM3", "8"},
	"nvlink-down":     {"gpu.nvlink", "GPU SXM6", "17"},
	"dimm-missing":    {"memory.population", "P2-DIMMC1", ""},
	"ecc-uncorrected": {"gpu.ecc", "GPU SXM1", "2"},
	"xid79":           {"gpu.xid", "GPU SXM4", "79"},
	"nvme-worn":       {"nvme.health", "", "spare"},
	"gds-compat":      {"gds.support", "", ""},
	"crossed-cables":  {"identity", "", "two machines"},
	"driver-mismatch": {"gpu.driver", "", "mismatch"},
	"fan-dead":        {"bmc.sensors", "FAN4", ""},
	"sel-ecc":         {"bmc.sel", "DIMM P", "Uncorrectable"},
	"gpu-hot":         {"gpu.thermal", "GPU SXM8", "over its temperature limit"},
	"gpu-power-low":   {"gpu.power", "GPU SXM5", "500 W"},
	"hung-nvidia-smi": {"gpu.driver", "", "did not answer"},

	"nvlink-sometimes": {"gpu.nvlink", "GPU SXM6", "17"},
}

// The demo's table names every planted fault with its part and a ladder, passes the
// good machines with nothing to remark, and the repaired one.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("the demo takes more than a minute")
	}
	dir := t.TempDir()
	var out, progress bytes.Buffer
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if code := Main(ctx, []string{"demo", "--keep", dir}, strings.NewReader(""), &out, &progress); code != exitHardware {
		t.Fatalf("exit %d, want %d\n%s%s", code, exitHardware, progress.String(), out.String())
	}
	t.Logf("the demo took %s", time.Since(began).Round(time.Second))
	for i, spec := range demoRack(goodMachines + len(nodetest.Faults)) {
		judged := keptMachine(t, dir, spec)
		entry := tableEntry(t, out.String(), spec.Name)
		switch {
		case i < goodMachines:
			demoPassed(t, judged, entry, 1)
		case i == goodMachines:
			demoPassed(t, judged, entry, 2)
			first, err := report.ReadJudgement(filepath.Join(dir, "state", "runs", "demo", spec.Name, "1", "report.json"))
			if err != nil {
				t.Fatal(err)
			}
			demoFound(t, spec.Fault, first, "")
		default:
			demoFound(t, spec.Fault, judged, entry)
		}
	}
	if !strings.Contains(out.String(), "17 machines: 3 PASSED") {
		t.Errorf("no tally:\n%s", out.String())
	}
	nothingSecret(t, dir)
}

// tableEntry cuts what is said of one machine out of the table: the lines below it,
// or the row of a machine of which there is nothing more to say.
func tableEntry(t *testing.T, table, machine string) string {
	t.Helper()
	var row string
	var entry []string
	for line := range strings.Lines(table) {
		switch {
		case strings.HasPrefix(line, "FAIL "+machine+" ") || strings.HasPrefix(line, "INCOMPLETE "+machine+" "):
			entry = []string{line}
		case entry != nil && strings.HasPrefix(line, "     "):
			entry = append(entry, line)
		case entry != nil:
			return strings.Join(entry, "")
		case strings.Contains(line, " "+machine+" "):
			row = line
		}
	}
	if row == "" && entry == nil {
		t.Errorf("the table does not name %s", machine)
	}
	return row + strings.Join(entry, "")
}

// keptMachine reads the tarball that the demo kept, and judges it anew.
func keptMachine(t *testing.T, dir string, spec simrack.MachineSpec) burnin.Judgement {
	t.Helper()
	m, err := report.Load(filepath.Join(dir, spec.Name+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if !m.Simulated {
		t.Errorf("%s: the record does not say that it is simulated", spec.Name)
	}
	for _, suffix := range []string{".html", ".json"} {
		if _, err := os.Stat(filepath.Join(dir, "reports", spec.Name+suffix)); err != nil {
			t.Error(err)
		}
	}
	return m.Judgement
}

func demoPassed(t *testing.T, j burnin.Judgement, entry string, attempt int) {
	t.Helper()
	if j.Result != burnin.Passed || j.Machine.Attempt != attempt || !strings.Contains(entry, " PASSED ") {
		t.Errorf("%s: %s in attempt %d, want passed in attempt %d:\n%s", j.Machine.Name, j.Result, j.Machine.Attempt, attempt, entry)
	}
	for _, f := range j.Findings {
		if f.Verdict == burnin.Warn || f.Verdict == burnin.Fail || f.Waived != "" {
			t.Errorf("%s: remark on a good machine: %s %s", j.Machine.Name, f.ID, f.Why)
		}
	}
}

func demoFound(t *testing.T, fault string, j burnin.Judgement, entry string) {
	t.Helper()
	want := planted[fault]
	for _, f := range j.Findings {
		if f.Verdict != burnin.Fail || f.Check != want.check || !strings.Contains(f.Part, want.part) {
			continue
		}
		if len(f.Advice) == 0 {
			t.Errorf("%s: no ladder for %s", fault, f.ID)
		}
		if entry == "" { // of an earlier attempt
			return
		}
		for _, part := range []string{want.part, f.Serial, want.says} {
			if !strings.Contains(entry, part) {
				t.Errorf("%s: the table does not say %q:\n%s", fault, part, entry)
			}
		}
		if !strings.Contains(entry, "     do    1 ") {
			t.Errorf("%s: the table has no ladder:\n%s", fault, entry)
		}
		return
	}
	t.Errorf("%s was not found by %s at %q: %s, %s\n%s", fault, want.check, want.part, j.Result, j.Line, entry)
}

// nothingSecret looks for the rack's passwords and keys in everything kept. The boot
// server's own file holds the host keys it made, for itself.
func nothingSecret(t *testing.T, dir string) {
	t.Helper()
	secrets := []string{os.Getenv(simrack.EnvPassword), strings.TrimSpace(os.Getenv(simrack.EnvKey))}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, s := range secrets {
			if s != "" && bytes.Contains(b, []byte(s)) {
				t.Errorf("%s holds a secret", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if secrets[0] == "" || secrets[1] == "" {
		t.Error("no secret to look for")
	}
}
