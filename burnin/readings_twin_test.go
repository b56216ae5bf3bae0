package burnin

import (
	"testing"
	"time"
)

// twins is a record in which one probe said the same before the load and behind it, but for what change does.
func twins(change func(*Evidence)) *Record {
	zero, other := 0, 0
	before := &Evidence{Probe: "p", Phase: PhaseBefore, Exit: &zero, Ended: EndedExit, Source: FromSSH, Out: []byte("1\n" + endMark + "0\n")}
	after := &Evidence{Probe: "p", Phase: PhaseAfter, Exit: &other, Ended: EndedExit, Source: FromSSH, Out: []byte("1\n" + endMark + "0\n"), Started: time.Unix(9, 0)}
	change(after)
	return &Record{Evidence: []*Evidence{before, after}}
}

func TestWhatIsSaidTwiceIsReadOnce(t *testing.T) {
	one := 1
	for _, c := range []struct {
		name   string
		change func(*Evidence)
		reads  int
	}{
		{"the same", func(*Evidence) {}, 1},
		{"another output", func(e *Evidence) { e.Out = []byte("2\n" + endMark + "0\n") }, 2},
		{"another complaint", func(e *Evidence) { e.Err = []byte("warning") }, 2},
		{"another exit", func(e *Evidence) { e.Exit = &one }, 2},
		{"no exit", func(e *Evidence) { e.Exit = nil }, 2},
		{"another source", func(e *Evidence) { e.Source = FromLoose }, 2},
		{"under load", func(e *Evidence) { e.Phase = PhaseLoad }, 2},
		{"another drive", func(e *Evidence) { e.Instance = "nvme1" }, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			reads := 0
			p := Probe[string]{Spec: ProbeSpec{Name: "p"}, Parse: func(e *Evidence) (string, error) {
				reads++
				return string(e.Out), nil
			}}
			rec := twins(c.change)
			r := NewReadings(rec)
			for _, e := range rec.Evidence {
				got := readInstance(r, p, e.Phase, e.Instance)
				if !got.OK() || got.Value != string(e.Out) || got.Ref != e.Ref() || got.Evidence != e {
					t.Errorf("%s: %+v", e.Ref(), got)
				}
			}
			if reads != c.reads {
				t.Errorf("parsed %d times, want %d", reads, c.reads)
			}
		})
	}
}
