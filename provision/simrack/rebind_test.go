package simrack_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/journal"
	"github.com/rackproof/rackproof/provision/simrack"
)

// A board is exchanged: the retest stops at the new certificate and names rebind, which
// refuses what is not the person's word or another machine's. Bound to the new board the
// machine passes, from the same batch file, and the record has the chain.
func TestRebindAfterABoardSwap(t *testing.T) {
	rack, batch := flowRack(t, "qualify",
		simrack.MachineSpec{Name: "m1", Fault: "dimm-missing"}, simrack.MachineSpec{Name: "m2"})
	state := t.TempDir()
	first := carryIn(t, state, batch, nil)
	if m := first.Find("m1"); m.State != provision.StateFailed {
		t.Fatalf("%s: %s", m.State, m.Why)
	}
	before, neighbour := rack.Machines()[0], rack.Machines()[1]
	if err := rack.SwapBoard("m1"); err != nil {
		t.Fatal(err)
	}
	after := rack.Machines()[0]
	if after.Serial == before.Serial {
		t.Fatal("the new board has the old serial number")
	}
	loads := rack.Acts()["m1"]["host.load.gpu-burn"]
	run := carryWord(t, state, batch, "m1", provision.Repaired{Note: "board exchanged"})
	m := run.Find("m1")
	if m.State != provision.StateStuck || !strings.Contains(m.Do, "`rackproof rebind m1 --as ") {
		t.Fatalf("%s: %s; do %s", m.State, m.Why, m.Do)
	}
	bench := &provision.Bench{State: state, Secrets: &provision.Secrets{}, Log: slog.New(slog.DiscardHandler)}
	defer func() { _ = bench.Close() }()
	pin, _ := provision.OpenKnownBMCs(state).Pin(neighbour.BMC)
	for _, test := range []struct {
		wish provision.RebindWish
		why  string
	}{
		{provision.RebindWish{As: before.Serial}, "you read " + before.Serial + " at m1"},
		{provision.RebindWish{As: neighbour.Serial, BMC: neighbour.BMC}, "BMC " + neighbour.BMC + " is that of m2"},
		{provision.RebindWish{As: after.Serial, MAC: "02:00:00:00:00:01"}, "is none of its ports now"},
	} {
		_, err := bench.Rebind(t.Context(), run, "m1", test.wish)
		if refused, ok := errors.AsType[*provision.RebindError](err); !ok || !strings.Contains(refused.Why, test.why) {
			t.Errorf("%+v: %v", test.wish, err)
		}
	}
	to, err := bench.Rebind(t.Context(), run, "m1", provision.RebindWish{As: strings.ToLower(after.Serial)})
	if err != nil {
		t.Fatal(err)
	}
	if to.Was.Serial != before.Serial || to.Is.SeenSerial != after.Serial || to.Was.SeenUUID == "" || to.Was.SeenUUID == to.Is.SeenUUID || to.Was.SHA256 == to.Is.SHA256 {
		t.Errorf("%+v", to)
	}
	if now, _ := provision.OpenKnownBMCs(state).Pin(neighbour.BMC); now != pin || pin == "" {
		t.Errorf("the neighbour's pin is %q, was %q", now, pin)
	}
	word := provision.Repaired{At: time.Now(), By: "anna@hall1", Part: to.Part(), Note: to.String(), Whole: true, Rebound: &to}
	tellRebind(t, state, run.ID, word)
	run = carryIn(t, state, batch, nil) // the file still has the old numbers
	m = run.Find("m1")
	if m.State != provision.StatePassed || m.Machine.Serial != after.Serial || m.Facts[provision.FactProof] == "" {
		t.Fatalf("%s: %s %s; facts %v", m.State, m.Why, m.Facts[provision.FactLine], m.Facts)
	}
	if n := rack.Acts()["m1"]["host.load.gpu-burn"]; n != loads+1 {
		t.Errorf("loaded %d times, want %d", n, loads+1)
	}
	dir := provision.AttemptDir(state, run.ID, "m1", m.Attempt)
	rec, err := burnin.LoadRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	last := rec.Machine.Repaired[len(rec.Machine.Repaired)-1]
	if last.By != "anna@hall1" || last.Was == nil || last.Was.SystemSerial != before.Serial || last.Is.SystemSerial != after.Serial {
		t.Errorf("%+v", last)
	}
	j, err := provision.ReadReport(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range j.Findings {
		if f.Check == "identity" && f.Verdict != burnin.Pass {
			t.Errorf("%+v", f)
		}
	}
	if m2 := run.Find("m2"); m2.Attempt != 1 || m2.State != first.Find("m2").State {
		t.Errorf("m2: attempt %d, %s", m2.Attempt, m2.State)
	}
}

func tellRebind(t *testing.T, state string, run provision.RunID, word provision.Repaired) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	engine, err := journal.Open(ctx, state, journal.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ev, err := provision.NewEvent(run, "m1", provision.Rebind, word)
	if err = errors.Join(err, engine.Tell(ctx, ev), engine.Close()); err != nil {
		t.Fatal(err)
	}
}
