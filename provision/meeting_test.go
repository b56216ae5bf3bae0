package provision

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rackproof/rackproof/burnin"
)

// guests are machines of one batch, the first two of them in one rack.
func guests(n int) []*guest {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("m%d", i))
	}
	var out []*guest
	for i, name := range names {
		g := &guest{machine: Machine{Name: name, Rack: fmt.Sprintf("R%d", i/2)}, attempt: 1, place: i}
		g.others = slices.DeleteFunc(slices.Clone(names), func(o string) bool { return o == name })
		out = append(out, g)
	}
	return out
}

// begin lets g wait, and returns a channel that is closed when it goes on.
func begin(ctx context.Context, m *Meeting, g *guest, most time.Duration) chan struct{} {
	over := make(chan struct{})
	m.hope(g, most)
	go func() {
		m.wait(ctx, g)
		close(over)
	}()
	synctest.Wait()
	return over
}

func TestMeetingPairs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, g, began := NewMeeting(), guests(4), time.Now()
		if _, v := m.take(t.Context(), g[0]); v != nil {
			t.Fatalf("%s waits, and nobody has come", v.partner.machine.Name)
		}
		first := begin(t.Context(), m, g[0], time.Hour)
		m.apart[pairOf(g[0], g[2])] = true // so that both wait
		second := begin(t.Context(), m, g[2], time.Hour)
		_, v := m.take(t.Context(), g[3])
		if v == nil || v.partner != g[2] {
			t.Fatalf("the partner is %v, want that of the same rack", v)
		}
		if _, w := m.take(t.Context(), g[1]); w == nil || w.partner != g[0] {
			t.Fatalf("the second partner is %v, want the one that is left", w)
		} else {
			w.end(nil)
		}
		v.end(nil)
		<-first
		<-second
		if time.Since(began) != 0 || !g[0].measured || !g[2].measured {
			t.Errorf("after %s: measured %v and %v", time.Since(began), g[0].measured, g[2].measured)
		}
	})
}

// The odd one out goes on when its time is over, or at once when nobody is left to come.
func TestMeetingOddOneOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, g, began := NewMeeting(), guests(3), time.Now()
		<-begin(t.Context(), m, g[0], 15*time.Minute)
		if waited := time.Since(began); waited != 15*time.Minute {
			t.Errorf("waited %s, want its time", waited)
		}
		if _, ok := m.hope(g[0], 15*time.Minute); ok {
			t.Error("it would wait again")
		}
		over := begin(t.Context(), m, g[1], 15*time.Minute)
		m.leave("m0")
		m.leave("m2")
		<-over
		if waited := time.Since(began); waited != 15*time.Minute {
			t.Errorf("waited %s for machines that do not come any more", waited-15*time.Minute)
		}
	})
}

// A partner that is cancelled ends the measurement, and the other is free for the next.
func TestMeetingPartnerCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, g := NewMeeting(), guests(3)
		own, stop := context.WithCancel(t.Context())
		over := begin(own, m, g[0], time.Hour)
		together, v := m.take(t.Context(), g[1])
		stop()
		<-over
		<-together.Done()
		if cause := context.Cause(together); !errors.Is(cause, errGone) {
			t.Errorf("ended by %v", cause)
		}
		v.end(context.Cause(together))
		if _, v := m.take(t.Context(), g[1]); v != nil {
			t.Errorf("%s is still offered", v.partner.machine.Name)
		}
		if _, ok := m.hope(g[1], time.Hour); !ok {
			t.Error("it gives up though the third may come")
		}
	})
}

// One that measures and breaks off leaves its partner to the next, and two that cannot be
// measured together do not meet again.
func TestMeetingFreesPartner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, g := NewMeeting(), guests(3)
		over := begin(t.Context(), m, g[0], 10*time.Minute)
		_, v := m.take(t.Context(), g[1])
		<-time.After(20 * time.Minute) // a measurement under way is waited for
		select {
		case <-over:
			t.Fatal("it went away from a measurement")
		default:
		}
		v.end(context.Canceled)
		<-over
		over = begin(t.Context(), m, g[2], time.Hour)
		_, v = m.take(t.Context(), g[1])
		v.end(fmt.Errorf("%w: no way to it", burnin.ErrNoPartner))
		if _, again := m.take(t.Context(), g[1]); again != nil {
			t.Error("the same two meet again")
		}
		if said := m.why(g[1]); said != "m2 was none: no partner: no way to it" {
			t.Errorf("the reason is %q", said)
		}
		select {
		case <-over:
			t.Error("it gave up though the first may come")
		default:
		}
		m.leave("m0")
		m.leave("m1")
		<-over
	})
}
