package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/lab"
)

// TestWipe erases one of two NVMe drives that hold data, by a process that is killed while it
// does, and the next one: the drive's own command is given once, nothing of the data is left on it, and the
// other drive is as it was.
func TestWipe(t *testing.T) {
	if os.Getenv("RACKPROOF_PROVE") == "" {
		t.Skip("drives that are files are erased in every test of burnin; make prove erases those of a machine")
	}
	r := newRig(t, "--firmware", "uefi")
	file := r.batch(lab.BatchOptions{Name: "wiped", Protocol: provision.OverRedfish, Load: "5 s"})
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	said := strings.NewReplacer("spec: lab", "spec: erasure\nworkflow: wipe", "{name: lab1,", "{name: lab1, wipe: {disks: [NVME10], level: clear},").Replace(string(text))
	if err := os.WriteFile(file, []byte(said), 0o600); err != nil {
		t.Fatal(err)
	}
	const secret = "what a customer keeps"
	dir := r.status.Machines[0].Dir
	for _, disk := range []string{"nvme0.img", "nvme1.img"} {
		plantData(t, filepath.Join(dir, disk), secret)
	}
	cmd := r.rackproof(file, "--erase-disks", "1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ended := r.start(cmd)
	until(t, bootLimit, "it is being erased", func() bool {
		if isOver(ended) {
			t.Fatalf("rackproof ended before it was killed: %s%s", stdout.String(), stderr.String())
		}
		return strings.Contains(stderr.String(), "erases 1 disk")
	})
	kill(t, cmd, ended)
	o := r.run(file, "--erase-disks", "1")
	j := o.machines["lab1"]
	if o.code != 0 || j.Result != burnin.Passed {
		t.Errorf("exit %d, %s: %s\n%s", o.code, j.Result, told(j), o.stderr)
	}
	if e := j.Erasures; e == nil || len(e.Disks) != 1 || e.Disks[0].Serial != "NVME10" || e.Disks[0].Level != burnin.WipeClear || e.Disks[0].Method != "NVMe Format, user data erase" {
		t.Errorf("certificate %+v", e)
	}
	out, err := os.ReadFile(filepath.Join(provision.AttemptDir(r.state, "wiped", "lab1", 1), "after", "wipe@NVME10.out"))
	if err != nil || strings.Count(string(out), "#wipe begun") != 1 {
		t.Errorf("begun more than once, or not at all: %v\n%s", err, out)
	}
	if found := holds(t, filepath.Join(dir, "nvme0.img"), secret); found {
		t.Error("the data is still on the drive that was erased")
	}
	if found := holds(t, filepath.Join(dir, "nvme1.img"), secret); !found {
		t.Error("the data is gone from the drive that was not named")
	}
	if n := len(slices.DeleteFunc(r.chassis("lab1"), func(s string) bool { return !isPowerOn(s) })); n != 1 {
		t.Errorf("it was started %d times, want once", n)
	}
}

// plantData writes text into a drive at many places.
func plantData(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	for at := int64(0); err == nil && at < info.Size(); at += 37 << 20 {
		_, err = f.WriteAt([]byte(text), at)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// holds reports whether text is anywhere on a drive.
func holds(t *testing.T, path, text string) bool {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	b := make([]byte, 4<<20+len(text))
	kept := 0
	for {
		n, err := f.Read(b[kept : kept+4<<20])
		if bytes.Contains(b[:kept+n], []byte(text)) {
			return true
		}
		if errors.Is(err, io.EOF) {
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
		kept = copy(b, b[max(0, kept+n-len(text)):kept+n])
	}
}
