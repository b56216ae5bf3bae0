package provision

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func machine(name, rack string, watts float64) Machine {
	return Machine{Name: name, Rack: rack, LoadedWatts: watts, Profile: "p"}
}

// admitted starts a load for each machine and returns the names of those that are
// let in before anybody leaves.
func admitted(t *testing.T, g *Gate, machines ...Machine) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in := make(chan string, len(machines))
	for _, m := range machines {
		go func() {
			if _, err := g.Power(ctx, m); err == nil {
				in <- m.Name
			}
		}()
		synctest.Wait() // in the order given
	}
	<-time.After(time.Hour) // of the bubble: nothing waits
	cancel()
	synctest.Wait()
	close(in)
	var names []string
	for n := range in {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func TestPowerOfARack(t *testing.T) {
	for _, test := range []struct {
		name     string
		racks    map[string]Rack
		machines []Machine
		want     string
	}{
		{"one big machine without a budget", nil, []Machine{machine("a", "R1", 10200), machine("b", "R1", 10200)}, "a"},
		{"another rack is another matter", nil, []Machine{machine("a", "R1", 10200), machine("b", "R2", 10200)}, "a b"},
		{"small machines go together", nil, []Machine{machine("a", "R1", 2900), machine("b", "R1", 3000), machine("c", "R1", 800)}, "a b c"},
		{"small beside big", nil, []Machine{machine("a", "R1", 10200), machine("b", "R1", 900)}, "a b"},
		{"a draw that nobody states counts as big", nil, []Machine{machine("a", "R1", 0), machine("b", "R1", 10200)}, "a"},
		{"no rack is one rack", nil, []Machine{machine("a", "", 10200), machine("b", "", 10200)}, "a"},
		{"a budget for three", map[string]Rack{"R1": {KW: 32}}, []Machine{machine("a", "R1", 10200), machine("a", "R1", 10200), machine("a", "R1", 10200), machine("a", "R1", 10200)}, "a a a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := strings.Join(admitted(t, NewGate(&Batch{Racks: test.racks}), test.machines...), " ")
				if got != test.want {
					t.Errorf("loaded at once: %q, want %q", got, test.want)
				}
			})
		})
	}
}

func TestLoadsStartStaggeredAndPowerComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(&Batch{Racks: map[string]Rack{"R1": {KW: 25}}})
		began := time.Now()
		first, err := g.Power(t.Context(), machine("a", "R1", 10000))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Power(t.Context(), machine("b", "R1", 10000)); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(began); got != rampPause {
			t.Errorf("the second load started %s after the first, want %s", got, rampPause)
		}
		time.AfterFunc(time.Minute, first)
		if _, err := g.Power(t.Context(), machine("c", "R1", 10000)); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(began); got < time.Minute {
			t.Errorf("the third load started after %s, before the first had ended", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := g.Power(ctx, machine("d", "R1", 10000)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a load over the budget: %v", err)
		}
	})
}

func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(&Batch{Limits: Limits{Parallel: 1}})
		free, err := g.Slot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { free(); free() }) // twice is once
		if _, err := g.Slot(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := g.Slot(ctx); err == nil {
			t.Error("two machines at once with parallel: 1")
		}
	})
}

func TestPowerAdvice(t *testing.T) {
	b := &Batch{Machines: []Machine{machine("a", "R12", 10200), machine("b", "R12", 10200), machine("c", "R13", 10200), machine("d", "R14", 900), machine("e", "R14", 900)}}
	got := PowerAdvice(b)
	if len(got) != 1 || !strings.Contains(got[0], "racks: {R12: {kw: 21}}") || !strings.Contains(got[0], "20.4 kW") {
		t.Errorf("advice %q", got)
	}
	b.Racks = map[string]Rack{"R12": {KW: 32}}
	if got := PowerAdvice(b); len(got) != 0 {
		t.Errorf("advice although the budget is stated: %q", got)
	}
}

func TestBrake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBrake(map[string]int{"h100": 36})
		entered := make(chan error, 36)
		enter := func(n int) {
			for range n {
				go func() { entered <- b.Enter(t.Context(), "h100") }()
			}
			synctest.Wait()
		}
		enter(36)
		for i, want := range []int{1, 4, 4, 4, 36} { // canary; then three; then, after the fourth, all
			if i > 0 {
				b.Leave("h100", fmt.Sprint(i), "", false)
				synctest.Wait()
			}
			if got := len(entered); got != want {
				t.Fatalf("after %d went well, %d have started, want %d", i, got, want)
			}
		}
	})
}

func TestBrakeStopsAfterTwoOfTheSameCause(t *testing.T) {
	b := NewBrake(map[string]int{"h100": 36})
	for _, name := range []string{"a", "a", "b"} { // the second try of one machine is no second machine
		if err := b.Enter(t.Context(), "h100"); err != nil {
			t.Fatal(err)
		}
		b.Leave("h100", name, "BIOS 2.1 has no `IOMMU`", false)
	}
	err := b.Enter(t.Context(), "h100")
	var stuck *Stuck
	if !errors.As(err, &stuck) || stuck.Why != "Stopped after 2 of 36: same cause (BIOS 2.1 has no `IOMMU`). Nothing changed on the other 34." {
		t.Errorf("third machine: %v", err)
	}
	if err := b.Enter(t.Context(), "l40s"); err != nil {
		t.Errorf("another model: %v", err)
	}
}

func TestCauseIsTheSameOnMachinesAlike(t *testing.T) {
	a := Machine{Name: "r12u07", BMC: "10.0.12.7:443", Serial: "S1"}
	b := Machine{Name: "r12u08", BMC: "10.0.12.8", Serial: "S2"}
	x := cause(errors.New("r12u07: BMC 10.0.12.7:443 refused IOMMU"), a)
	y := cause(errors.New("r12u08: BMC 10.0.12.8 refused IOMMU"), b)
	if x != y || x != "BMC refused IOMMU" {
		t.Errorf("%q and %q", x, y)
	}
}

// TestPowerAdviceUnknown: a machine whose profile does not say what it draws makes no
// advice of 0 kW.
func TestPowerAdviceUnknown(t *testing.T) {
	for _, c := range []struct {
		machines []Machine
		want     string
	}{
		{[]Machine{{Rack: "R1", LoadedWatts: 10000}, {Rack: "R1", LoadedWatts: 10000}}, "add `racks: {R1: {kw: 20}}`"},
		{[]Machine{{LoadedWatts: 10000}, {LoadedWatts: 10000}}, "have no rack"},
		{[]Machine{{Rack: "R1"}, {Rack: "R1", LoadedWatts: 10000}}, "profiles of 1 of 2 machines do not say"},
		{[]Machine{{Rack: "R1", LoadedWatts: 10000}}, ""},
		{[]Machine{{Rack: "R1", LoadedWatts: 500}, {Rack: "R1", LoadedWatts: 500}}, ""},
	} {
		got := strings.Join(PowerAdvice(&Batch{Machines: c.machines}), "; ")
		if !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%+v: %q, want %q", c.machines, got, c.want)
		}
	}
}
