package simrack_test

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/simrack"
)

// A retest measures again what its repair touched; what was proven of other parts stays,
// with the number of its attempt, and --whole measures all.
func TestRetestKeeps(t *testing.T) {
	for _, test := range []struct {
		fault       string
		word        provision.Repaired
		again, once []string // loads by how often they ran in the end
	}{
		{"nvme-worn", provision.Repaired{Note: "drive exchanged"}, []string{"gpu-burn"}, []string{"nvbandwidth"}},
		{"dimm-missing", provision.Repaired{Note: "DIMM seated"}, []string{"gpu-burn", "nvbandwidth"}, nil},
		{"gpu-x8", provision.Repaired{Note: "cords out"}, []string{"gpu-burn", "nvbandwidth"}, nil},
		{"nvme-worn", provision.Repaired{Note: "retest", Whole: true}, []string{"gpu-burn", "nvbandwidth"}, nil},
	} {
		t.Run(test.fault, func(t *testing.T) {
			rack, batch := flowRack(t, "qualify", simrack.MachineSpec{Name: "m1", Fault: test.fault})
			state := t.TempDir()
			if m := carryIn(t, state, batch, nil).Find("m1"); m.State != provision.StateFailed {
				t.Fatalf("%s: %s", m.State, m.Why)
			}
			if err := rack.Repair("m1"); err != nil {
				t.Fatal(err)
			}
			run := carryWord(t, state, batch, "m1", test.word)
			m, acts := run.Find("m1"), rack.Acts()["m1"]
			if m.State != provision.StatePassed || m.Attempt != 2 {
				t.Errorf("attempt %d %s: %s %s", m.Attempt, m.State, m.Why, m.Facts[provision.FactLine])
			}
			for n, loads := range map[int][]string{1: test.once, 2: test.again} {
				for _, l := range loads {
					if acts["host.load."+l] != n {
						t.Errorf("%s ran %d times, want %d", l, acts["host.load."+l], n)
					}
				}
			}
			j, err := provision.ReadReport(provision.AttemptDir(state, run.ID, "m1", 2))
			if err != nil {
				t.Fatal(err)
			}
			kept := map[string]bool{}
			for _, f := range j.Findings {
				if f.Attempt != 0 {
					kept[f.Check] = true
					if f.Attempt != 1 || !strings.HasPrefix(f.Why, "in attempt 1: ") || len(f.Evidence) > 0 && !strings.HasPrefix(f.Evidence[0], "../1/") {
						t.Errorf("kept %+v", f)
					}
				}
			}
			if (len(kept) > 0) != (len(test.once) > 0) || len(test.once) > 0 && !kept["gpu.copy"] {
				t.Errorf("kept %v", kept)
			}
			for _, n := range j.NotRun {
				t.Logf("not run: %s/%s %s %s: %s", n.Check, n.Quantity, n.Part, n.Scope, n.Why)
			}
		})
	}
}
