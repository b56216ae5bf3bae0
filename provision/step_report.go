package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/rackproof/rackproof/burnin"
	brep "github.com/rackproof/rackproof/burnin/report"
)

// report judges the evidence of the attempt and writes report.json and
// report.html beside it. It runs for every machine, also for one at fault.
type report struct{}

func (report) Name() string { return "report" }

// ReportFile is the judgement of an attempt, beside its evidence.
const ReportFile = "report.json"

const reportPage = "report.html"

func (r report) Done(_ context.Context, e *Env) (bool, error) {
	j, err := ReadReport(e.Store.Dir())
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, r.tell(e, j)
}

// tell makes the facts by which a run knows its result.
func (report) tell(e *Env, j *burnin.Judgement) error {
	e.Facts[FactResult], e.Facts[FactLine] = string(j.Result), j.Line
	h := worklistEntry(e.Machine, e.Store.Dir(), e.Attempt, j)
	// A fault that a step found goes before what the judgement makes of its
	// remains: it says what was wrong, and that nothing else was tested.
	if fault := e.Facts[FactFault]; fault != "" {
		e.Facts[FactResult] = string(burnin.Failed)
		e.Facts[FactLine] = clip(fmt.Sprintf("FAIL %s %s", j.Machine.Place(), fault))
		h = faultEntry(e)
	}
	if h == nil {
		return nil
	}
	text, err := asJSON(h)
	e.Facts[FactLadder] = text
	return err
}

func (r report) Do(_ context.Context, e *Env) (Facts, error) {
	if err := e.begin(); err != nil { // a fault before verify-bmc has no record yet
		return nil, err
	}
	m, err := e.record()
	if err != nil {
		return nil, err
	}
	rec, err := e.Store.Record()
	if err != nil {
		return nil, err
	}
	m.BootID = or(rec.Machine.BootID, m.BootID)
	if err := e.Store.SetMachine(m); err != nil {
		return nil, err
	}
	if rec, err = e.Store.Record(); err != nil {
		return nil, err
	}
	page := brep.New(rec, e.Profile, e.Spec)
	if err := writeWhole(filepath.Join(e.Store.Dir(), reportPage), func(w io.Writer) error { return brep.HTML(w, page) }); err != nil {
		return nil, err
	}
	j := burnin.Judge(rec, e.Profile, e.Spec)
	// report.json comes last: it is by this file that the step is done.
	return nil, writeWhole(filepath.Join(e.Store.Dir(), ReportFile), func(w io.Writer) error {
		b, err := burnin.JSON(j)
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	})
}

// ReadReport reads the judgement in an attempt's folder.
func ReadReport(dir string) (*burnin.Judgement, error) {
	b, err := os.ReadFile(filepath.Join(dir, ReportFile))
	if err != nil {
		return nil, err
	}
	j := &burnin.Judgement{}
	if err := json.Unmarshal(b, j); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, ReportFile), err)
	}
	return j, nil
}

// writeWhole writes a file whole or not at all.
func writeWhole(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// lineWidth is the longest first line for people (PEOPLE.md).
const lineWidth = 100

func clip(s string) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) <= lineWidth {
		return string(r)
	}
	return string(r[:lineWidth-1]) + "…"
}
