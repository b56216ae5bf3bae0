package burnin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

// gpuCapture reads a capture from the folder beside the module. It is not part of
// the module, and a test that needs it says so when it is absent.
func gpuCapture(tb testing.TB, name string) []byte {
	tb.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		tb.Fatalf("the module's root is not where this test looks: %v", err)
	}
	matches, err := filepath.Glob(filepath.Join(root, "..", "shared", "corpus", "nvidia-smi", name))
	if err != nil {
		tb.Fatal(err)
	}
	if len(matches) != 1 {
		tb.Skipf("capture %s is not in ../shared/corpus", name)
	}
	b, err := os.ReadFile(matches[0])
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// looseGPU makes a record of loose files: by "nvidia-smi" or "load/nvidia-smi".
func looseGPU(files map[string][]byte) *Record {
	rec := &Record{Meta: Meta{Coverage: CoverPartial}}
	for ref, out := range files {
		phase, probe, ok := strings.Cut(ref, "/")
		if !ok {
			phase, probe = string(PhaseBefore), ref
		}
		rec.Evidence = append(rec.Evidence, &Evidence{
			Probe: probe, Phase: Phase(phase), Source: FromLoose, Ended: EndedUnknown, Out: out,
		})
	}
	return rec
}

// newGPUParts is a spec for new machines.
var newGPUParts = &profiles.Spec{Name: "new", Condition: profiles.New, Default: profiles.Required}

// gpuChecks are the checks of this part of the package.
func gpuChecks() []Check {
	return []Check{
		gpuCount, gpuDriver, gpuMemory, gpuECC, gpuRemap, gpuXID, gpuMIG,
		gpuNVLink, gpuNVLinkErrors, gpuTopology, gpuFabric,
	}
}

// gpuAnswer is a finding in short: its verdict, or "not_run".
func gpuAnswer(f Finding) string {
	if f.NotRun != "" {
		return "not_run"
	}
	return f.Verdict.String()
}

// gpuAnswers judges a record and returns the answers by check/quantity/part.
func gpuAnswers(rec *Record, p *profiles.Profile, checks ...Check) map[string]Finding {
	r := NewReadings(rec)
	out := map[string]Finding{}
	for _, c := range checks {
		for _, f := range c.Judge(r, p, newGPUParts) {
			out[f.ID] = f
		}
	}
	return out
}

// gpuFolder reads a case folder as the record of a whole run on a host.
func gpuFolder(tb testing.TB, name string) *Record {
	tb.Helper()
	rec := &Record{Meta: Meta{Coverage: CoverHost}}
	files, err := filepath.Glob(filepath.Join("testdata", name, "*", "*"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("case %s holds no evidence: %v", name, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		exit := 0
		ext := filepath.Ext(file)
		e := &Evidence{
			Probe: strings.TrimSuffix(filepath.Base(file), ext), Phase: Phase(filepath.Base(filepath.Dir(file))),
			Source: FromSSH, Ended: EndedExit, Exit: &exit, Seconds: 2,
		}
		if ext == ".samples" {
			if e.Samples, err = ParseSamples(b); err != nil {
				tb.Fatal(err)
			}
		} else {
			e.Out = b
		}
		rec.Evidence = append(rec.Evidence, e)
	}
	return rec
}

// gpuEdit changes one piece of evidence of a case; an old text that is not there fails
// the test, so that a case cannot lose its fault unseen.
type gpuEdit struct {
	ref      string // "after/nvidia-smi"
	old, new string
	nth      int // which occurrence, from 0
}

func (e gpuEdit) apply(tb testing.TB, rec *Record) {
	tb.Helper()
	ev := gpuEvidence(tb, rec, e.ref)
	if len(ev.Samples) > 0 {
		last := &ev.Samples[len(ev.Samples)-1]
		last.Out = []byte(e.in(tb, string(last.Out)))
		return
	}
	ev.Out = []byte(e.in(tb, string(ev.Out)))
}

func (e gpuEdit) in(tb testing.TB, text string) string {
	tb.Helper()
	at := 0
	for i := 0; ; i++ {
		next := strings.Index(text[at:], e.old)
		if next < 0 {
			tb.Fatalf("%s does not hold %q %d times", e.ref, e.old, e.nth+1)
		}
		at += next
		if i == e.nth {
			return text[:at] + e.new + text[at+len(e.old):]
		}
		at += len(e.old)
	}
}

func gpuEvidence(tb testing.TB, rec *Record, ref string) *Evidence {
	tb.Helper()
	for _, ev := range rec.Evidence {
		if ev.Ref() == ref {
			return ev
		}
	}
	tb.Fatalf("the case has no %s", ref)
	return nil
}

// notGoodAnswers returns the answers that are neither pass nor not applicable.
func notGoodAnswers(found map[string]Finding) map[string]string {
	out := map[string]string{}
	for id, f := range found {
		if a := gpuAnswer(f); a != "pass" && a != "not_applicable" {
			out[id] = a
		}
	}
	return out
}
