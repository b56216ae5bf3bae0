package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

func line(s string) func(*profiles.Profile) string {
	return func(*profiles.Profile) string { return s }
}

// burnOptions are those of a burn-in of this machine that loads nothing much.
func burnOptions(sh burnin.Shell, store *burnin.Store, root string, d time.Duration) burnin.BurnOptions {
	every := []burnin.Phase{burnin.PhaseBefore, burnin.PhaseLoad, burnin.PhaseAfter}
	return burnin.BurnOptions{
		Node: &burnin.Node{Shell: sh, Origin: burnin.FromSSH, Probes: []burnin.ProbeSpec{
			{Name: "os", Command: line("uname -s"), Phases: every},
			{Name: "pci-sysfs", Command: line("echo full"), Phases: every[1:2], Sampled: true, Sample: line("cat /proc/uptime")},
		}},
		Store: store, Machine: burnin.Machine{Name: "bench"}, Run: "r1", Attempt: 1, Owner: "tech@laptop", Resume: true,
		Duration: d, Root: root,
		Loads: []burnin.Load{
			{Name: "no-tool", Busy: []burnin.Class{burnin.ClassFan}, Tool: "no-such-tool", Command: spin},
			{Name: "cpu-loop", Busy: []burnin.Class{burnin.ClassCPU}, Command: spin},
		},
	}
}

func spin(_ *profiles.Profile, d time.Duration) string {
	return fmt.Sprintf("echo $$ begun; sleep %d; echo done", int(d.Seconds()))
}

func newStore(t *testing.T) *burnin.Store {
	t.Helper()
	s, err := burnin.OpenStore(filepath.Join(t.TempDir(), "1"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func recordOf(t *testing.T, s *burnin.Store) (*burnin.Record, map[string]*burnin.Evidence) {
	t.Helper()
	rec, err := s.Record()
	if err != nil {
		t.Fatal(err)
	}
	byRef := map[string]*burnin.Evidence{}
	for _, e := range rec.Evidence {
		byRef[e.Ref()] = e
	}
	return rec, byRef
}

// whole checks that a record is that of one complete attempt, and the node clean.
func whole(t *testing.T, s *burnin.Store, root string) *burnin.Record {
	t.Helper()
	rec, byRef := recordOf(t, s)
	for _, ref := range []string{"before/os", "load/os", "after/os", "load/pci-sysfs", "load/cpu-loop", "load/no-tool", "load/loads"} {
		if byRef[ref] == nil {
			t.Fatalf("no %s in the record", ref)
		}
	}
	load := byRef["load/cpu-loop"]
	words := strings.Fields(string(load.Out))
	if load.Ended != burnin.EndedExit || load.Exit == nil || *load.Exit != 0 || len(words) != 3 || words[2] != "done" {
		t.Errorf("load: ended %s, out %q, err %q", load.Ended, load.Out, load.Err)
	}
	if e := byRef["load/no-tool"]; e.Ended != burnin.EndedNoTool {
		t.Errorf("a load without its tool ended %s", e.Ended)
	}
	samples := byRef["load/pci-sysfs"].Samples
	if len(samples) < 2 || !strings.Contains(string(byRef["load/pci-sysfs"].Out), "full") {
		t.Errorf("%d samples", len(samples))
	}
	for i, sample := range samples {
		if i > 0 && !sample.At.After(samples[i-1].At) || !strings.HasSuffix(string(sample.Out), "\n#rackproof-end 0\n") {
			t.Errorf("sample %d: %s %q", i, sample.At, sample.Out)
		}
	}
	if rec.Meta.Ended.IsZero() || rec.Meta.Run != "r1" {
		t.Errorf("meta %+v", rec.Meta)
	}
	if _, err := os.Stat(root); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left on the node: %v", err)
	}
	if _, err := os.Stat(filepath.Join(s.Dir(), "load", ".stream")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left in the store: %v", err)
	}
	return rec
}

func TestBurnOverSSH(t *testing.T) {
	t.Parallel()
	server := startSSHD(t)
	store, root := newStore(t), filepath.Join(t.TempDir(), "rackproof")
	redialer := &burnin.Redialer{Dial: func(ctx context.Context) (burnin.Shell, error) { return DialSSH(ctx, server.config()) }}
	if err := redialer.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = redialer.Close() }()
	o := burnOptions(redialer, store, root, 6*time.Second)
	if err := burnin.Burn(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	first := whole(t, store, root)
	// Once more: all is there, so nothing is measured again.
	if err := burnin.Burn(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	second := whole(t, store, root)
	for i, e := range first.Evidence {
		if !e.Started.Equal(second.Evidence[i].Started) {
			t.Errorf("%s was measured again", e.Ref())
		}
	}
}

// TestPickUpAfterKill: rackproof is killed under load, another process goes on.
func TestPickUpAfterKill(t *testing.T) {
	t.Parallel()
	store, root := newStore(t), filepath.Join(t.TempDir(), "rackproof")
	const d = 12 * time.Second
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBurnChild$")
	child.Env = append(os.Environ(), "BURN_STORE="+store.Dir(), "BURN_ROOT="+root, "BURN_FOR="+d.String())
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(store.Dir(), "load", ".stream", "units+cpu-loop+out")
	begun := waitFor(t, part)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	if err := burnin.Burn(t.Context(), burnOptions(Local{}, store, root, d)); err != nil {
		t.Fatal(err)
	}
	rec := whole(t, store, root)
	_, byRef := recordOf(t, store)
	if got := string(byRef["load/cpu-loop"].Out); !strings.HasPrefix(got, begun) {
		t.Errorf("load printed %q, the killed process had read %q: it was started again", got, begun)
	}
	if notes := strings.Join(rec.Meta.Notes, "\n"); !strings.Contains(notes, "picked up the running load") {
		t.Errorf("notes %q", notes)
	}
}

func waitFor(t *testing.T, file string) string {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		if b, _ := os.ReadFile(file); len(b) > 0 {
			return string(b)
		}
		if time.Now().After(deadline) {
			t.Fatal("the load does not begin")
		}
		<-time.After(50 * time.Millisecond)
	}
}

// TestBurnChild is the process that TestPickUpAfterKill kills.
func TestBurnChild(t *testing.T) {
	dir := os.Getenv("BURN_STORE")
	if dir == "" {
		t.Skip("run by TestPickUpAfterKill only")
	}
	store, err := burnin.OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	d, err := time.ParseDuration(os.Getenv("BURN_FOR"))
	if err != nil {
		t.Fatal(err)
	}
	t.Fatal("not killed: ", burnin.Burn(t.Context(), burnOptions(Local{}, store, os.Getenv("BURN_ROOT"), d)))
}

// TestInterruptLeavesNothing: an interrupted burn-in takes its load down; detached,
// it leaves the load to the next process.
func TestInterruptLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, why := range []error{errors.New("interrupted"), burnin.ErrDetach} {
		t.Run(why.Error(), func(t *testing.T) {
			store, root := newStore(t), filepath.Join(t.TempDir(), "rackproof")
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- burnin.Burn(ctx, burnOptions(Local{}, store, root, 10*time.Second)) }()
			waitFor(t, filepath.Join(store.Dir(), "load", ".stream", "units+cpu-loop+out"))
			cancel(why)
			if err := <-ended; !errors.Is(err, why) {
				t.Fatalf("error %v, want %v", err, why)
			}
			_, err := os.Stat(root)
			if detached := errors.Is(why, burnin.ErrDetach); detached != (err == nil) {
				t.Errorf("folder on the node: %v", err)
			}
			if err := burnin.Burn(t.Context(), burnOptions(Local{}, store, root, 10*time.Second)); err != nil {
				t.Fatal(err)
			}
			whole(t, store, root)
		})
	}
}

// endsAfter is a shell whose user is gone once a command with word in it has run.
type endsAfter struct {
	burnin.Shell
	word string
	gone func()
}

func (e endsAfter) Run(ctx context.Context, c burnin.Command) (burnin.Output, error) {
	out, err := e.Shell.Run(ctx, c)
	if strings.Contains(c.Line, e.word) {
		e.gone()
		<-ctx.Done()
		return out, context.Cause(ctx)
	}
	return out, err
}

// TestGoneAtTheEndOfALoad: the load had run its time and the node was told so, but
// nothing of it was stored. It is fetched, not run a second time.
func TestGoneAtTheEndOfALoad(t *testing.T) {
	t.Parallel()
	store, root := newStore(t), filepath.Join(t.TempDir(), "rackproof")
	begun := filepath.Join(t.TempDir(), "begun")
	options := func(sh burnin.Shell) burnin.BurnOptions {
		o := burnOptions(sh, store, root, 6*time.Second)
		o.Loads[1].Command = func(p *profiles.Profile, d time.Duration) string {
			return "echo x >>" + begun + "; " + spin(p, d)
		}
		return o
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	dying := endsAfter{Shell: Local{}, word: "side.sh\" stop", gone: func() { cancel(burnin.ErrDetach) }}
	if err := burnin.Burn(ctx, options(dying)); !errors.Is(err, burnin.ErrDetach) {
		t.Fatalf("error %v, want %v", err, burnin.ErrDetach)
	}
	if store.Has(burnin.PhaseLoad, "loads") {
		t.Fatal("the phase is stored already: this proves nothing")
	}
	if err := burnin.Burn(t.Context(), options(Local{})); err != nil {
		t.Fatal(err)
	}
	whole(t, store, root)
	if b, err := os.ReadFile(begun); err != nil || string(b) != "x\n" {
		t.Errorf("the load began %d times (%v), want once", strings.Count(string(b), "x"), err)
	}
}

// TestOtherBoot: what was measured before a reboot is measured again.
func TestOtherBoot(t *testing.T) {
	t.Parallel()
	store, root := newStore(t), filepath.Join(t.TempDir(), "rackproof")
	o := burnOptions(Local{}, store, root, 3*time.Second)
	if err := burnin.Burn(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	first, _ := recordOf(t, store)
	if err := store.SetMachine(burnin.Machine{Name: "bench", BootID: "another"}); err != nil {
		t.Fatal(err)
	}
	if err := burnin.Burn(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	second := whole(t, store, root)
	for i, e := range second.Evidence {
		if !e.Started.After(first.Evidence[i].Started) {
			t.Errorf("%s was not measured again", e.Ref())
		}
	}
}

// TestHaltedSoak: a load that a person stopped is kept as a span of its own, and the hours
// go on in the next one, on a real host.
func TestHaltedSoak(t *testing.T) {
	t.Parallel()
	store, root := newStore(t), filepath.Join(t.TempDir(), "rackproof")
	o := burnOptions(Local{}, store, root, 6*time.Second)
	o.Soak = profiles.Soak{Hours: o.Duration.Hours(), Mode: profiles.Accumulated, Pauses: 1}
	ended := make(chan error, 1)
	go func() { ended <- burnin.Burn(t.Context(), o) }()
	waitFor(t, filepath.Join(store.Dir(), "load", ".stream", "samples+sample-pci-sysfs"))
	began := time.Now()
	if _, err := burnin.HaltNode(t.Context(), Local{}, root, "r1"); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the stop took %s", took)
	}
	if err := <-ended; !errors.Is(err, burnin.ErrStopped) {
		t.Fatalf("error %v, want that it was stopped", err)
	}
	if err := burnin.Burn(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	rec := whole(t, store, root)
	spans := rec.Meta.Spans
	if len(spans) != 2 || spans[0].EndedBy != burnin.SpanStop || spans[0].Folder != "span-01" || spans[1].EndedBy != burnin.SpanDone {
		t.Fatalf("spans %+v", spans)
	}
	var samples int
	for _, e := range rec.Earlier {
		if e.Ref() == "span-01/load/pci-sysfs" {
			samples = len(e.Samples)
		}
		if e.Ref() == "span-01/load/cpu-loop" && (e.Ended != burnin.EndedSignal || !strings.Contains(string(e.Out), "begun")) {
			t.Errorf("the load that was stopped: %s, %q", e.Ended, e.Out)
		}
	}
	if samples == 0 {
		t.Error("the samples of the first span are lost")
	}
}
