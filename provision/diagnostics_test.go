package provision

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/redfish"
)

// diagnosing is a BMC that collects.
type diagnosing struct {
	*fakeBMC
	fail  map[string]error
	takes time.Duration
	asked []string
	limit int64

	png       []byte
	screenErr error
}

func (d *diagnosing) Diagnostics(context.Context) ([]redfish.Diagnostic, error) {
	return []redfish.Diagnostic{{Name: "ffdc", Usual: true}, {Name: "whole"}, {Name: "board", Usual: true}}, nil
}

func (d *diagnosing) Screen(context.Context) ([]byte, error) { return d.png, d.screenErr }

func (d *diagnosing) CollectDiagnostic(ctx context.Context, name string, out io.Writer, opts redfish.CollectOptions) (redfish.DiagnosticFile, error) {
	d.asked, d.limit = append(d.asked, name), opts.MaxBytes
	timer := time.NewTimer(d.takes)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return redfish.DiagnosticFile{}, fmt.Errorf("job has not ended: %w", context.Cause(ctx))
	case <-timer.C:
	}
	if err := d.fail[name]; err != nil {
		return redfish.DiagnosticFile{}, err
	}
	_, err := out.Write([]byte("\x00" + name))
	return redfish.DiagnosticFile{File: name + ".tgz", Bytes: int64(len(name)) + 1}, err
}

// diagnosisEnv is a machine whose batch asks for diagnostics.
func diagnosisEnv(t *testing.T, wish DiagnosticsWish) (*Env, *diagnosing, *memory) {
	t.Helper()
	d := &diagnosing{fakeBMC: newFakeBMC(), fail: map[string]error{}, screenErr: redfish.ErrUnsupported}
	e, rec := stepEnv(t, d.fakeBMC, Machine{})
	e.open.bmc = func(context.Context, Machine) (BMC, error) { return d, nil }
	e.Batch.Diagnostics = wish
	if err := e.begin(); err != nil {
		t.Fatal(err)
	}
	return e, d, rec
}

func TestDiagnosticsAreCollectedAtAFailure(t *testing.T) {
	fault := &Fault{Line: "x", Why: "x"}
	for _, c := range []struct {
		name  string
		wish  DiagnosticsWish
		step  string
		err   error
		asked []string
	}{
		{"fault", DiagnosticsWish{OnFailure: true}, "verify-bmc", fault, []string{"ffdc", "board"}},
		{"fault inside", DiagnosticsWish{OnFailure: true}, "verify-bmc", fmt.Errorf("m1: %w", fault), []string{"ffdc", "board"}},
		{"never booted", DiagnosticsWish{OnFailure: true}, "boot", &Stuck{Why: "x", Suspect: true}, []string{"ffdc", "board"}},
		{"as named", DiagnosticsWish{OnFailure: true, Names: []string{"whole"}}, "boot", fault, []string{"whole"}},
		{"nobody asks", DiagnosticsWish{}, "verify-bmc", fault, nil},
		{"wrong password", DiagnosticsWish{OnFailure: true}, "verify-bmc", &Stuck{Why: "x"}, nil},
		{"an error to try again", DiagnosticsWish{OnFailure: true}, "boot", errors.New("x"), nil},
		{"all is well", DiagnosticsWish{OnFailure: true}, "boot", nil, nil},
		{"burn-in without a failure", DiagnosticsWish{OnFailure: true}, "burn-in", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, d, _ := diagnosisEnv(t, c.wish)
			e.diagnose(t.Context(), c.step, c.err)
			if !slices.Equal(d.asked, c.asked) {
				t.Errorf("asked for %q, want %q", d.asked, c.asked)
			}
			for _, name := range c.asked {
				if !e.Store.Has(burnin.PhaseBMC, probeDiagnostics+"@"+name) {
					t.Errorf("no evidence of %s", name)
				}
			}
			if said := e.Facts[FactDiagnostics]; (said != "") != (len(c.asked) > 0) {
				t.Errorf("the record says %q", said)
			}
			e.diagnose(t.Context(), c.step, c.err) // again, as after a resume
			if len(d.asked) != len(c.asked) {
				t.Errorf("asked again: %q", d.asked)
			}
		})
	}
}

// TestDiagnosticsDecideNothing: what is collected, and what is not, leaves the judgement
// as it is.
func TestDiagnosticsDecideNothing(t *testing.T) {
	e, d, rec := diagnosisEnv(t, DiagnosticsWish{OnFailure: true, MaxMiB: 1})
	judged := func() burnin.Judgement {
		r, err := e.Store.Record()
		if err != nil {
			t.Fatal(err)
		}
		return burnin.Judge(r, e.Profile, e.Spec)
	}
	before := judged()
	d.fail["ffdc"] = errors.New("BMC wants a licence for it, DCMS")
	e.diagnose(t.Context(), "verify-bmc", &Fault{})
	after := judged()
	if after.Result != before.Result || len(after.Findings) != len(before.Findings) || len(after.NotRun) != len(before.NotRun) {
		t.Errorf("%s with %d findings, was %s with %d", after.Result, len(after.Findings), before.Result, len(before.Findings))
	}
	if d.limit != 1<<20 {
		t.Errorf("at most %d bytes were wanted, want 1 MiB", d.limit)
	}
	said := e.Facts[FactDiagnostics]
	if !strings.Contains(said, "ffdc not collected: BMC wants a licence for it, DCMS") || !strings.Contains(said, "board, 6 bytes") {
		t.Errorf("the record says %q", said)
	}
	if !slices.Contains(rec.kinds, Learned) {
		t.Errorf("the note is not durable: %v", rec.kinds)
	}
}

// TestDiagnosticsAreBounded: a collection that never ends is given up, and one that a
// person stops leaves no note.
func TestDiagnosticsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d, _ := diagnosisEnv(t, DiagnosticsWish{OnFailure: true, For: Duration(5 * time.Minute)})
		d.takes = time.Hour
		start := time.Now()
		e.diagnose(t.Context(), "verify-bmc", &Fault{})
		if took := time.Since(start); took != 5*time.Minute {
			t.Errorf("it took %s, want 5 min", took)
		}
		if said := e.Facts[FactDiagnostics]; !strings.Contains(said, "not ended") {
			t.Errorf("the record says %q", said)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		e, d, _ := diagnosisEnv(t, DiagnosticsWish{OnFailure: true})
		d.takes = time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		e.diagnose(ctx, "verify-bmc", &Fault{})
		if said := e.Facts[FactDiagnostics]; said != "" {
			t.Errorf("stopped, the record says %q", said)
		}
	})
}

func TestScreenOfAFailure(t *testing.T) {
	for _, c := range []struct {
		err  error
		says string
		kept bool
	}{
		{nil, "a picture of the screen; ffdc", true},
		{errors.New("BMC busy"), "no picture of the screen: BMC busy; ffdc", false},
		{redfish.ErrUnsupported, "ffdc", false},
	} {
		e, d, _ := diagnosisEnv(t, DiagnosticsWish{OnFailure: true})
		d.png, d.screenErr = []byte("\x89PNG"), c.err
		e.diagnose(t.Context(), "boot", &Stuck{Suspect: true})
		if said := e.Facts[FactDiagnostics]; !strings.HasPrefix(said, c.says) || e.Store.Has(burnin.PhaseBMC, probeScreen) != c.kept {
			t.Errorf("%v: the record says %q, kept %v", c.err, said, !c.kept)
		}
	}
}

func TestDiagnosticsOfABMCThatHasNone(t *testing.T) {
	f := newFakeBMC()
	e, _ := stepEnv(t, f, Machine{})
	e.Batch.Diagnostics.OnFailure = true
	e.diagnose(t.Context(), "boot", &Fault{})
	if said := e.Facts[FactDiagnostics]; said != "not collected: this BMC offers none" {
		t.Errorf("the record says %q", said)
	}
}
