package simrack_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/simrack"
)

// Lost redundancy, and air that is too hot, in one machine take down the loads of its rack:
// no machine is blamed, and another rack goes on to its end.
func TestPowerEvent(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(*simrack.Rack) error
		says    string
	}{
		"redundancy": {func(r *simrack.Rack) error { return r.SetRedundancy("a", "Critical") }, "power event at rack R1: a: its power supplies lost their redundancy. Its loads are down; no machine is at fault"},
		"air":        {func(r *simrack.Rack) error { return r.SetInlet("a", 55) }, "power event at rack R1: a: Inlet Temp is 55 C, and its BMC's limit is 42 C. Its loads are down; no machine is at fault"},
	} {
		t.Run(name, func(t *testing.T) {
			rack, batch := changedRack(t, "load: 6s", "load: 20s",
				simrack.MachineSpec{Name: "a", Rack: "R1", U: 1}, simrack.MachineSpec{Name: "b", Rack: "R1", U: 2}, simrack.MachineSpec{Name: "c", Rack: "R2", U: 1})
			happened := make(chan error, 1)
			go func() {
				tick := time.NewTicker(50 * time.Millisecond)
				defer tick.Stop()
				for {
					select {
					case <-tick.C:
					case <-t.Context().Done():
						happened <- t.Context().Err()
						return
					}
					acts, all := rack.Acts(), true
					for _, m := range []string{"a", "b", "c"} {
						all = all && acts[m]["host.load.gpu-burn"] > 0
					}
					if all { // each was seen well by its BMC before its load
						happened <- c.happens(rack)
						return
					}
				}
			}()
			run := carry(t, batch)
			if err := <-happened; err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"a", "b"} {
				if m := run.Find(name); m.State != provision.StateRun || !m.Stopped || m.Why != c.says || !strings.HasPrefix(m.Next, "rackproof resume ") {
					t.Errorf("%s is %s, stopped %v, next %q: %s", name, m.State, m.Stopped, m.Next, m.Why)
				}
			}
			if m := run.Find("c"); m.State != provision.StatePassed {
				t.Errorf("c is %s at %s: %s", m.State, m.Step, m.Why)
			}
			if busy := rack.Busy(); len(busy) > 0 {
				t.Errorf("loads still run on %v", busy)
			}
			if len(run.Power) != 1 || run.Power[0].Rack != "R1" {
				t.Errorf("events %+v", run.Power)
			}
		})
	}
}
