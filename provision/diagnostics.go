package provision

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/redfish"
)

// DiagnosticsWish says whether a machine that failed is asked for what its vendor's
// support wants.
type DiagnosticsWish struct {
	OnFailure bool     `json:"on_failure,omitempty"`
	Names     []string `json:"names,omitempty"`   // of collections; none = those that are usual for the BMC
	For       Duration `json:"for,omitempty"`     // all of them together; 0 means 20 min
	MaxMiB    int      `json:"max_mib,omitempty"` // of one file; 0 means 64
}

const (
	probeDiagnostics   = "bmc-diagnostics"
	probeScreen        = "screen"
	diagnosticsFor     = 20 * time.Minute
	diagnosticsMiB     = 64
	maxDiagnosticsMiB  = 256 // of one file: what evidence may have
	diagnosticsAllMiB  = 512 // of one machine
	diagnosticsMinimum = time.Minute
)

// Diagnoser collects what a vendor's support wants; a BMC may be one.
type Diagnoser interface {
	Diagnostics(context.Context) ([]redfish.Diagnostic, error)
	CollectDiagnostic(ctx context.Context, name string, out io.Writer, opts redfish.CollectOptions) (redfish.DiagnosticFile, error)
}

// Screener takes a picture of the host's screen; a BMC may be one.
type Screener interface {
	Screen(context.Context) ([]byte, error)
}

// diagnose collects diagnostics after a step with which a machine failed, where the
// batch asks for it. A machine that does well is not delayed: of a burn-in only the
// judgement of its evidence is made. Nothing here decides a verdict: what could not be
// collected is said in the record, and that is all.
func (e *Env) diagnose(ctx context.Context, step string, stepErr error) {
	wish := e.Batch.Diagnostics
	if !wish.OnFailure || ctx.Err() != nil || !e.hurt(step, stepErr) {
		return
	}
	limit := cmp.Or(time.Duration(wish.For), diagnosticsFor)
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	note := e.diagnoseWithin(bounded, time.Now().Add(limit))
	if ctx.Err() != nil || note == "" {
		return
	}
	e.Log.Info("diagnostics", "note", note)
	if err := e.Learn(context.WithoutCancel(ctx), Facts{FactDiagnostics: note}); err != nil {
		e.Log.Warn("the note about diagnostics was not recorded", "err", err)
	}
}

// hurt reports a machine at fault, or one that did not do what it was told and may be.
func (e *Env) hurt(step string, err error) bool {
	if fault := (*Fault)(nil); errors.As(err, &fault) {
		return true
	}
	if stuck := (*Stuck)(nil); errors.As(err, &stuck) {
		return stuck.Suspect
	}
	if err != nil || step != (burnIn{}).Name() {
		return false
	}
	rec, err := e.Store.Record()
	if err != nil {
		e.Log.Warn("whether diagnostics are due is not known", "err", err)
		return false
	}
	return burnin.Judge(rec, e.Profile, e.Spec).Result == burnin.Failed
}

// diagnoseWithin gives the note: what was collected and what was not.
func (e *Env) diagnoseWithin(ctx context.Context, until time.Time) string {
	c, err := e.Client(ctx)
	if err != nil {
		return "not collected: " + e.secrets.redact(err.Error())
	}
	said := e.screen(ctx, c)
	d, ok := c.(Diagnoser)
	if !ok {
		return strings.Join(append(said, "not collected: this BMC offers none"), "; ")
	}
	names, err := e.diagnosticNames(ctx, d)
	if err != nil {
		return strings.Join(append(said, "not collected: "+e.secrets.redact(err.Error())), "; ")
	}
	left := int64(diagnosticsAllMiB) << 20
	for _, name := range names {
		if e.Store.Has(burnin.PhaseBMC, probeDiagnostics+"@"+name) {
			continue // in an earlier try
		}
		ev, err := e.collect(ctx, d, name, left, until)
		switch {
		case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled):
			return "" // a person stopped it: the next try collects
		case err != nil:
			said = append(said, fmt.Sprintf("%s not collected: %s", name, ev.Err))
		default:
			left -= int64(len(ev.Out))
			said = append(said, fmt.Sprintf("%s, %d bytes", name, len(ev.Out)))
		}
		if err := e.Store.Add(ev); err != nil {
			said = append(said, name+" not kept: "+err.Error())
		}
	}
	return strings.Join(strings.Fields(strings.Join(said, "; ")), " ")
}

// screen keeps a picture of the host's screen, where the BMC offers one, and says so.
func (e *Env) screen(ctx context.Context, c BMC) []string {
	s, ok := c.(Screener)
	if !ok || e.Store.Has(burnin.PhaseBMC, probeScreen) {
		return nil
	}
	start := time.Now()
	png, err := s.Screen(ctx)
	if errors.Is(err, redfish.ErrUnsupported) || ctx.Err() != nil {
		return nil
	}
	if err == nil {
		err = e.Store.Add(&burnin.Evidence{
			Probe: probeScreen, Phase: burnin.PhaseBMC, Source: burnin.FromBMC, Ended: burnin.EndedExit, Started: start, Seconds: time.Since(start).Seconds(),
			Command: "BMC: picture of the screen (PNG)", Simulated: e.Machine.Boot.Image == SimulatedImage, Out: png,
		})
	}
	if err != nil {
		return []string{"no picture of the screen: " + e.secrets.redact(err.Error())}
	}
	return []string{"a picture of the screen"}
}

func (e *Env) diagnosticNames(ctx context.Context, d Diagnoser) ([]string, error) {
	if names := e.Batch.Diagnostics.Names; len(names) > 0 {
		return names, nil
	}
	list, err := d.Diagnostics(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, one := range list {
		if one.Usual {
			names = append(names, one.Name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("diagnostics: %w", redfish.ErrUnsupported)
	}
	return names, nil
}

// collect makes evidence of one collection, of one that failed too.
func (e *Env) collect(ctx context.Context, d Diagnoser, name string, left int64, until time.Time) (*burnin.Evidence, error) {
	start := time.Now()
	ev := &burnin.Evidence{
		Probe: probeDiagnostics, Instance: name, Phase: burnin.PhaseBMC, Source: burnin.FromBMC, Ended: burnin.EndedExit, Started: start,
		Command: "BMC: diagnostics " + name, Simulated: e.Machine.Boot.Image == SimulatedImage,
	}
	most := min(int64(cmp.Or(e.Batch.Diagnostics.MaxMiB, diagnosticsMiB))<<20, left)
	var out bytes.Buffer
	f, err := d.CollectDiagnostic(ctx, name, &out, redfish.CollectOptions{MaxBytes: max(most, 1), Progress: func(text string) {
		e.Progress(ctx, until, "diagnostics %s: %s", name, text)
	}})
	ev.Seconds = time.Since(start).Seconds()
	if err != nil {
		ev.Ended, ev.Err = burnin.EndedLost, []byte(e.secrets.redact(err.Error())+"\n")
		return ev, err
	}
	ev.Command += " (" + f.File + ")"
	ev.Out = out.Bytes()
	return ev, nil
}

func (l *loader) diagnostics(n ast.Node) {
	to := &l.batch.Diagnostics
	var names string
	l.fields(n, "diagnostics", field{
		"on_failure": l.yes(&to.OnFailure),
		"names":      l.str(&names),
		"for":        l.duration(&to.For),
		"max_mib":    l.integer(&to.MaxMiB, 1),
	})
	to.Names = strings.Fields(strings.ReplaceAll(names, ",", " "))
	if d := time.Duration(to.For); d != 0 && d < diagnosticsMinimum {
		l.problem(n, "diagnostics: for %s is less than a minute: no collection ends so soon", d)
	}
	if to.MaxMiB > maxDiagnosticsMiB {
		l.problem(n, "diagnostics: max_mib is at most %d: evidence takes no larger file", maxDiagnosticsMiB)
	}
}
