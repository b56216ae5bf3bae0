package burnin

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// phaseRead is what a reader made of a stream.
type phaseRead struct {
	events []string
	frames []PhaseFrame
	*phaseReader
}

// readPhase hands a stream on in pieces of so many bytes.
func readPhase(stream []byte, piece int) *phaseRead {
	got := &phaseRead{}
	got.phaseReader = &phaseReader{
		start: func(s PhaseStart) { got.events = append(got.events, fmt.Sprintf("start %s %s", s.BootID, s.Uptime)) },
		begin: func(name string) { got.events = append(got.events, "begin "+name) },
		end: func(f PhaseFrame) error {
			got.events = append(got.events, fmt.Sprintf("end %s %s %d", f.Name, f.Ended, f.Exit))
			got.frames = append(got.frames, f)
			return nil
		},
	}
	for p := range slices.Chunk(stream, piece) {
		_, _ = got.Write(p)
	}
	return got
}

var phaseStart = PhaseStart{BootID: "b1", Clock: time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC), Uptime: 5 * time.Second}.String()

func TestPhaseReader(t *testing.T) {
	lookAlike := "end p1 0 1.00 1.00 3 0\nabc\n" + PhaseDone + phaseStart
	frames := []PhaseFrame{
		{Name: "os", Ended: EndedExit, Exit: 3, Began: 5020 * time.Millisecond, Done: 6 * time.Second, Out: []byte(lookAlike), Err: []byte("oops\n")},
		{Name: "each@nvme0", Ended: EndedTimeout, Began: 5 * time.Second, Done: 16 * time.Second, Out: []byte{}, Err: []byte{}},
		{Name: "big", Ended: EndedLost, Began: 5 * time.Second, Done: 6 * time.Second, Out: []byte("\x00\n\n"), Err: []byte{}},
		{Name: "killed", Ended: EndedExit, Exit: 137, Out: []byte("half"), Err: []byte{}},
		{Name: "says-137", Ended: EndedExit, Exit: 137, Out: []byte("all\n" + endMark + "137\n"), Err: []byte{}},
	}
	stream := "Welcome to this host\n" + strings.Repeat("long ", 1000) + "\n" + phaseStart + PhaseBegin("os", time.Second)
	for _, f := range frames {
		stream += f.String()
	}
	stream += PhaseDone
	for _, piece := range []int{1, 7, 100, len(stream)} {
		got := readPhase([]byte(stream), piece)
		want := "start b1 5s, begin os, end os exit 3, end each@nvme0 timeout 0, end big lost 0, end killed signal 0, end says-137 exit 137"
		if all := strings.Join(got.events, ", "); all != want || !got.whole || got.err != nil {
			t.Fatalf("pieces of %d: %s, whole %v, %v; want %s", piece, all, got.whole, got.err, want)
		}
		for i, f := range got.frames {
			if !bytes.Equal(f.Out, frames[i].Out) || !bytes.Equal(f.Err, frames[i].Err) || f.Began != frames[i].Began || f.Done != frames[i].Done {
				t.Errorf("frame %d: %+v, want %+v", i, f, frames[i])
			}
		}
	}
}

// What is cut or no frame gives what came before it, and nothing else.
func TestPhaseReaderBroken(t *testing.T) {
	whole := PhaseFrame{Name: "os", Ended: EndedExit, Out: []byte("x"), Err: []byte("y")}.String()
	tests := map[string]struct {
		after, says string
	}{
		"cut in a line":       {"end p1 0 1.0", ""},
		"cut in output":       {"end p1 0 1.00 1.00 9 0\nabc", ""},
		"cut before the end":  {"", ""},
		"output too long":     {"end p1 0 1.00 1.00 1 0\nabc\n", "does not end where it should"},
		"no frame":            {"sh: 3: Cannot fork\n", "not a line of a phase"},
		"a line without end":  {strings.Repeat("x", phaseLine+1), "a line of more than"},
		"no status":           {"end p1 x 1.00 1.00 0 0\n\n", "exit status of p1"},
		"a status of no exit": {"end p1 256 1.00 1.00 0 0\n\n", "exit status of p1"},
		"more than allowed":   {fmt.Sprintf("end p1 0 1.00 1.00 %d 0\n\n", outputLimit+1), "printed 67108865 bytes"},
		"less than nothing":   {"end p1 0 1.00 1.00 -1 0\n\n", "printed -1 bytes"},
		"no uptime":           {"end p1 0 NaN 1.00 0 0\n\n", "uptime"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := readPhase([]byte(phaseStart+whole+tt.after), 11)
			if len(got.frames) != 1 || got.whole {
				t.Errorf("%d frames, whole %v", len(got.frames), got.whole)
			}
			if tt.says == "" && got.err != nil || tt.says != "" && (got.err == nil || !strings.Contains(got.err.Error(), tt.says)) {
				t.Errorf("error %v, want %q", got.err, tt.says)
			}
		})
	}
}

// FuzzPhaseReader: any output comes back as it was, in whichever pieces, and no stream
// upsets the reader.
func FuzzPhaseReader(f *testing.F) {
	f.Add([]byte("end p1 0 1.00 1.00 3 0\nabc\ndone\n"), []byte(phaseStart), uint16(3))
	f.Add([]byte("\n"), []byte("end x cut 0 0 67108864 0\n"), uint16(900))
	f.Fuzz(func(t *testing.T, out, errs []byte, piece uint16) {
		n := int(piece) + 1
		want := PhaseFrame{Name: "os", Ended: EndedExit, Exit: 1, Began: time.Second, Done: 2 * time.Second, Out: out, Err: errs}
		got := readPhase([]byte(phaseStart+want.String()+PhaseDone), n)
		if got.err != nil || !got.whole || len(got.frames) != 1 || !bytes.Equal(got.frames[0].Out, out) || !bytes.Equal(got.frames[0].Err, errs) {
			t.Fatalf("%q %q came back as %+v, %v", out, errs, got.frames, got.err)
		}
		a, b := readPhase(append([]byte(phaseStart), out...), n), readPhase(append([]byte(phaseStart), out...), len(out)+100)
		if !slices.Equal(a.events, b.events) || (a.err == nil) != (b.err == nil) {
			t.Fatalf("in pieces of %d: %q, %v; at once: %q, %v", n, a.events, a.err, b.events, b.err)
		}
	})
}
