package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/report"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/simrack"
)

// asRackproof makes this test binary the program itself.
const asRackproof = "RACKPROOF_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asRackproof) != "" {
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

// killed says how often rackproof is killed in one run, and in how many runs:
// 28 times in all, 56 with RACKPROOF_PROVE=1, twice in -short.
func killed() (perRun, runs int) {
	switch {
	case os.Getenv("RACKPROOF_PROVE") == "1":
		return 7, 8
	case testing.Short():
		return 2, 1
	}
	return 7, 4
}

// rackproof that is killed at any moment, with the power lost, and started again comes to the results of
// one that was left alone, and does nothing twice.
func TestKilledAndResumed(t *testing.T) {
	alone := newKillRun(t, 0)
	began := time.Now()
	if code := alone.rackproof(0); code != exitHardware {
		t.Fatalf("undisturbed: exit %d, want %d\n%s", code, exitHardware, alone.output)
	}
	took := time.Since(began)
	want := alone.outcome()
	perRun, runs := killed()
	for i := range runs {
		t.Run(fmt.Sprintf("seed%d", i), func(t *testing.T) {
			t.Parallel()
			moments := rand.New(rand.NewPCG(killSeed(t), uint64(i)))
			k := newKillRun(t, uint64(i+1))
			for kills := 0; kills < perRun; {
				life := 50*time.Millisecond + time.Duration(moments.Int64N(int64(took)/2))
				code := k.rackproof(life)
				if code < 0 {
					kills++
					t.Logf("kill %d: after %s", kills, life)
					k.tear(moments)
					k.whole()
					continue
				}
				k.check(code, want)
				k = newKillRun(t, uint64(runs+kills+1)) // it ended first: the rest of the kills hit another run
			}
			k.check(k.rackproof(0), want)
		})
	}
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
	output []byte // of the last life
}

func newKillRun(t *testing.T, seed uint64) *killRun {
	t.Helper()
	return newRackRun(t, simrack.Options{Seed: 100 + seed, Machines: []simrack.MachineSpec{
		{Name: "good"}, {Name: "narrow", Fault: "gpu-x8"}, {Name: "crossed", Fault: "crossed-cables"},
	}})
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

// tear makes the kill a loss of power while the next event was written: behind what is
// committed, the journal's WAL has a page that is cut anywhere and half of something else.
func (k *killRun) tear(moments *rand.Rand) {
	k.t.Helper()
	const header, frame = 32, 24 + 4096
	path := filepath.Join(k.state(), "journal.db-wal")
	wal, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(wal) < header+frame {
		return // nothing was written since it was last copied back
	}
	if err != nil {
		k.t.Fatal(err)
	}
	frames := (len(wal) - header) / frame
	torn := bytes.Clone(wal[header+(frames-1)*frame:][:frame]) // with the salt of its time
	for i := 24 + moments.IntN(frame-24); i < frame; i++ {
		torn[i] ^= 0x5a
	}
	wal = append(wal[:header+frames*frame], torn[:1+moments.IntN(frame)]...)
	if err := os.WriteFile(path, wal, 0o600); err != nil {
		k.t.Fatal(err)
	}
}

// whole looks at the state folder as a killed rackproof left it: the journal is
// sound, and no file is half written.
func (k *killRun) whole() {
	k.t.Helper()
	journal := filepath.Join(k.state(), "journal.db")
	if _, err := os.Stat(journal); errors.Is(err, fs.ErrNotExist) {
		return // killed before it made one
	}
	db, err := sql.Open("sqlite", journal)
	if err != nil {
		k.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var word string
	if err := db.QueryRowContext(k.t.Context(), "PRAGMA integrity_check").Scan(&word); err != nil || word != "ok" {
		k.t.Fatalf("journal: %q, %v", word, err)
	}
	err = filepath.WalkDir(k.state(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") || filepath.Ext(path) != ".json" {
			return err
		}
		b, err := os.ReadFile(path)
		if !json.Valid(b) {
			k.t.Errorf("%s is half written: %.60q", path, b)
		}
		if d.Name() == "evidence.json" && err == nil {
			_, err = burnin.LoadRecord(filepath.Dir(path)) // checks every hash
		}
		return err
	})
	if err != nil {
		k.t.Error(err)
	}
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
