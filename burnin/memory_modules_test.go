package burnin_test

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/nodetest"
	"github.com/rackproof/rackproof/profiles"
)

// 512 GB on two EPYC, as so often ordered: every module is there, and a third of the channels is empty.
func TestMemoryAdvice(t *testing.T) {
	lib := shippedLibrary()
	p, err := lib.Profile("xd685-h200")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := lib.Spec("standard")
	if err != nil {
		t.Fatal(err)
	}
	keep := func(n int) func(*nodetest.Machine) { // the first n channels of each processor
		return func(m *nodetest.Machine) {
			for i := range m.DIMMs {
				if m.DIMMs[i].GiB = 32; m.DIMMs[i].Channel >= n {
					m.DIMMs[i].GiB = 0
				}
			}
		}
	}
	for _, test := range []struct {
		name    string
		change  func(*nodetest.Machine)
		ordered int
		want    map[string]string // finding: verdict, then words of its reason
	}{
		{"16 ordered, 16 there", keep(8), 16, map[string]string{
			"memory.population/channels/memory of CPU 1": "warn leave 4 of 12 channels of each CPU empty",
			"memory.population/count/memory":             "pass",
		}},
		{"16 there, nobody ordered so few", keep(8), 0, map[string]string{"memory.population/channels/memory of CPU 2": "fail 8 channels"}},
		{"24 ordered, 22 there", keep(11), 24, map[string]string{
			"memory.population/channels/memory of CPU 1": "fail",
			"memory.population/count/memory":             "fail",
		}},
		{"16 ordered, 12 of them at one CPU", func(m *nodetest.Machine) {
			for i := range m.DIMMs {
				if m.DIMMs[i].Socket == 1 && m.DIMMs[i].Channel >= 4 {
					m.DIMMs[i].GiB = 0
				}
			}
		}, 16, map[string]string{"memory.population/channels/memory of CPU 2": "fail"}},
		{"one slow module", func(m *nodetest.Machine) { m.DIMMs[3].Rated, m.DIMMs[3].Part = 4800, "SLOW" }, 24, map[string]string{
			"memory.ecc/rated_speeds/memory": "warn 23 x 6000 MT/s, 1 x 4800 MT/s",
			"memory.ecc/part_numbers/memory": "not_applicable 1 x SLOW",
		}},
		{"all of one kind", func(*nodetest.Machine) {}, 24, map[string]string{"memory.ecc/rated_speeds/memory": "pass"}},
		{"slower than rated, alone on its channel", func(m *nodetest.Machine) {
			for i := range m.DIMMs {
				m.DIMMs[i].Runs = 5600
			}
		}, 24, map[string]string{"memory.ecc/speed/DIMM P1-DIMMA1": "not_applicable runs at 5600 of its rated 6000 MT/s: processor"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, err := nodetest.New("xd685-h200", "bench", 11)
			if err != nil {
				t.Fatal(err)
			}
			test.change(m)
			var order profiles.Expect
			if test.ordered > 0 {
				order.DIMMs = &test.ordered
			}
			with, err := p.WithExpect(order, profiles.Position{File: "batch"})
			if err != nil {
				t.Fatal(err)
			}
			adviceOf(t, burnin.Judge(memoryRecord(t, m), with, spec), test.want)
		})
	}
}

func TestTwoModulesPerChannel(t *testing.T) {
	lib := shippedLibrary()
	spec, err := lib.Spec("standard")
	if err != nil {
		t.Fatal(err)
	}
	for name, words := range map[string]string{
		"dgx-h100":       "runs at 4400 of its rated 4800 MT/s: two modules share its channel, for which 4400 MT/s are stated (Dell",
		"as-4124go-a100": "two modules share its channel, which slows it down",
	} {
		p, err := lib.Profile(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := nodetest.New(name, "bench", 11)
		if err != nil {
			t.Fatal(err)
		}
		adviceOf(t, burnin.Judge(memoryRecord(t, m), p, spec), map[string]string{"memory.ecc/speed/DIMM P1-DIMMA1": "not_applicable " + words})
	}
}

// memoryRecord is what a machine's firmware says of its memory, and nothing else.
func memoryRecord(t *testing.T, m *nodetest.Machine) *burnin.Record {
	t.Helper()
	sh := nodetest.Wire(m, nodetest.Boot{BootID: "0e3c1c2e-7d0f-4b8e-9a53-6a4f8a5d2f10"})
	out, err := sh.Run(t.Context(), burnin.Command{Line: "dmidecode"})
	if err != nil {
		t.Fatal(err)
	}
	zero := 0
	return &burnin.Record{Evidence: []*burnin.Evidence{{
		Probe: "dmidecode", Phase: burnin.PhaseBefore, Source: burnin.FromSSH, Exit: &zero, Ended: burnin.EndedExit, Simulated: true, Out: append(out.Out, "\n#rackproof-end 0\n"...),
	}}}
}

func adviceOf(t *testing.T, j burnin.Judgement, want map[string]string) {
	t.Helper()
	for id, w := range want {
		verdict, words, _ := strings.Cut(w, " ")
		found := false
		for _, f := range j.Findings {
			if f.ID == id {
				found = true
				if f.Verdict.String() != verdict || !strings.Contains(f.Why, words) {
					t.Errorf("%s is %s (%s), want %s with %q", id, f.Verdict, f.Why, verdict, words)
				}
			}
		}
		if !found {
			t.Errorf("no finding %s in %s", id, describe(j))
		}
	}
}
