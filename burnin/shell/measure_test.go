package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

// measuring puts two loads that measure alone before the others. Each notes in a file of
// its own that it began, and prints when it began and ended.
func measuring(o burnin.BurnOptions, dir string, seconds int) burnin.BurnOptions {
	var alone []burnin.Load
	for _, name := range []string{"first", "second"} {
		alone = append(alone, burnin.Load{
			Name: name, Busy: []burnin.Class{burnin.ClassCPU}, Alone: time.Minute,
			Command: func(_ *profiles.Profile, d time.Duration) string {
				return fmt.Sprintf("echo begun %.0f >>%s/%s; date +%%s%%N; sleep %d; date +%%s%%N", d.Seconds(), dir, name, seconds)
			},
		})
	}
	alone = append(alone, burnin.Load{Name: "absent", Busy: []burnin.Class{burnin.ClassCPU}, Alone: time.Minute, Tool: "no-such-tool", Command: spin})
	o.Loads = append(alone, o.Loads...)
	return o
}

// inOrder checks that what measures ran once, one after the other, and before the load.
func inOrder(t *testing.T, store *burnin.Store, dir string) {
	t.Helper()
	_, byRef := recordOf(t, store)
	last := int64(0)
	for _, name := range []string{"first", "second"} {
		e := byRef["load/"+name]
		if e == nil || e.Ended != burnin.EndedExit || e.Exit == nil || *e.Exit != 0 {
			t.Fatalf("%s: %+v", name, e)
		}
		words := strings.Fields(string(e.Out))
		if len(words) != 2 {
			t.Fatalf("%s printed %q", name, e.Out)
		}
		began, err1 := strconv.ParseInt(words[0], 10, 64)
		ended, err2 := strconv.ParseInt(words[1], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if began < last {
			t.Errorf("%s began %d ns before the one before it ended", name, last-began)
		}
		last = ended
		if b, err := os.ReadFile(filepath.Join(dir, name)); string(b) != "begun 60\n" {
			t.Errorf("%s began: %q, %v", name, b, err)
		}
	}
	load, err := time.Parse(time.RFC3339, byRef["load/cpu-loop"].NodeClock)
	if err != nil || load.Unix() < last/int64(time.Second) {
		t.Errorf("the load began at %s, before the measuring ended: %v", load, err)
	}
	if sample := byRef["load/pci-sysfs"].Samples[0]; sample.At.UnixNano() < last-int64(time.Second) {
		t.Errorf("the first sample is of %s, while something measured alone", sample.At)
	}
	if e := byRef["load/absent"]; e == nil || e.Ended != burnin.EndedNoTool {
		t.Errorf("a tool that is not there: %+v", e)
	}
}

func TestMeasuresAlone(t *testing.T) {
	t.Parallel()
	store, dir := newStore(t), t.TempDir()
	root := filepath.Join(dir, "rackproof")
	if err := burnin.Burn(t.Context(), measuring(burnOptions(Local{}, store, root, 6*time.Second), dir, 1)); err != nil {
		t.Fatal(err)
	}
	whole(t, store, root)
	inOrder(t, store, dir)
}

// A process that goes away while something measures leaves it running, and the next one
// goes on with it; a stop ends it, and all begins again.
func TestMeasuringPickedUp(t *testing.T) {
	t.Parallel()
	store, dir := newStore(t), t.TempDir()
	root := filepath.Join(dir, "rackproof")
	o := measuring(burnOptions(Local{}, store, root, 6*time.Second), dir, 4)
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- burnin.Burn(ctx, o) }()
	waitFor(t, filepath.Join(store.Dir(), "load", ".stream", "units+first+out"))
	cancel(burnin.ErrDetach)
	if err := <-ended; !errors.Is(err, burnin.ErrDetach) {
		t.Fatal(err)
	}
	if err := burnin.Burn(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	whole(t, store, root)
	inOrder(t, store, dir)
}

func TestMeasuringStopped(t *testing.T) {
	t.Parallel()
	store, dir := newStore(t), t.TempDir()
	root := filepath.Join(dir, "rackproof")
	o := measuring(burnOptions(Local{}, store, root, 6*time.Second), dir, 20)
	ended := make(chan error, 1)
	go func() { ended <- burnin.Burn(t.Context(), o) }()
	waitFor(t, filepath.Join(store.Dir(), "load", ".stream", "units+first+out"))
	if _, err := burnin.HaltNode(t.Context(), Local{}, root, "r1"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, burnin.ErrStopped) {
		t.Fatalf("error %v, want that it was stopped", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "second")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the next one was started after the stop: %v", err)
	}
}
