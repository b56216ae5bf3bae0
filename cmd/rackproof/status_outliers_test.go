package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/report"
	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/journal"
)

// passing finds every step done, and every machine good.
type passing struct{}

func (passing) Step(context.Context, provision.Task, provision.Recorder) (provision.Facts, error) {
	return provision.Facts{provision.FactResult: string(burnin.Passed)}, nil
}

// A machine that stands out in its batch is told with the state of the run.
func TestStatusTellsOutliers(t *testing.T) {
	state := t.TempDir()
	b := &provision.Batch{Name: "job"}
	for i, watts := range []float64{690, 692, 480, 688, 691} {
		name := fmt.Sprintf("m%d", i+1)
		b.Machines = append(b.Machines, provision.Machine{Name: name, BMC: fmt.Sprintf("192.0.2.%d", i+1), Spec: "standard"})
		f := burnin.About("outlier", "gpu.power.draw", burnin.Part{Class: burnin.ClassSXM, Name: "GPUs"})
		f.Measured, f.Limit, f.Unit, f.Verdict, f.Scope = watts, 69.0, "W", burnin.Pass, profiles.Required
		text, err := report.JSON(burnin.Judgement{
			Schema: burnin.ReportSchema, Result: burnin.Passed, Machine: burnin.MachineLine{Name: name},
			Compare: &burnin.Compare{Parts: 4, Spreads: 4}, Findings: []burnin.Finding{f},
		})
		if err != nil {
			t.Fatal(err)
		}
		dir := provision.AttemptDir(state, "job", name, 1)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, report.JSONFile), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e, err := journal.Open(ctx, state, journal.Options{Worker: passing{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Submit(ctx, b, provision.Qualify()); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- e.Serve(ctx) }()
	over := 0
	for ev, err := range e.Watch(ctx, "job", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == provision.MachineOver {
			over++
		}
		if over == len(b.Machines) {
			break
		}
	}
	cancel()
	<-served
	_ = e.Close()
	_, stdout, _ := cli(t, "status", "job", "--state", state, "--json")
	var got struct {
		ID       string
		Outliers []burnin.OddMachine
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || got.ID != "job" {
		t.Fatalf("%v\n%s", err, stdout)
	}
	if len(got.Outliers) != 1 || got.Outliers[0].Machine != "m3" || got.Outliers[0].Measured != 480 {
		t.Errorf("%+v", got.Outliers)
	}
}
