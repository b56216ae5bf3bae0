package simrack_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/simrack"
)

// wiping is a rack by workflow wipe and spec erasure.
func wiping(t *testing.T, machines ...simrack.MachineSpec) (*simrack.Rack, *provision.Batch, map[string][]string) {
	t.Helper()
	rack, batch := changedRack(t, "spec: standard\nworkflow: qualify", "spec: erasure\nworkflow: wipe", machines...)
	disks := map[string][]string{}
	for _, info := range rack.Machines() {
		disks[info.Name] = info.Disks
	}
	return rack, batch, disks
}

// Processes that end while a disk is erased leave it to the next one: every disk is erased
// once, no other is touched, the certificate stands in the record, and the machine is off.
func TestWipe(t *testing.T) {
	rack, batch, disks := wiping(t, simrack.MachineSpec{Name: "good"})
	named := disks["good"][:2]
	batch.Machines[0].Wipe = &burnin.Wiping{Disks: named, Level: burnin.WipePurge}
	state := t.TempDir()
	for _, serial := range named {
		carryIn(t, state, batch, func() bool { return rack.Acts()["good"]["host.load.wipe-"+serial] > 0 })
	}
	run := carryIn(t, state, batch, nil)
	m, acts := run.Find("good"), rack.Acts()["good"]
	if m.State != provision.StatePassed || m.Facts[provision.FactHandover] != "powered off" {
		t.Errorf("%s: %s; %s", m.State, m.Why, m.Facts[provision.FactHandover])
	}
	for _, serial := range disks["good"] {
		want := 0
		if serial == named[0] || serial == named[1] {
			want = 1
		}
		if got := acts["host.load.wipe-"+serial]; got != want {
			t.Errorf("disk %s was erased %d times, want %d", serial, got, want)
		}
	}
	j, err := provision.ReadReport(provision.AttemptDir(state, run.ID, "good", 1))
	if err != nil {
		t.Fatal(err)
	}
	if e := j.Erasures; e == nil || len(e.Disks) != 2 || e.Disks[1].Serial != named[1] || e.Disks[1].Level != burnin.WipePurge || e.Operator == "" || len(e.Not) == 0 {
		t.Errorf("certificate %+v", e)
	}
	page, err := os.ReadFile(filepath.Join(provision.AttemptDir(state, run.ID, "good", 1), "report.html"))
	for _, want := range []string{named[0], "NVMe Sanitize, block erase", "64 of 64 marks gone", "Not erased by this"} {
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q, %v", want, err)
		}
	}
}

// A machine with a disk that is not there waits for a person; the disks that are there are
// erased. After two of them no other machine begins.
func TestBrakeOfWipe(t *testing.T) {
	const all = 6
	machines := make([]simrack.MachineSpec, all)
	for i := range machines {
		machines[i] = simrack.MachineSpec{Name: fmt.Sprintf("m%d", i+1)}
	}
	rack, batch, disks := wiping(t, machines...)
	for i := range batch.Machines {
		m := &batch.Machines[i]
		m.Wipe = &burnin.Wiping{Disks: []string{disks[m.Name][0], "NOT-HERE-" + m.Name}, Level: burnin.WipePurge}
	}
	run := carry(t, batch)
	begun := 0
	for name, acts := range rack.Acts() {
		m := run.Find(name)
		if m.State != provision.StateStuck || m.Step != "wipe" {
			t.Errorf("%s is %s at %s: %s", name, m.State, m.Step, m.Why)
		}
		if n := acts["host.load.wipe-"+disks[name][0]]; n > 0 {
			begun++
			if want := "1 of 2 disks are not erased: NOT-HERE-" + name + ": it was left as it is: no disk of this serial number is on the host"; m.Why != want && !strings.HasPrefix(m.Why, "Stopped after") {
				t.Errorf("%s says %q", name, m.Why)
			}
		}
	}
	if begun != 2 {
		t.Errorf("%d machines were begun, want 2", begun)
	}
}

// Without the proof that the host is this machine nothing is erased.
func TestWipeWithoutProof(t *testing.T) {
	rack, batch, disks := wiping(t, simrack.MachineSpec{Name: "good"})
	batch.Machines[0].Wipe = &burnin.Wiping{Disks: disks["good"][:1], Level: burnin.WipePurge}
	batch.Machines[0].Boot = provision.Boot{Method: provision.BootDisk}
	run := carry(t, batch)
	m := run.Find("good")
	for act := range rack.Acts()["good"] {
		if strings.HasPrefix(act, "host.load.wipe") {
			t.Errorf("%s happened", act)
		}
	}
	if m.State != provision.StateStuck || m.Step != "wait-ssh" {
		t.Errorf("%s at %s: %s", m.State, m.Step, m.Why)
	}
}
