package provision

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// bigWatts is where a machine counts as one that a rack without a stated budget
// carries only once under load (PEOPLE.md, "Power"). It plans and judges nothing.
const bigWatts = 3000

// rampPause keeps two machines of a rack from ramping up at once.
const rampPause = time.Second

// Gate holds machines back: by the number worked on at once, and by the power of
// their rack and PDUs.
type Gate struct {
	Ramp time.Duration // between two loads starting in one rack; 0 = a second

	mu       sync.Mutex
	parallel int
	working  int
	racks    map[string]*supply
	pdus     map[string]*supply
	loads    map[string]*load // by machine
	moved    chan struct{}
}

// NewGate makes the gate of a batch.
func NewGate(b *Batch) *Gate {
	g := &Gate{
		parallel: b.Limits.Parallel, racks: map[string]*supply{}, pdus: map[string]*supply{}, loads: map[string]*load{},
		moved: make(chan struct{}), Ramp: rampPause,
	}
	if g.parallel <= 0 {
		g.parallel = defaultParallel
	}
	for name, r := range b.Racks {
		g.racks[name] = &supply{budget: r.KW * 1000}
	}
	for name, p := range b.PDUs {
		g.pdus[name] = &supply{budget: p.KW * 1000}
	}
	return g
}

// Slot waits for a free place among those worked on at once.
func (g *Gate) Slot(ctx context.Context) (release func(), err error) {
	err = g.wait(ctx, func() (bool, time.Duration) {
		if g.working >= g.parallel {
			return false, 0
		}
		g.working++
		return true, 0
	})
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { g.free(func() { g.working-- }) }), nil
}

// Power waits until m's rack and PDUs can carry it under load.
func (g *Gate) Power(ctx context.Context, m Machine) (release func(), err error) {
	l := &load{machine: m, watts: m.LoadedWatts}
	err = g.wait(ctx, func() (bool, time.Duration) {
		if g.full(m) != "" {
			return false, 0
		}
		r := g.rack(m.Rack)
		if pause := g.Ramp - time.Since(r.last); pause > 0 && !r.last.IsZero() {
			return false, pause
		}
		g.count(l, 1)
		g.loads[m.Name] = l
		r.last = time.Now()
		return true, 0
	})
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() {
		g.free(func() {
			g.count(l, -1)
			if g.loads[m.Name] == l {
				delete(g.loads, m.Name)
			}
		})
	}), nil
}

// Waits says for whose power m would have to wait now, "rack R12" or "PDU A1"; "" when
// it would not.
func (g *Gate) Waits(m Machine) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.full(m)
}

// wait asks take, under the lock, until it is true. take may say after how long
// it is worth asking again; otherwise it is asked when something was given back.
func (g *Gate) wait(ctx context.Context, take func() (bool, time.Duration)) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		g.mu.Lock()
		ok, pause := take()
		moved := g.moved
		g.mu.Unlock()
		if ok {
			return nil
		}
		var timer <-chan time.Time
		if pause > 0 {
			t := time.NewTimer(pause)
			defer t.Stop()
			timer = t.C
		}
		select {
		case <-moved:
		case <-timer:
		case <-ctx.Done():
		}
	}
}

func (g *Gate) free(give func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	give()
	g.move()
}

// move wakes those who wait; g.mu is held.
func (g *Gate) move() {
	close(g.moved)
	g.moved = make(chan struct{})
}

// PowerAdvice says for each rack without a budget which line to add, where more
// than one of its machines is big.
func PowerAdvice(b *Batch) []string {
	count, unknown, watts := map[string]int{}, map[string]int{}, map[string]float64{}
	var order []string
	for _, m := range b.Machines {
		if b.Racks[m.Rack].KW > 0 || len(m.PDUs) > 0 || !big(m) {
			continue
		}
		if count[m.Rack] == 0 {
			order = append(order, m.Rack)
		}
		count[m.Rack]++
		watts[m.Rack] += m.LoadedWatts
		if m.LoadedWatts == 0 {
			unknown[m.Rack]++
		}
	}
	var out []string
	for _, rack := range order {
		if count[rack] > 1 {
			out = append(out, powerAdvice(rack, count[rack], unknown[rack], watts[rack]))
		}
	}
	return out
}

func powerAdvice(rack string, count, unknown int, watts float64) string {
	place := "rack " + rack
	if rack == "" {
		place = "machines without a rack"
	}
	switch {
	case unknown > 0:
		return fmt.Sprintf("%s: the profiles of %d of %d machines do not say what they draw, so one is loaded at a time.", place, unknown, count)
	case rack == "":
		return fmt.Sprintf("%d machines over 3 kW have no rack: one of them is loaded at a time. Add rack: to each, and `racks: {R1: {kw: …}}`.", count)
	}
	return fmt.Sprintf("rack %s has no power budget: one machine over 3 kW is loaded at a time. All %d at once draw %.1f kW; if the rack carries that, add `racks: {%s: {kw: %.0f}}`.",
		rack, count, watts/1000, rack, watts/1000+0.5)
}
