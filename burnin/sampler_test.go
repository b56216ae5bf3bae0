package burnin

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSamplerEndsWithItsFolder: whoever removes the folder by hand is rid of all.
func TestSamplerEndsWithItsFolder(t *testing.T) {
	f := acquired(t, claim(t, "r1"))
	if err := f.start(t.Context(), "sample-os", "sample", "echo it", time.Minute); err != nil {
		t.Fatal(err)
	}
	f.until(t, "a sample", nil, func(r *report) bool { return content(r, "samples/sample-os") != "" })
	pid, err := os.ReadFile(filepath.Join(f.dir, "units", "sample-os", "pid"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(f.dir); err != nil {
		t.Fatal(err)
	}
	stat := filepath.Join("/proc", strings.Fields(string(pid))[0], "stat")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		if _, err := os.Stat(stat); errors.Is(err, fs.ErrNotExist) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal("the sampler goes on without its folder")
		case <-time.After(100 * time.Millisecond):
		}
	}
}
