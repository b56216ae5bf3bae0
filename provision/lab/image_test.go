package lab

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPlannedPackages(t *testing.T) {
	plan := "Inst libc6 (2.36-9 Debian:12.15/oldstable [amd64]) []\nConf libc6 (2.36-9 Debian:12.15/oldstable [amd64])\n" +
		"Inst ssh (1:9.2p1-2 Debian:12.15/oldstable, Debian-Security:12/oldstable-security [all])\n"
	got := plannedPackages(plan)
	want := []debPackage{{"libc6", "2.36-9", "amd64"}, {"ssh", "1:9.2p1-2", "all"}}
	if !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if f := got[1].file(); f != "ssh_1%3a9.2p1-2_all.deb" {
		t.Errorf("file %q", f)
	}
}

func TestUsrPath(t *testing.T) {
	for name, want := range map[string]string{
		"bin/sh": "usr/bin/sh", "lib64/ld.so": "usr/lib64/ld.so", "usr/bin/awk": "usr/bin/awk", "library/x": "library/x", "boot/vmlinuz": "boot/vmlinuz",
	} {
		if got := usrPath(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestModuleFiles asks for a module with two others below it, and for one that is
// built into the kernel.
func TestModuleFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "m/modules.dep", "kernel/fs/fat/vfat.ko.xz: kernel/fs/fat/fat.ko.xz kernel/nls.ko.xz\nkernel/fs/fat/fat.ko.xz: kernel/nls.ko.xz\nkernel/nls.ko.xz:\nkernel/other-one.ko.xz:\n")
	write(t, dir, "m/modules.builtin", "kernel/net/af-packet.ko\n")
	root := openRoot(t, dir)
	got, err := moduleFiles(root, "m", []string{"vfat", "af_packet"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"m/kernel/fs/fat/fat.ko.xz", "m/kernel/fs/fat/vfat.ko.xz", "m/kernel/nls.ko.xz"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if _, err := moduleFiles(root, "m", []string{"nvme"}); err == nil || !strings.Contains(err.Error(), "no module nvme") {
		t.Errorf("a module that is not there: %v", err)
	}
}

// TestTreeOfALink follows a link within the packages, and refuses one to nothing.
func TestTreeOfALink(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "usr/bin/tool", "#!/bin/sh\n")
	for name, target := range map[string]string{"usr/bin/alias": "tool", "usr/bin/dead": "/nowhere"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	tr := newTree(openRoot(t, dir))
	if err := tr.add("bin/alias"); err != nil {
		t.Fatal(err)
	}
	if e := tr.entries["usr/bin/alias"]; e.link != "tool" || tr.entries["usr/bin/tool"].from == "" || !tr.entries["usr/bin"].mode.IsDir() {
		t.Errorf("entries %v", tr.entries)
	}
	if err := tr.add("usr/bin/dead"); err == nil {
		t.Error("a link to nothing is taken")
	}
}

// TestCpioIsReadByOthers unpacks the archive with the program of that name.
func TestCpioIsReadByOthers(t *testing.T) {
	if _, err := exec.LookPath("cpio"); err != nil {
		t.Skip("no cpio here to read it")
	}
	tr := newTree(openRoot(t, t.TempDir()))
	tr.put("etc/a", treeEntry{mode: 0o640, data: []byte("odd")})
	tr.put("etc/b", treeEntry{mode: fs.ModeSymlink | 0o777, link: "a"})
	tr.folder("tmp", fs.ModeSticky|0o777)
	var out bytes.Buffer
	size, err := tr.write(&out)
	if err != nil || size != int64(out.Len()) {
		t.Fatalf("size %d of %d, %v", size, out.Len(), err)
	}
	cmd := exec.CommandContext(t.Context(), "cpio", "-tv", "--quiet")
	cmd.Stdin = &out
	listing, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, listing)
	}
	for _, want := range []string{"drwxr-xr-x   2 root     root            0 Jan  1  1970 etc", "-rw-r-----   1 root     root            3 Jan  1  1970 etc/a", "etc/b -> a", "drwxrwxrwt"} {
		if !strings.Contains(string(listing), want) {
			t.Errorf("%q is not in\n%s", want, listing)
		}
	}
}

// TestKilledMakerLeavesNoImage: a folder that came there without its last file is
// none.
func TestKilledMakerLeavesNoImage(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, imageInitrd, "half")
	if isImage(dir) {
		t.Error("half an image is taken for one")
	}
	write(t, dir, imageManifest, "{}")
	if !isImage(dir) {
		t.Error("a whole one is not")
	}
}

// TestOneBuilderAtATime: the second waits, and gives up when it is told to.
func TestOneBuilderAtATime(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lockCache(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := lockCache(short, dir); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while another builds: %v", err)
	}
	unlock()
	unlock, err = lockCache(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func openRoot(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}
