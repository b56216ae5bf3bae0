package provision

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

// A file is what it says, not where it lies or how its lines are numbered.
func TestSameBatchElsewhereIsUntouched(t *testing.T) {
	t.Setenv("BMC_USER", "admin")
	t.Setenv("BMC_PASSWORD", planted)
	load := func(text string) *Batch {
		dir := t.TempDir()
		csv := "name,bmc,serial,rack,u,host,bmc_user,bmc_password\nr1u07,10.0.12.7,S7,R1,U7,10.0.13.7,root,x\nr1u08,10.0.12.8,S8,R1,8,10.0.13.8,root,y\n"
		for name, text := range map[string]string{"rack.csv": csv, "batch.yaml": text} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		b, err := LoadBatch(filepath.Join(dir, "batch.yaml"), profiles.Open())
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	const text = "name: job\nprofile: a40-4\nexpect: {drives: 8, dimm_size: 64 GiB}\nmachines: {csv: rack.csv}\n"
	b := load(text)
	r := &Run{ID: "job", Batch: b}
	for _, m := range b.Machines {
		r.Machines = append(r.Machines, MachineRun{Machine: m, State: StateFailed})
	}
	if e := Compare(r, load("# agreed on Monday\n\n"+text)); e.String() != "2 untouched" || !e.Empty() || len(e.Kept) > 0 {
		t.Errorf("%s (kept %v)", e, e.Kept)
	}
	if e := Compare(r, load(strings.Replace(text, "drives: 8", "drives: 6", 1))); !strings.HasPrefix(e.String(), "2 finished, other profile, spec or cables") {
		t.Errorf("%s", e)
	}
}

// A finished machine that is another one in the file is asked about; agreed once,
// a retest tests the new one.
func TestFinishedMachineWithAnotherSerial(t *testing.T) {
	s := finishedStory(t)
	b := *s.fold().Batch
	b.Machines = append([]Machine(nil), b.Machines...)
	b.Machines[0].Serial = "NEW"
	e := Compare(s.fold(), &b)
	if e.String() != "1 serial changed (m1): asks, 1 untouched" || !e.Unknown {
		t.Errorf("%s %+v", e, e)
	}
	s.step = ""
	s.add("", 0, Edited, Submission{Batch: &b, Plan: s.fold().Plan})
	if e := Compare(s.fold(), &b); len(e.Identity) > 0 || e.Unknown || !strings.HasPrefix(e.String(), "1 changed but finished (m1): kept as tested") {
		t.Errorf("asked about again: %s", e)
	}
	if m := s.fold().Machines[0]; m.Machine.Serial != "Sm1" || m.State != StateFailed {
		t.Errorf("the edit touched it: %+v", m.Machine)
	}
	if m := s.add("m1", 0, Retested, Repaired{}).fold().Machines[0]; m.Machine.Serial != "NEW" || m.Attempt != 2 {
		t.Errorf("retested as %+v", m.Machine)
	}
}
