package simrack_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/journal"
	"github.com/rackproof/rackproof/provision/simrack"
	"github.com/rackproof/rackproof/redfish"
)

// BMCs that lose an answer and keep the effect, or answer and have none, and an
// engine that dies at every few acts, before or after it could write them down:
// every act takes effect once, on each machine as on the one without a fault.
func TestCutAmidLostAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("many lives take a minute")
	}
	t.Run("uefi-http", func(t *testing.T) {
		cutAll(t, "uefi-http", []string{"power.reset", "boot.set", "bios.stage"}, []string{"boot.set", "boot.used", "host.boot.http", "host.load.gpu-burn"})
	})
	t.Run("virtual-media", func(t *testing.T) {
		if os.Getenv("RACKPROOF_PROVE") == "" {
			t.Skip("one way of booting is cut here; make prove cuts both")
		}
		cutAll(t, "virtual-media", []string{"boot.set", "media.insert", "media.eject"}, []string{"media.insert", "media.eject", "boot.used", "host.boot.cd", "host.load.gpu-burn"})
	})
}

// cutAll boots a rack by method, with BMCs that lose the answer to an act or its
// effect. Each act of once happens once on each machine.
func cutAll(t *testing.T, method string, lost, once []string) {
	t.Helper()
	specs := []simrack.MachineSpec{{Name: "whole"}}
	for _, act := range lost {
		name := strings.ReplaceAll(act, ".", "-")
		specs = append(specs,
			simrack.MachineSpec{Name: "lost-response-" + name, Fault: "lost-response=" + act + "*1"},
			simrack.MachineSpec{Name: "lost-effect-" + name, Fault: "lost-effect=" + act + "*1"})
	}
	if method == "uefi-http" { // power is the same matter, however the host boots
		specs = append(specs,
			simrack.MachineSpec{Name: "hangs-at-reset", Fault: "hang-after=power.reset*1"},
			simrack.MachineSpec{Name: "stale-power", Fault: "stale-power"})
	}
	rack, err := simrack.Start(t.Context(), simrack.Options{Seed: 5, Machines: specs})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rack.Close() }()
	for name, value := range rack.Credentials() {
		t.Setenv(name, value)
	}
	text := strings.Replace(string(rack.BatchYAML("cut")), "method: uefi-http", "method: "+method, 1)
	batch, err := provision.ParseBatch("batch.yaml", []byte(text), profiles.Open())
	if err != nil {
		t.Fatal(err)
	}
	batch.Limits.Poll = provision.Duration(100 * time.Millisecond)
	for i := range batch.Machines { // no machine waits for the power of its rack
		batch.Machines[i].LoadedWatts, batch.Machines[i].Poll = 1, batch.Limits.Poll
	}
	c := &cutter{t: t, state: t.TempDir(), batch: batch, login: rack.Login(), moments: rand.New(rand.NewPCG(2026, 5))}
	checkOnce(t, c.carry(), rack.Acts(), once)
}

// carry lives until the run is finished.
func (c *cutter) carry() *provision.Run {
	c.t.Helper()
	lives, run := 0, (*provision.Run)(nil)
	for ; run == nil || !run.Finished(); lives++ {
		if lives > 80 {
			c.t.Fatalf("still not finished after %d lives:\n%s", lives, states(run))
		}
		run = c.life()
	}
	c.t.Logf("%d lives", lives)
	if lives < 5 {
		c.t.Errorf("%d lives: hardly cut at all", lives)
	}
	return run
}

// checkOnce compares what was done on each machine with the one without a fault.
func checkOnce(t *testing.T, run *provision.Run, acts map[string]map[string]int, once []string) {
	t.Helper()
	whole := counted(acts["whole"])
	for _, m := range run.Machines {
		if m.State != provision.StatePassed {
			t.Errorf("%s is %s: %s %s", m.Machine.Name, m.State, m.Why, m.Facts[provision.FactLine])
		}
		got, want := counted(acts[m.Machine.Name]), maps.Clone(whole)
		if m.Machine.Name == "lost-effect-bios-stage" && got["power.reset"] != want["power.reset"] {
			// Seen behind a reset that was in vain, where no life ended before that; the
			// boot that went with it is set again.
			for _, act := range []string{"power.reset", "boot.set", "boot.used", "host.boot", "host.boot.http"} {
				want[act]++
			}
		}
		if m.Machine.Name == "lost-effect-media-insert" && got["power.reset"] != want["power.reset"] {
			// Seen before the reset for the settings, where a life began there: that reset goes ahead to
			// the disk, and the boot has its own.
			for _, act := range []string{"power.reset", "host.boot", "host.boot.disk"} {
				want[act]++
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: acts %v, want %v", m.Machine.Name, got, want)
		}
	}
	for _, act := range once {
		if whole[act] != 1 {
			t.Errorf("%s happened %d times on a whole machine: %v", act, whole[act], whole)
		}
	}
}

// counted leaves out what may happen any number of times.
func counted(acts map[string]int) map[string]int {
	acts = maps.Clone(acts)
	maps.DeleteFunc(acts, func(act string, _ int) bool { return strings.HasPrefix(act, "session.") })
	return acts
}

func states(run *provision.Run) string {
	var b strings.Builder
	for _, m := range run.Machines {
		b.WriteString(m.Machine.Name + " " + string(m.State) + " " + m.Step + " " + m.Why + "\n")
	}
	return b.String()
}

// cutter carries one batch in many lives.
type cutter struct {
	t       *testing.T
	state   string
	batch   *provision.Batch
	login   simrack.Login
	moments *rand.Rand
}

var errCut = errors.New("cut")

// life carries the run until its end, or until it is cut at an act, and returns
// how it stands then.
func (c *cutter) life() *provision.Run {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	log := slog.New(slog.NewTextHandler(c.t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	bench := &provision.Bench{
		State: c.state, Workflows: provision.Workflows(), Secrets: &provision.Secrets{}, Log: log, Version: "test",
		Burner: provision.NodeBurner{Log: log}, OpenBMC: c.open,
	}
	defer func() { _ = bench.Close() }()
	hook := cutAt(2+c.moments.IntN(12), c.moments.IntN(2) == 0)
	engine, err := journal.Open(ctx, c.state, journal.Options{Worker: bench, Log: log, Before: hook.before, After: hook.after, Backoff: 50 * time.Millisecond})
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = engine.Close() }()
	id, err := engine.Submit(ctx, c.batch, provision.Qualify())
	if err != nil {
		c.t.Fatal(err)
	}
	// Two changes are to fail here: a person takes the brake off each time.
	ev, err := provision.NewEvent(id, "", provision.Resumed, provision.Resume{Release: true})
	if err == nil {
		err = engine.Tell(ctx, ev)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- engine.Serve(serving); stop() }()
	var run provision.Run
	for range engine.Watch(serving, id, 0) {
		if run, err = engine.Run(ctx, id); err != nil {
			c.t.Fatal(err)
		}
		if run.Settled() {
			break
		}
	}
	stop()
	if err := <-done; err != nil && !errors.Is(err, errCut) {
		c.t.Fatalf("serve: %v\n%s", err, states(&run))
	}
	if ctx.Err() != nil {
		b, _ := os.ReadFile(provision.RunDir(c.state, "cut") + "/run.log")
		lines := strings.Split(string(b), "\n")
		c.t.Fatalf("nothing moves:\n%s%s", states(&run), strings.Join(lines[max(0, len(lines)-30):], "\n"))
	}
	if run, err = engine.Run(ctx, id); err != nil {
		c.t.Fatal("run at the end: ", err)
	}
	return &run
}

// open is the bench's own way to a BMC, with less patience.
func (c *cutter) open(ctx context.Context, m provision.Machine) (provision.BMC, error) {
	return redfish.Open(ctx, redfish.Config{
		Addr: m.BMC, User: c.login.User, Password: c.login.Password, Poll: 100 * time.Millisecond,
		PowerWait: 2 * time.Second, GracefulWait: 2 * time.Second, Timeout: 3 * time.Second,
		TLS: redfish.TLS{Pins: provision.OpenKnownBMCs(c.state)},
	})
}

// cut is the end of an engine: from then on it writes nothing more.
type cut struct {
	mu      sync.Mutex
	left    int
	written bool // the event at which it ends is still written
	dead    bool
}

func cutAt(n int, written bool) *cut { return &cut{left: n, written: written} }

func (c *cut) before(ev provision.Event) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return errCut
	}
	if ev.Kind != provision.Intended && ev.Kind != provision.Acted {
		return nil
	}
	if c.left--; c.left > 0 {
		return nil
	}
	c.dead = true
	if c.written {
		return nil
	}
	return errCut
}

func (c *cut) after(provision.Event) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return errCut
	}
	return nil
}
