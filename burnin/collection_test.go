package burnin

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// breaking is a node whose connection breaks while a probe runs.
type breaking struct {
	scripted
	calls  map[string]int // of each verb
	boots  []string       // of the node, the next after each phase that was begun
	breaks func(line string, phases int) bool
}

func (b *breaking) Run(ctx context.Context, c Command) (Output, error) {
	verb, args, _ := NodeCall(c.Line)
	b.calls[verb]++
	if verb == "facts" {
		out, err := b.scripted.Run(ctx, c)
		out.Out = []byte(strings.Replace(string(out.Out), "boot b1", "boot "+b.boots[0], 1))
		return out, err
	}
	if asked, _, _ := PhaseJobs(args, c.Stdin); len(b.boots) > 1 && asked == b.boots[0] {
		b.boots = b.boots[1:]
		_, _ = c.Stdout.Write([]byte(PhaseStart{BootID: b.boots[0], Clock: time.Now()}.String()))
		return Output{Ended: EndedExit, Exit: new(int)}, nil
	}
	s := scripted{run: func(line string) (Output, error) {
		if b.breaks != nil && b.breaks(line, b.calls["phase"]) {
			return Output{}, errors.New("reset by peer")
		}
		return Output{Ended: EndedExit, Exit: new(int), Out: []byte("x")}, nil
	}}
	return s.Run(ctx, c)
}

func newBreaking(breaks func(string, int) bool, boots ...string) *breaking {
	return &breaking{calls: map[string]int{}, boots: append([]string{"b1"}, boots...), breaks: breaks}
}

func endings(all []*Evidence) string {
	var words []string
	for _, e := range all {
		words = append(words, e.Probe+" "+string(e.Ended)+" "+e.BootID)
	}
	return strings.Join(words, ", ")
}

// TestCollectOverLosses: what had ended is not run again, what was lost is run once
// more, and what is lost twice stays lost.
func TestCollectOverLosses(t *testing.T) {
	tests := map[string]struct {
		breaks func(line string, phases int) bool
		boots  []string
		want   string
		phases int
		says   string
	}{
		"never": {want: "p0 exit b1, p1 exit b1, p2 exit b1", phases: 1},
		"once": {
			breaks: func(line string, phases int) bool { return strings.Contains(line, "echo 1") && phases == 1 },
			want:   "p0 exit b1, p1 exit b1, p2 exit b1", phases: 2,
		},
		"twice by one": {
			breaks: func(line string, _ int) bool { return strings.Contains(line, "echo 1") },
			want:   "p0 exit b1, p1 lost b1, p2 exit b1", phases: 3,
		},
		"booted": {boots: []string{"b2"}, want: "p0 exit b2, p1 exit b2, p2 exit b2", phases: 2},
		"booted again and again": {
			boots: []string{"b2", "b3", "b4"}, phases: 2, says: "booted anew 2 times",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBreaking(tt.breaks, tt.boots...)
			r := &Redialer{Dial: func(context.Context) (Shell, error) { return b, nil }}
			var told []string
			n := &Node{Shell: r, Probes: probes(3, ""), Progress: func(p Progress) { told = append(told, p.Doing) }}
			var kept []*Evidence
			got, err := n.collect(t.Context(), PhaseBefore, nil, func(e *Evidence) error { kept = append(kept, e); return nil })
			if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
				t.Fatalf("error %v, want %q", err, tt.says)
			}
			if endings(got) != tt.want || b.calls["phase"] != tt.phases {
				t.Errorf("%s in %d commands; want %s in %d", endings(got), b.calls["phase"], tt.want, tt.phases)
			}
			if len(kept) != len(got) || len(told) != len(got) {
				t.Errorf("%d kept, %d told of", len(kept), len(told))
			}
		})
	}
}

// TestCollectLooksOnce: facts and survey are asked once in a boot.
func TestCollectLooksOnce(t *testing.T) {
	b := newBreaking(nil)
	n := &Node{Shell: b, Probes: probes(2, "")}
	for range 3 {
		if _, err := n.Collect(t.Context(), PhaseBefore); err != nil {
			t.Fatal(err)
		}
	}
	if b.calls["facts"] != 1 || b.calls["phase"] != 3 {
		t.Errorf("calls %v", b.calls)
	}
}

// TestCollectEachFails: what cannot be stored ends the phase.
func TestCollectEachFails(t *testing.T) {
	full := errors.New("disk full")
	n := &Node{Shell: newBreaking(nil), Probes: probes(3, "")}
	count := 0
	_, err := n.collect(t.Context(), PhaseBefore, nil, func(*Evidence) error { count++; return full })
	if !errors.Is(err, full) || count != 1 {
		t.Errorf("%v after %d", err, count)
	}
}

// silent answers a phase in another way than with frames.
type silent struct {
	scripted
	out   Output
	calls int
}

func (s *silent) Run(ctx context.Context, c Command) (Output, error) {
	if verb, _, _ := NodeCall(c.Line); verb == "facts" {
		return s.scripted.Run(ctx, c)
	}
	s.calls++
	return s.out, nil
}

// TestCollectNothing: a node that runs nothing is an error that says why, and one that
// does not answer in time has answered no probe.
func TestCollectNothing(t *testing.T) {
	s := &silent{out: Output{Ended: EndedExit, Exit: new(1), Err: []byte("no folder can be written\n")}}
	_, err := (&Node{Shell: s, Probes: probes(2, "")}).Collect(t.Context(), PhaseBefore)
	if err == nil || !strings.Contains(err.Error(), "phase before: the node did not run the probes (exit 1): no folder can be written") || s.calls != 2 {
		t.Errorf("%v after %d calls", err, s.calls)
	}
	s = &silent{out: Output{Ended: EndedTimeout}}
	got, err := (&Node{Shell: s, Probes: probes(2, "")}).Collect(t.Context(), PhaseBefore)
	if err != nil || endings(got) != "p0 timeout b1, p1 timeout b1" {
		t.Errorf("%s, %v", endings(got), err)
	}
}

// TestCollectTimes: times are those of the node's uptime, whatever its clock does.
func TestCollectTimes(t *testing.T) {
	got, err := (&Node{Shell: newBreaking(nil), Probes: probes(1, "")}).Collect(t.Context(), PhaseBefore)
	if err != nil {
		t.Fatal(err)
	}
	e := got[0]
	if e.Seconds != 1 || e.NodeClock != "2026-11-30T14:00:01Z" || time.Since(e.Started).Abs() > 5*time.Second {
		t.Errorf("%+v", e)
	}
}
