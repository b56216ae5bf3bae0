package burnin

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

// hostChecks are the checks of the host: all but those of GPUs.
func hostChecks() []Check {
	return []Check{
		identity, memoryPopulation, memoryECC, memoryErrors, pcieLink, pcieErrors,
		nvmeCount, nvmeHealth, nvmeLink, nicLink, gdsSupport, kernelLog,
	}
}

// hostNode is the record of the healthy host of testdata/host-node, a whole run with
// BMC evidence.
func hostNode(tb testing.TB) *Record {
	tb.Helper()
	rec := gpuFolder(tb, "host-node")
	rec.Meta.Coverage = CoverFull
	for _, e := range rec.Evidence {
		e.Probe, e.Instance, _ = strings.Cut(e.Probe, "@")
		if e.Phase != PhaseBMC {
			e.BootID = "0e3c1c2e-7d0f-4b8e-9a53-6a4f8a5d2f10"
		}
	}
	rec.Machine.Wanted = WantedIdentity{Serial: "exs0001"}
	return rec
}

// drop removes evidence from a record; it must have been there.
func drop(tb testing.TB, rec *Record, refs ...string) {
	tb.Helper()
	for _, ref := range refs {
		n := len(rec.Evidence)
		rec.Evidence = slices.DeleteFunc(rec.Evidence, func(e *Evidence) bool { return e.Ref() == ref })
		if len(rec.Evidence) == n {
			tb.Fatalf("the case has no %s", ref)
		}
	}
}

// corpus reads a capture from the folder beside the module.
func corpus(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "shared", "corpus", name))
	if os.IsNotExist(err) {
		tb.Skipf("capture %s is not in ../shared/corpus", name)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// looseHost makes a record of loose files: "edac", "load/lspci", "smartctl@nvme0".
func looseHost(files map[string][]byte) *Record {
	rec := looseGPU(files)
	for _, e := range rec.Evidence {
		e.Probe, e.Instance, _ = strings.Cut(e.Probe, "@")
	}
	return rec
}

// judged returns the answers of checks by check/quantity/part; two answers with one
// id would hide one another.
func judged(tb testing.TB, rec *Record, p *profiles.Profile, s *profiles.Spec, checks ...Check) map[string]Finding {
	tb.Helper()
	r := NewReadings(rec)
	out := map[string]Finding{}
	for _, c := range checks {
		for _, f := range c.Judge(r, p, s) {
			if _, twice := out[f.ID]; twice {
				tb.Errorf("%s is answered twice", f.ID)
			}
			out[f.ID] = f
		}
	}
	return out
}

// wantAnswers compares answers with those wanted; every other must be pass or not
// applicable when strict.
func wantAnswers(tb testing.TB, found map[string]Finding, want map[string]string, strict bool) {
	tb.Helper()
	for id, answer := range want {
		f, ok := found[id]
		switch {
		case !ok:
			tb.Errorf("no answer %s; there are %q", id, slices.Sorted(maps.Keys(found)))
		case gpuAnswer(f) != answer:
			tb.Errorf("%s is %s (%s%s), want %s", id, gpuAnswer(f), f.Why, f.NotRun, answer)
		}
	}
	if !strict {
		return
	}
	for id, answer := range notGoodAnswers(found) {
		if want[id] == "" {
			tb.Errorf("%s is %s (%s%s), want it good", id, answer, found[id].Why, found[id].NotRun)
		}
	}
}
