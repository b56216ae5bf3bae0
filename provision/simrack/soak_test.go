package simrack_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/journal"
	"github.com/rackproof/rackproof/provision/simrack"
)

// A machine fails after all its hours under load and is repaired: by the spec's clock the
// retest soaks them again, or the hours count and it does not.
func TestHoursAfterRepair(t *testing.T) {
	if testing.Short() {
		t.Skip("two attempts take a minute")
	}
	const soak = 6001 * time.Millisecond // loads take whole seconds
	rack, err := simrack.Start(t.Context(), simrack.Options{Seed: 7, Machines: []simrack.MachineSpec{
		{Name: "again", Fault: "dimm-missing"}, {Name: "goes-on", Fault: "dimm-missing"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rack.Close() }()
	for name, value := range rack.Credentials() {
		t.Setenv(name, value)
	}
	batch, err := provision.ParseBatch("batch.yaml", rack.BatchYAML("po5"), profiles.Open())
	if err != nil {
		t.Fatal(err)
	}
	batch.Limits.Load = 0
	clocked(t, batch, soak, profiles.ClockRestart, 0)
	clocked(t, batch, soak, profiles.ClockContinue, 1)

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	state, log := t.TempDir(), slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	bench := &provision.Bench{
		State: state, Workflows: provision.Workflows(), Secrets: &provision.Secrets{}, Log: log, Version: "test",
		Burner: provision.NodeBurner{Log: log},
	}
	defer func() { _ = bench.Close() }()
	engine, err := journal.Open(ctx, state, journal.Options{Worker: bench, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = engine.Close() }()
	id, err := engine.Submit(ctx, batch, provision.Qualify())
	if err != nil {
		t.Fatal(err)
	}
	run := settled(ctx, t, engine, id)
	for _, m := range run.Machines {
		if m.State != provision.StateFailed {
			t.Fatalf("%s is %s: %s", m.Machine.Name, m.State, m.Why)
		}
		if err := rack.Repair(m.Machine.Name); err != nil {
			t.Fatal(err)
		}
		e, err := provision.NewEvent(id, m.Machine.Name, provision.HandsDone, provision.Repaired{At: time.Now().UTC(), Note: "put in"})
		if err != nil {
			t.Fatal(err)
		}
		if err := engine.Tell(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	run = settled(ctx, t, engine, id)
	for name, want := range map[string]string{
		"again":   "0.00 h of attempt 1 do not count after a repair of dimm",
		"goes-on": "0.00 h of attempt 1 count after a repair of dimm",
	} {
		m := run.Find(name)
		if m.State != provision.StatePassed || m.Attempt != 2 {
			t.Errorf("%s is %s in attempt %d: %s %s", name, m.State, m.Attempt, m.Why, m.Facts[provision.FactLine])
		}
		rec, err := burnin.LoadRecord(provision.AttemptDir(state, id, name, 2))
		if err != nil {
			t.Fatal(err)
		}
		profile, err1 := profiles.ParseResolved(rec.Profile)
		spec, err2 := profiles.ParseResolvedSpec(rec.Spec)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, f := range burnin.Judge(rec, profile, spec).Findings {
			if f.Check == "soak" {
				said = append(said, f.ID+" "+f.Verdict.String()+": "+f.Why)
			}
		}
		if !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("%s: %s, want %s", name, said, want)
		}
	}
}

// clocked gives a machine of the batch a spec with hours under load.
func clocked(t *testing.T, batch *provision.Batch, soak time.Duration, clock profiles.Clock, machine int) {
	t.Helper()
	m := &batch.Machines[machine]
	text := string(batch.Resolved[m.SpecSHA256])
	for old, asked := range map[string]string{
		"soak:\n":           fmt.Sprintf("soak:\n  hours: %.6f\n", soak.Hours()),
		"  default: part\n": fmt.Sprintf("  default: part\n  dimm: %s\n", clock),
	} {
		if !strings.Contains(text, old) {
			t.Fatalf("no %q in\n%s", old, text)
		}
		text = strings.Replace(text, old, asked, 1)
	}
	spec, err := profiles.ParseResolvedSpec([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	batch.Resolved[spec.SHA256()] = spec.Bytes()
	m.SpecSHA256 = spec.SHA256()
}
