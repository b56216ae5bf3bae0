package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
)

// A log has a line a minute about a load, and every change at once.
func TestBurninProgressIsSparing(t *testing.T) {
	var got []string
	p := &burninProgress{every: leftInLog, print: func(format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) }}
	at := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	load := func(after, left time.Duration) {
		p.showAt(at.Add(after), burnin.Progress{Phase: burnin.PhaseLoad, Doing: "gpu-burn", Left: left})
	}
	p.showAt(at, burnin.Progress{Phase: burnin.PhaseBefore, Doing: "lscpu", Done: 1, Total: 2})
	p.showAt(at, burnin.Progress{Phase: burnin.PhaseBefore, Doing: "os", Done: 2, Total: 2})
	for i := range 62 { // two seconds apart, as the node is asked
		load(time.Duration(2*i)*time.Second, 10*time.Minute-time.Duration(2*i)*time.Second)
	}
	p.showAt(at.Add(125*time.Second), burnin.Progress{Phase: burnin.PhaseLoad, Doing: "nvidia-smi", Done: 1, Total: 1})
	load(126*time.Second, 474*time.Second)
	want := []string{
		"before lscpu (1 of 2)", "before os (2 of 2)",
		"load   gpu-burn, 10m0s left", "load   gpu-burn, 9m0s left", "load   gpu-burn, 8m0s left", "load   nvidia-smi (1 of 1)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}
