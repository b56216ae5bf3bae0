package burnin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestForeignRunIsRefused(t *testing.T) {
	c := claim(t, "po4711-r12")
	f := acquired(t, c)
	other := Claim{Run: "other", Attempt: 1, Owner: "tech@desk", Root: c.Root}
	_, err := acquire(t.Context(), hostShell{}, other)
	var held *HeldError
	if !errors.As(err, &held) {
		t.Fatalf("error %v, want a HeldError", err)
	}
	if !strings.HasSuffix(held.Error(), "Wait for it, or ask them.") {
		t.Error(held)
	}
	if held.Owner != "tech@laptop" || held.Run != "po4711-r12" || held.Busy || held.Silent > time.Minute {
		t.Errorf("held by %+v", held)
	}
	if _, err := ReleaseNode(t.Context(), hostShell{}, c.Root, "other"); !errors.As(err, &held) {
		t.Errorf("a live run was released: %v", err)
	}
	// The same run picks it up, in another process or not.
	if same := acquired(t, c); !same.again || same.id != f.id {
		t.Errorf("the same run got %+v", same)
	}
	// A later attempt of the run takes over.
	c.Attempt = 2
	if next := acquired(t, c); next.again || next.id == f.id {
		t.Errorf("the next attempt got %+v", next)
	}
	if err := os.WriteFile(filepath.Join(c.Root, "po4711-r12-2", "beat"), []byte("-99999\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := acquire(t.Context(), hostShell{}, other); err == nil || !strings.HasSuffix(err.Error(), "free the node with `rackproof burnin --release`, then start again.") {
		t.Errorf("a dead run holds the node: %v", err)
	}
	freed, err := ReleaseNode(t.Context(), hostShell{}, c.Root, "other")
	if err != nil || freed != "run po4711-r12 of tech@laptop" {
		t.Errorf("release of a dead run: %q, %v", freed, err)
	}
	if _, err := f.poll(t.Context(), nil); !errors.Is(err, errNoFolder) {
		t.Errorf("poll of a released folder: %v", err)
	}
}

// TestManyTakeTheNode: of several runs at the same moment exactly one gets it.
func TestManyTakeTheNode(t *testing.T) {
	c := claim(t, "r0")
	results := make(chan error, 4)
	for i := range 4 {
		go func() {
			_, err := acquire(t.Context(), hostShell{}, Claim{Run: fmt.Sprint("r", i), Attempt: 1, Owner: "o", Root: c.Root})
			results <- err
		}()
	}
	won := 0
	for range 4 {
		var held *HeldError
		switch err := <-results; {
		case err == nil:
			won++
		case !errors.As(err, &held):
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d runs got the node", won)
	}
	for i := range 4 {
		_, _ = ReleaseNode(t.Context(), hostShell{}, c.Root, fmt.Sprint("r", i))
	}
}

// TestCalledTwiceAtOnce: a call whose client was killed may still be at work when
// the next process of the run comes.
func TestCalledTwiceAtOnce(t *testing.T) {
	c := claim(t, "r1")
	folders := make(chan *nodeFolder, 4)
	for range cap(folders) {
		go func() {
			f, err := acquire(t.Context(), hostShell{}, c)
			if err != nil {
				t.Error(err)
			}
			folders <- f
		}()
	}
	ids, fresh := map[string]bool{}, 0
	for range cap(folders) {
		if f := <-folders; f != nil {
			ids[f.id] = true
			if !f.again {
				fresh++
			}
		}
	}
	if len(ids) != 1 || fresh != 1 {
		t.Errorf("%d folders, %d of them new; want one: %v", len(ids), fresh, ids)
	}
}
