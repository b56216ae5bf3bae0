package simrack_test

import (
	"context"
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

// A whole run over real TLS, HTTP and SSH: a good machine passes, a narrow link and
// crossed cables are found.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole run takes half a minute")
	}
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	rack, err := simrack.Start(t.Context(), simrack.Options{Seed: 3, Log: log, Machines: []simrack.MachineSpec{
		{Name: "good"}, {Name: "narrow", Fault: "gpu-x8"}, {Name: "crossed", Fault: "crossed-cables"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rack.Close() }()
	for name, value := range rack.Credentials() {
		t.Setenv(name, value)
	}
	batch, err := provision.ParseBatch("batch.yaml", rack.BatchYAML("po1"), profiles.Open())
	if err != nil {
		t.Fatal(err)
	}
	batch.Diagnostics.OnFailure = true
	run := carry(t, batch)
	want := map[string]provision.State{"good": provision.StatePassed, "narrow": provision.StateFailed, "crossed": provision.StateFailed}
	for _, m := range run.Machines {
		if m.State != want[m.Machine.Name] {
			t.Errorf("%s is %s, want %s: %s", m.Machine.Name, m.State, want[m.Machine.Name], m.Why)
		}
		t.Logf("%s %s %s %s", m.Machine.Name, m.State, m.Why, m.Facts[provision.FactLine])
	}
	if line := run.Find("crossed").Facts[provision.FactLine]; !strings.Contains(line, "crossed cables") {
		t.Errorf("line %q", line)
	}
	// The vendor's diagnostics are asked of those that failed alone.
	for name, times := range map[string]int{"good": 0, "narrow": 1, "crossed": 1} {
		said := run.Find(name).Facts[provision.FactDiagnostics]
		if n := rack.Acts()[name]["diagnostics.collect"]; n != times || (said == "manager-1, 18 bytes") != (times == 1) {
			t.Errorf("%s: diagnostics %d times, %q; want %d times: %v", name, n, said, times, rack.Acts()[name])
		}
	}
	if acts := rack.Acts()["crossed"]; acts["host.load.gpu-burn"] != 0 {
		t.Errorf("load was put on somebody else's machine: %v", acts)
	}
	if acts := rack.Acts()["good"]; acts["host.load.gpu-burn"] != 1 {
		t.Errorf("acts of the good machine: %v", acts)
	}
}

// A machine whose BMC fetches its boot image: it boots that once, by the token in it,
// and the drive is empty afterwards.
func TestRunFromVirtualMedia(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole run takes half a minute")
	}
	rack, err := simrack.Start(t.Context(), simrack.Options{Seed: 4, Machines: []simrack.MachineSpec{
		{Name: "good"}, {Name: "crossed", Fault: "crossed-cables"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rack.Close() }()
	for name, value := range rack.Credentials() {
		t.Setenv(name, value)
	}
	text := strings.Replace(string(rack.BatchYAML("po2")), "method: uefi-http", "method: virtual-media", 1)
	batch, err := provision.ParseBatch("batch.yaml", []byte(text), profiles.Open())
	if err != nil {
		t.Fatal(err)
	}
	run := carry(t, batch)
	good := run.Find("good")
	if good.State != provision.StatePassed || good.Facts[provision.FactBoot] != "virtual-media" || good.Facts[provision.FactProof] == "" {
		t.Errorf("good is %s: %s; booted by %q, proven by %q", good.State, good.Why, good.Facts[provision.FactBoot], good.Facts[provision.FactProof])
	}
	if line := run.Find("crossed").Facts[provision.FactLine]; !strings.Contains(line, "crossed cables") {
		t.Errorf("crossed: line %q", line)
	}
	for name, acts := range rack.Acts() {
		for _, act := range []string{"media.insert", "media.eject", "host.boot.cd"} {
			if acts[act] != 1 {
				t.Errorf("%s: %d times %s, want once: %v", name, acts[act], act, acts)
			}
		}
	}
}

// carry submits a batch and serves it until nothing goes on without people.
func carry(t *testing.T, batch *provision.Batch) *provision.Run {
	t.Helper()
	return carryIn(t, t.TempDir(), batch, nil)
}

// carryIn does so in a state folder that the test looks into. Where enough is given, the
// process ends when it is true, and there is no run to look at.
func carryIn(t *testing.T, state string, batch *provision.Batch, enough func() bool) *provision.Run {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
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
	id, err := submit(ctx, engine, batch)
	if err != nil {
		t.Fatal(err)
	}
	if enough != nil {
		serveUntil(ctx, t, engine, enough)
		return nil
	}
	return settled(ctx, t, engine, id)
}

// submit begins the run of a batch by its own workflow.
func submit(ctx context.Context, e *journal.Engine, b *provision.Batch) (provision.RunID, error) {
	w, err := b.Flow()
	if err != nil {
		return "", err
	}
	return e.Submit(ctx, b, w)
}

// serveUntil serves until enough is true, as a process that ends then.
func serveUntil(ctx context.Context, t *testing.T, engine *journal.Engine, enough func() bool) {
	t.Helper()
	serving, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- engine.Serve(serving) }()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !enough() && ctx.Err() == nil {
		<-tick.C
	}
	stop()
	if err := <-done; err != nil && serving.Err() == nil {
		t.Error(err)
	}
}

// settled serves a run until nothing goes on without people.
func settled(ctx context.Context, t *testing.T, engine *journal.Engine, id provision.RunID) *provision.Run {
	t.Helper()
	serving, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- engine.Serve(serving) }()
	var run provision.Run
	var err error
	for range engine.Watch(ctx, id, 0) {
		if run, err = engine.Run(ctx, id); err != nil {
			t.Fatal(err)
		}
		if run.Settled() {
			break
		}
	}
	stop()
	if err := <-done; err != nil && serving.Err() == nil {
		t.Error(err)
	}
	if !run.Settled() {
		t.Fatal("the run did not end")
	}
	return &run
}

var _ burnin.Result
