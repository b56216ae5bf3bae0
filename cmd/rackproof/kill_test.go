package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin/report"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/simrack"
)

// asRackproof makes this test binary the program itself.
const asRackproof = "RACKPROOF_TEST_MAIN"

func TestMain(m *testing.M) {
	if text := os.Getenv(asHall); text != "" {
		if err := standHall(text); err != nil {
			log.Fatal(err)
		}
		return
	}
	if os.Getenv(asRackproof) != "" {
		if file := os.Getenv(leftBehind); file != "" {
			os.Exit(mainAndLeft(file))
		}
		main()
		return
	}
	os.Exit(m.Run())
}

// killSeed, RACKPROOF_KILL_SEED, chooses other moments than those of every day.
func killSeed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("RACKPROOF_KILL_SEED")
	if text == "" {
		return 2026
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}

// kills says how often rackproof is killed: 25 times, 500 with RACKPROOF_PROVE=1, twice in -short.
func kills() int {
	switch {
	case os.Getenv("RACKPROOF_PROVE") == "1":
		return 500
	case testing.Short():
		return 2
	}
	return 25
}

// killFaults are those of the batch that is killed, a machine each: what hardware has, and BMCs that
// lose an answer, show the power of a moment ago, work by tasks or give few sessions.
var killFaults = []string{
	"", "gpu-x8", "crossed-cables", "dimm-missing", "lost-response=bios.stage*1",
	"", "nvlink-down", "xid79", "nvlink-sometimes", "lost-response=boot.set*1",
	"", "ecc-uncorrected", "driver-mismatch", "fan-dead", "stale-power",
	"", "nvme-worn", "gpu-power-low", "session-limit", "bios-task",
}

// rackproof that is killed at any moment, with the power lost, and started again comes to the results of
// one that was left alone, and does nothing twice: one batch of 20 machines over as many lives as it
// takes, then the next.
func TestKilledAndResumed(t *testing.T) {
	seed, left := killSeed(t), kills()
	t.Logf("RACKPROOF_KILL_SEED=%d", seed)
	alone, done := newKillBatch(t), make(chan int, 1)
	go func() { done <- alone.rackproof(0) }() // beside the first of those that are killed
	undisturbed := sync.OnceValue(func() int { return <-done })
	moments := rand.New(rand.NewPCG(seed, 20))
	batches, lives, early := 0, 0, 0
	for ; left > 0 && !t.Failed(); batches++ {
		t.Run(fmt.Sprintf("batch%d", batches), func(t *testing.T) {
			k := newKillBatch(t)
			seen := witness{killRun: k}
			for code := -1; code < 0 && !t.Failed(); {
				life := lifetime(moments, left, seen.still)
				lives++
				if code = k.rackproof(life); code >= 0 {
					if code := undisturbed(); code != exitHardware {
						t.Fatalf("undisturbed: exit %d, want %d\n%s", code, exitHardware, alone.output)
					}
					k.check(code, alone.outcome())
					return
				}
				left--
				k.tear(moments)
				if !seen.look(left%10 == 0) {
					early++
				}
				t.Logf("%d kills left: ended after %s, %s", left, life.Round(time.Millisecond), seen.stand())
			}
			t.Logf("the last life said:\n%s", k.output)
		})
	}
	t.Logf("measured: killed in %d of %d lives of %d batches of %d machines, %d times before the batch was written down",
		kills()-left, lives, batches, len(killFaults), early)
}

// lifetime is how long a life is to be: every fourth ends while the program begins, and the one after
// the last kill is left alone (0). Where so many lives brought no step to its end, they get longer: a wait
// in one that is longer than they are begins anew with each.
func lifetime(moments *rand.Rand, left, still int) time.Duration {
	switch {
	case left == 0:
		return 0
	case moments.IntN(4) == 0:
		return time.Millisecond + time.Duration(moments.Int64N(int64(200*time.Millisecond)))
	}
	most := 2500*time.Millisecond + time.Duration(still/4)*time.Second
	return 200*time.Millisecond + time.Duration(moments.Int64N(int64(most)))
}

// check compares a run that has ended with one that was left alone.
func (k *killRun) check(code int, want outcome) {
	k.t.Helper()
	if code != exitHardware {
		k.t.Fatalf("exit %d, want %d\n%s", code, exitHardware, k.output)
	}
	k.whole()
	if left, err := fs.Glob(os.DirFS(k.state()), "runs/*/*/*/*/.*"); err != nil || len(left) != 0 {
		k.t.Errorf("left behind: %v, %v", left, err)
	}
	got := k.outcome()
	if !maps.Equal(got.results, want.results) {
		k.t.Errorf("other results than undisturbed:\n%s", difference(want.results, got.results))
	}
	for machine, acts := range got.acts {
		if !maps.Equal(acts, want.acts[machine]) {
			k.t.Errorf("%s: acts %v, undisturbed %v", machine, acts, want.acts[machine])
		}
	}
}

// outcome is what a run came to: its findings, and what was done to the machines.
type outcome struct {
	results map[string]string
	acts    map[string]map[string]int
}

func (k *killRun) outcome() outcome {
	k.t.Helper()
	return outcome{k.results(), k.acts()}
}

// killRun is one batch on a rack of its own.
type killRun struct {
	t      *testing.T
	rack   *simrack.Rack
	dir    string
	began  time.Time // of the last life
	output []byte    // of the last life
}

func newKillRun(t *testing.T, seed uint64) *killRun {
	t.Helper()
	return newRackRun(t, simrack.Options{Seed: 100 + seed, Machines: []simrack.MachineSpec{
		{Name: "good"}, {Name: "narrow", Fault: "gpu-x8"}, {Name: "crossed", Fault: "crossed-cables"},
	}})
}

// newKillBatch is the batch of killFaults.
func newKillBatch(t *testing.T) *killRun {
	t.Helper()
	opts := simrack.Options{Seed: 100, Load: 3 * time.Second}
	for i, fault := range killFaults {
		opts.Machines = append(opts.Machines, simrack.MachineSpec{Name: fmt.Sprintf("m%02d", i), Fault: fault})
	}
	return newRackRun(t, opts)
}

// newRackRun is a batch of any rack.
func newRackRun(t *testing.T, opts simrack.Options) *killRun {
	t.Helper()
	rack, err := simrack.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rack.Close() })
	k := &killRun{t: t, rack: rack, dir: t.TempDir()}
	if err := os.WriteFile(k.batch(), rack.BatchYAML("kill"), 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *killRun) batch() string { return filepath.Join(k.dir, "batch.yaml") }
func (k *killRun) state() string { return filepath.Join(k.dir, "state") }

// rackproof runs the batch; after life it is killed. It returns the exit code, -1
// when it was killed.
func (k *killRun) rackproof(life time.Duration) int {
	k.t.Helper()
	k.began = time.Now().Add(-time.Second) // file systems are not exact to the moment
	p := k.start("run", "-f", k.batch(), "--yes")
	if life > 0 {
		timer := time.AfterFunc(life, func() { _ = p.cmd.Process.Kill() })
		defer timer.Stop()
	}
	code := p.wait()
	k.output = []byte(p.out.String())
	return code
}

// process is a rackproof of its own.
type process struct {
	cmd *exec.Cmd
	out said // of both streams
}

// said is what a process has said so far.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// start starts a verb on the run's state folder; it ends with the test at the latest.
func (k *killRun) start(args ...string) *process {
	k.t.Helper()
	return k.startOn(k.state(), args...)
}

func (k *killRun) startOn(state string, args ...string) *process {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), patience)
	k.t.Cleanup(cancel)
	p := &process{cmd: exec.CommandContext(ctx, os.Args[0], append(args, "--state", state)...)}
	p.cmd.Env = append(os.Environ(), asRackproof+"=1")
	for name, value := range k.rack.Credentials() {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	p.cmd.WaitDelay = time.Second
	if err := p.cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	return p
}

// wait returns the exit code, -1 when it was killed.
func (p *process) wait() int {
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

// results are the verdicts of every finding of every machine, by its id, and what
// was not run.
func (k *killRun) results() map[string]string {
	k.t.Helper()
	machines, err := report.Folder(provision.RunDir(k.state(), "kill"))
	if err != nil {
		k.t.Fatal(err)
	}
	all := map[string]string{}
	for _, m := range machines {
		name := m.Machine.Name
		all[name] = string(m.Result)
		for _, f := range m.Findings {
			// Serials differ from rack to rack; places and verdicts do not.
			all[name+" "+f.ID] = f.Verdict.String()
		}
		for _, n := range m.NotRun {
			all[fmt.Sprintf("%s %s/%s/%s", name, n.Check, n.Quantity, n.Part)] = "not run"
		}
	}
	return all
}

// acts are what the rack counted, without what may happen any number of times.
func (k *killRun) acts() map[string]map[string]int {
	acts := k.rack.Acts()
	for _, of := range acts {
		maps.DeleteFunc(of, func(act string, _ int) bool { return strings.HasPrefix(act, "session.") })
	}
	return acts
}

func difference(want, got map[string]string) string {
	var b strings.Builder
	keys := slices.Sorted(maps.Keys(want))
	for k := range got {
		if _, ok := want[k]; !ok {
			keys = append(keys, k)
		}
	}
	for _, k := range keys {
		if want[k] != got[k] {
			fmt.Fprintf(&b, "  %s: %q, undisturbed %q\n", k, got[k], want[k])
		}
	}
	return b.String()
}
