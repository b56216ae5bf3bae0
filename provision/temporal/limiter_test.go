package temporal

import (
	"slices"
	"testing"
	"time"

	"github.com/rackproof/rackproof/provision"
)

// The limiter grants all or nothing, apart from one another, and takes back what was
// given, renewed no longer, or of a holder that is gone.
func TestLimits(t *testing.T) {
	t0 := time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)
	place := provision.Claim{Key: "run job", Weight: 1, Limit: 2}
	power := provision.Claim{Key: "rack R1", Weight: 6000, Limit: 10000, Apart: time.Second}
	l := limits{Last: map[string]time.Time{}}
	asks := func(holder string, claims ...provision.Claim) {
		l.hear(ask{Want: &want{Holder: holder, N: 1, Claims: claims, Lease: time.Hour}}, t0)
	}
	grants := func(at time.Duration, wantAgain time.Duration, holders ...string) {
		t.Helper()
		granted, again := l.grant(t0.Add(at))
		var got []string
		for _, w := range granted {
			got = append(got, w.Holder)
		}
		if !slices.Equal(got, holders) || again != wantAgain {
			t.Errorf("after %s: granted %v, look again in %s; want %v, %s", at, got, again, holders, wantAgain)
		}
	}
	asks("m1", place, power)
	asks("m2", place, power)
	asks("m3", place)
	grants(0, time.Hour, "m1", "m3") // no power for m2, and no place kept for it either
	l.hear(ask{Give: &give{Holder: "m1", Keys: []string{"rack R1"}}}, t0)
	grants(100*time.Millisecond, time.Hour-100*time.Millisecond) // both places are taken
	l.hear(ask{Give: &give{Holder: "m3"}}, t0)
	grants(400*time.Millisecond, 600*time.Millisecond) // m1's load began less than a second ago
	grants(time.Second, 0, "m2")
	asks("m4", place)
	l.hear(ask{Renew: &renew{Holder: "m2", Lease: time.Hour}}, t0.Add(30*time.Minute))
	grants(59*time.Minute, time.Minute)
	grants(time.Hour, 0, "m4") // m1 did not renew
	asks("m2", place, power)   // has both
	grants(time.Hour, 0, "m2")
	l.back(give{Holder: "m2"})
	l.back(give{Holder: "m4"})
	if len(l.Leases)+len(l.Queue) != 0 {
		t.Errorf("left over: %+v", l)
	}
}

// A worker that was given up is not heard any more, and nothing counts twice.
func TestBook(t *testing.T) {
	said := func(kind provision.Kind) provision.Event { return provision.Event{Kind: kind} }
	var b book
	var counted []provision.Kind
	for _, w := range []word{
		{ID: "a", Event: said(provision.Submitted)},
		{ID: "a", Event: said(provision.Submitted)},
		{Claim: claim{1, 1}},
		{Claim: claim{1, 1}, Event: said(provision.StepStarted)},
		{Claim: claim{1, 1}, Event: said(provision.Progressed)},
		{Claim: claim{1, 2}},
		{Claim: claim{1, 1}, Event: said(provision.StepEnded)},
		{Claim: claim{1, 2}, Event: said(provision.StepStarted)},
		{ID: "b", Event: said(provision.Cancelled)},
	} {
		if w, ok := b.add(w, time.Time{}); ok {
			counted = append(counted, w.Event.Kind)
		}
	}
	if want := []provision.Kind{provision.Submitted, provision.StepStarted, provision.Progressed, provision.StepStarted, provision.Cancelled}; !slices.Equal(counted, want) {
		t.Errorf("counted %v, want %v", counted, want)
	}
	var next book
	next.begin(start{Words: b.carried(), Said: b.said, Claim: b.claim})
	if len(next.words) != 4 || next.said != b.said || next.claim != b.claim || !next.heard["a"] || next.words[3].n != 9 {
		t.Errorf("the next history begins with %+v", next)
	}
	if fresh := next.begin(start{Words: b.carried(), Said: b.said}); len(fresh) != 0 {
		t.Errorf("%d words were taken again", len(fresh))
	}
}

// What a step wants in its middle and what its workflow wants for the next one do not
// take each other's place, and with the step ends what it wanted.
func TestLimitsOfAStep(t *testing.T) {
	t0 := time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)
	place := provision.Claim{Key: "run job", Weight: 1, Limit: 1}
	bmc := provision.Claim{Key: "bmc 192.0.2.1", Weight: 1, Limit: 1}
	l := limits{Last: map[string]time.Time{}}
	wants := func(holder string, n int, c provision.Claim) {
		l.hear(ask{Want: &want{Holder: holder, N: n, Claims: []provision.Claim{c}, Lease: time.Hour}}, t0)
		l.grant(t0)
	}
	is := func(holder string, want standing) {
		t.Helper()
		if got := l.standing(holder, []string{place.Key}); got != want {
			t.Errorf("%s stands at %+v, want %+v", holder, got, want)
		}
	}
	wants("m1", 1, place)
	is("m1", standing{Held: true})
	wants("m2", 1, place)
	is("m2", standing{})
	wants("m2", 0, place)
	is("m2", standing{Waits: true})
	l.hear(ask{Give: &give{Holder: "m2", Keys: []string{bmc.Key}}}, t0)
	is("m2", standing{}) // and its workflow waits still
	l.hear(ask{Give: &give{Holder: "m1", Keys: []string{place.Key}}}, t0)
	if granted, _ := l.grant(t0); len(granted) != 1 || granted[0].Holder != "m2" || granted[0].N != 1 {
		t.Errorf("granted %+v, want what the workflow of m2 waited for", granted)
	}
}
