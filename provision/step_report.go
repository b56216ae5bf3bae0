package provision

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/rackproof/rackproof/burnin"
	brep "github.com/rackproof/rackproof/burnin/report"
)

// report judges the evidence of the attempt and writes report.json and
// report.html beside it. It runs for every machine, also for one at fault.
type report struct{}

func (report) Name() string { return "report" }

func (r report) Done(ctx context.Context, e *Env) (bool, error) {
	var j *burnin.Judgement
	err := e.judging(ctx, func() (err error) {
		j, err = ReadReport(e.Store.Dir())
		return err
	})
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if j.Profile.SHA256 != e.Profile.SHA256() || j.Spec.SHA256 != e.Spec.SHA256() {
		return false, nil // judged by another profile or spec than the run has now
	}
	if kept, err := e.Store.Machine(); err != nil || !maps.Equal(kept.Cables, e.Machine.Cables) {
		return false, err // or by another plan of the cables
	}
	return true, r.tell(e, j)
}

// tell makes the facts by which a run knows its result.
func (report) tell(e *Env, j *burnin.Judgement) error {
	e.Facts[FactResult], e.Facts[FactLine] = string(j.Result), j.Line
	if said := swapSaid(e, j); said != "" {
		e.Facts[FactSwap] = said
	}
	h := worklistEntry(e.Machine, e.Store.Dir(), e.Attempt, j)
	if said := e.Facts[FactSwap]; said != "" && h != nil {
		h.Why = said + "; " + h.Why
	}
	// A fault that a step found goes before what the judgement makes of its
	// remains: it says what was wrong, and that nothing else was tested.
	if fault := e.Facts[FactFault]; fault != "" {
		e.Facts[FactResult] = string(burnin.Failed)
		e.Facts[FactLine] = burnin.OneLine(fmt.Sprintf("FAIL %s %s", j.Machine.Place(), fault))
		h = faultEntry(e)
	}
	if h == nil {
		return nil
	}
	text, err := asJSON(h)
	e.Facts[FactLadder] = text
	return err
}

func (r report) Do(ctx context.Context, e *Env) (Facts, error) {
	return nil, e.judging(ctx, func() error { return r.write(e) })
}

func (report) write(e *Env) error {
	if err := e.begin(); err != nil { // a fault before verify-bmc has no record yet
		return err
	}
	m, err := e.record()
	if err != nil {
		return err
	}
	rec, err := e.Store.Record()
	if err != nil {
		return err
	}
	m.BootID = or(rec.Machine.BootID, m.BootID)
	if m.Kept = e.kept(rec); m.Kept == nil && e.Facts[factKept] != "" {
		e.noteNothingKept()
		m.Facts[FactNote] = e.Facts[FactNote]
	}
	e.tellMoved(rec, &m)
	if err := e.Store.SetMachine(m); err != nil {
		return err
	}
	earlier, err := brep.Attempts(filepath.Dir(e.Store.Dir()))
	if err != nil {
		return err
	}
	if i := slices.Index(earlier, e.Store.Dir()); i >= 0 {
		earlier = earlier[:i]
	}
	_, err = brep.Save(e.Store.Dir(), brep.Read{Profile: e.Profile, Spec: e.Spec}, brep.Earlier(earlier))
	return err
}

// ReadReport reads the judgement in an attempt's folder.
func ReadReport(dir string) (*burnin.Judgement, error) {
	j, err := brep.ReadJudgement(filepath.Join(dir, brep.JSONFile))
	if err != nil {
		return nil, err
	}
	return &j, nil
}
