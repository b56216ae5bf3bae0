package burnin

import (
	"strings"
	"testing"
)

func TestUnreadable(t *testing.T) {
	// The list of parsers is kept by hand beside that of the probes.
	readers := readers()
	for _, p := range Probes() {
		if readers[p.Name] == nil {
			t.Errorf("no parser of %s", p.Name)
		}
	}
	rec := &Record{Evidence: []*Evidence{
		{Probe: "nvidia-smi", Phase: PhaseBefore, Ended: EndedUnknown, Out: []byte("hello\n")},
		{Probe: "nvidia-smi", Phase: PhaseAfter, Ended: EndedUnknown, Out: []byte("index, name, pci.bus_id\n0, NVIDIA L40S, 00000000:17:00.0\n")},
		{Probe: "loads", Phase: PhaseBefore, Ended: EndedUnknown, Out: []byte("hello\n")},
	}}
	got := Unreadable(rec)
	if len(got) != 1 || !strings.HasPrefix(got[0].Error(), "before/nvidia-smi: not nvidia-smi output, or not all of it: ") {
		t.Errorf("%v", got)
	}
}
