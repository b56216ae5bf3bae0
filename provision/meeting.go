package provision

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rackproof/rackproof/burnin"
)

// Meeting is where the machines of a run find partners for what is measured between two
// of them. One that finds nobody waits outside of its step (Aside), so it holds no slot
// and no power of its rack; one that comes later does the work for both. Nothing here
// outlives the process: a run that is carried on begins with an empty Meeting, and what
// was measured is in the store of each machine.
type Meeting struct {
	mu      sync.Mutex
	waiting []*guest
	until   map[string]time.Time // by guest.key: how long it waits in all
	through map[string]bool      // machines that need no partner any more
	apart   map[[2]string]bool   // two that could not be measured together
	said    map[string]string    // by guest.key: why the last partner was none
	moved   chan struct{}
}

// guest is a machine before its load, in one attempt.
type guest struct {
	machine Machine
	attempt int
	addr    string   // of its host, for other hosts
	others  []string // machines of the batch that may be its partner
	place   int      // in the batch
	store   *burnin.Store
	open    func(context.Context) (burnin.Shell, error)

	busy     context.CancelCauseFunc // of the visit that measures with it; nil = free
	measured bool
}

func (g *guest) key() string { return fmt.Sprintf("%s/%d", g.machine.Name, g.attempt) }

// errGone ends a visit whose host left.
var errGone = errors.New("the partner was stopped")

// NewMeeting makes an empty one.
func NewMeeting() *Meeting {
	return &Meeting{until: map[string]time.Time{}, through: map[string]bool{}, apart: map[[2]string]bool{}, said: map[string]string{}, moved: make(chan struct{})}
}

// visit is one measurement of two machines.
type visit struct {
	partner *guest
	end     func(error) // nil: both have their evidence
}

// take gives the waiting machine that fits best, in its own rack if there is one, else
// the first of the batch; nil when nobody waits. The context ends when the partner leaves.
func (m *Meeting) take(ctx context.Context, me *guest) (context.Context, *visit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	partner := m.best(me)
	if partner == nil {
		return ctx, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	partner.busy = cancel
	return ctx, &visit{partner: partner, end: func(err error) {
		cancel(nil)
		m.mu.Lock()
		defer m.mu.Unlock()
		partner.busy = nil
		switch {
		case err == nil:
			partner.measured = true
			m.through[me.machine.Name], m.through[partner.machine.Name] = true, true
		case errors.Is(err, burnin.ErrNoPartner):
			m.apart[pairOf(me, partner)] = true
			m.said[me.key()] = fmt.Sprintf("%s was none: %v", partner.machine.Name, err)
			m.said[partner.key()] = fmt.Sprintf("%s was none: %v", me.machine.Name, err)
		}
		m.move()
	}}
}

func (m *Meeting) best(me *guest) *guest {
	var best *guest
	for _, g := range m.waiting {
		if g.busy != nil || g.measured || !slices.Contains(me.others, g.machine.Name) || m.apart[pairOf(me, g)] {
			continue
		}
		near, nearest := g.machine.Rack == me.machine.Rack, best != nil && best.machine.Rack == me.machine.Rack
		if best == nil || near && !nearest || near == nearest && g.place < best.place {
			best = g
		}
	}
	return best
}

func pairOf(a, b *guest) [2]string {
	if a.machine.Name > b.machine.Name {
		a, b = b, a
	}
	return [2]string{a.machine.Name, b.machine.Name}
}

// hope reports until when it is worth waiting; false when the time is over, or nobody is
// left who may come.
func (m *Meeting) hope(me *guest, most time.Duration) (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.until[me.key()]; !ok {
		m.until[me.key()] = time.Now().Add(most)
	}
	return m.until[me.key()], m.hopes(me)
}

func (m *Meeting) hopes(me *guest) bool {
	return time.Now().Before(m.until[me.key()]) && slices.ContainsFunc(me.others, func(name string) bool {
		return !m.through[name]
	})
}

// leave says that a machine needs no partner any more.
func (m *Meeting) leave(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.through[name] = true
	m.move()
}

// why is what kept the last partner from being one; "" when there was none.
func (m *Meeting) why(me *guest) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.said[me.key()]
}

// wait holds me ready for others until one has measured with it, there is somebody to
// measure with, there is no hope, or ctx ends. A measurement under way is waited for.
func (m *Meeting) wait(ctx context.Context, me *guest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting = append(m.waiting, me)
	defer func() {
		m.waiting = slices.DeleteFunc(m.waiting, func(g *guest) bool { return g == me })
		if me.busy != nil {
			me.busy(errGone)
		}
	}()
	timer := time.NewTimer(time.Until(m.until[me.key()]))
	defer timer.Stop()
	for ctx.Err() == nil && !me.measured && (me.busy != nil || m.best(me) == nil && m.hopes(me)) {
		moved := m.moved
		m.mu.Unlock()
		select {
		case <-moved:
		case <-timer.C:
		case <-ctx.Done():
		}
		m.mu.Lock()
	}
}

func (m *Meeting) move() {
	close(m.moved)
	m.moved = make(chan struct{})
}
