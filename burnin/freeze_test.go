package burnin_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/nodetest"
	"github.com/rackproof/rackproof/profiles"
)

// TestFaultUnderLoad: a GPU that falls off the bus freezes its evidence while the loads run;
// then the spec's policy holds. A machine that is well freezes nothing.
func TestFaultUnderLoad(t *testing.T) {
	for _, row := range []struct {
		name   string
		faults []string
		onFail profiles.OnFail
		frozen bool
		loaded [2]float64 // seconds of stress-ng, at least and at most
	}{
		{"well", nil, profiles.StopMachine, false, [2]float64{59, 82}},
		{"the others go on", []string{"xid79"}, profiles.DropPartAndContinue, true, [2]float64{59, 82}},
		{"the machine stops", []string{"xid79"}, profiles.StopMachine, true, [2]float64{0, 20}},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := benchMachine(t, row.faults...)
			to := judgedAs(t, m)
			dir := storeFolder(t)
			asked := 0
			var rec *burnin.Record
			synctest.Test(t, func(t *testing.T) {
				store, err := burnin.OpenStore(dir)
				if err != nil {
					t.Fatal(err)
				}
				shell := nodetest.Wire(m, nodetest.Boot{BootID: "0e3c1c2e-7d0f-4b8e-9a53-6a4f8a5d2f10"})
				err = burnin.Burn(t.Context(), burnin.BurnOptions{
					Node:  &burnin.Node{Shell: shell, Origin: burnin.FromSSH, Probes: burnin.Probes(), Profile: to.profile},
					Store: store, Run: "test", Attempt: 1, Owner: "test@here", Duration: time.Minute, OnFail: row.onFail,
					Loads: burnin.LoadsFor(burnin.Loads(), to.spec, burnin.Consent{}), Machine: burnin.Machine{Name: "bench"},
					Freeze: func(context.Context) ([]*burnin.Evidence, error) {
						asked++
						e := &burnin.Evidence{Probe: "bmc-diagnostics", Instance: "dump", Phase: burnin.PhaseBMC, Source: burnin.FromBMC, Ended: burnin.EndedExit, Out: []byte("dump"), Started: time.Now()}
						return []*burnin.Evidence{e}, nil
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				if rec, err = store.Record(); err != nil {
					t.Fatal(err)
				}
			})
			evidence := map[string]*burnin.Evidence{}
			for _, e := range rec.Evidence {
				evidence[e.Ref()] = e
			}
			for ref, want := range map[string]string{
				"load/freeze-kernel-log": "Xid (PCI:", "load/freeze-nvidia-smi": "", "load/freeze-bug-report": "", "bmc/bmc-diagnostics@dump": "dump",
			} {
				e := evidence[ref]
				if (e != nil) != row.frozen || e != nil && !strings.Contains(string(e.Out), want) {
					t.Errorf("%s: %v", ref, e)
				}
			}
			if want := map[bool]int{true: 1}[row.frozen]; asked != want {
				t.Errorf("the BMC was asked %d times, want %d", asked, want)
			}
			if log := evidence["load/kernel-follow"]; log == nil || strings.Contains(string(log.Out), "Xid") != row.frozen {
				t.Errorf("the log that was followed: %v", log)
			}
			if s := evidence["load/stress-ng"].Seconds; s < row.loaded[0] || s > row.loaded[1] {
				t.Errorf("loaded for %.0f s, want %v", s, row.loaded)
			}
			notes := strings.Join(rec.Meta.Notes, "\n")
			if said := strings.Contains(notes, "XID 79 of GPU 0000:"); said != row.frozen {
				t.Errorf("notes %q", notes)
			}
			if on := strings.Contains(notes, "the loads on the other parts go on until"); on != (row.onFail == profiles.DropPartAndContinue) {
				t.Errorf("notes %q", notes)
			}
		})
	}
}
