package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rackproof/rackproof/provision/simrack"
)

// inMounts says that this process is the test in a mount namespace of its own.
const inMounts = "RACKPROOF_TEST_MOUNTS"

// ownMounts runs the test again in a process whose mounts nobody else sees, and reports
// whether this is that process.
func ownMounts(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inMounts) != "" {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v", "-test.parallel", "6", "-test.timeout", "40m")
	cmd.Env = append(os.Environ(), inMounts+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		t.Logf("%s", out)
	case cmd.ProcessState == nil && os.Getenv("CI") == "":
		t.Skipf("mounts of its own need root: %v", err)
	default:
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// mount gives a run a disk of its own for its state, of so many bytes (0 = as many as
// there are); it can be changed with options of mount(8).
func (k *killRun) mount(flags uintptr, bytes uint64) {
	k.t.Helper()
	if flags&syscall.MS_REMOUNT == 0 {
		if err := os.MkdirAll(k.state(), 0o700); err != nil {
			k.t.Fatal(err)
		}
		k.t.Cleanup(func() { _ = syscall.Unmount(k.state(), 0) })
	}
	if err := syscall.Mount("rackproof", k.state(), "tmpfs", flags, fmt.Sprintf("mode=0700,size=%d", bytes)); err != nil {
		k.t.Fatal(err)
	}
}

const plenty = 256 << 20

// newDiskRun is a run of a machine that passes and one that must not.
func newDiskRun(t *testing.T, seed uint64) *killRun {
	t.Helper()
	return newRackRun(t, simrack.Options{Seed: 300 + seed, Machines: []simrack.MachineSpec{
		{Name: "good"}, {Name: "narrow", Fault: "gpu-x8"},
	}})
}

// troubled checks that the last life ended as rackproof's own failure, with words and
// what to do.
func (k *killRun) troubled(code int, what, do string) {
	k.t.Helper()
	if said := string(k.output); code != exitFailed || !strings.Contains(said, what) || !strings.Contains(said, do) {
		k.t.Errorf("exit %d, want %d with %q and %q\n%s", code, exitFailed, what, do, said)
	}
}

// acted takes loads out of an outcome: what one measured while the disk was full is not
// there, and it is measured again.
func acted(o outcome) outcome {
	for _, of := range o.acts {
		maps.DeleteFunc(of, func(act string, _ int) bool { return strings.HasPrefix(act, "host.load.") })
	}
	return o
}

// The disk of the state folder fills at 16 places of a run in turn: each time a clear
// error that blames no machine, and with space the run goes on to the results of one
// that had it, and does nothing twice.
func TestDiskFull(t *testing.T) {
	if !ownMounts(t) {
		return
	}
	alone := newDiskRun(t, 0)
	alone.mount(0, plenty)
	if code := alone.rackproof(0); code != exitHardware {
		t.Fatalf("undisturbed: exit %d, want %d\n%s", code, exitHardware, alone.output)
	}
	want := acted(alone.outcome())
	var disk syscall.Statfs_t
	if err := syscall.Statfs(alone.state(), &disk); err != nil {
		t.Fatal(err)
	}
	page := uint64(disk.Bsize)
	used := (disk.Blocks - disk.Bfree) * page
	const points = 16
	for i := range uint64(points) {
		t.Run(fmt.Sprintf("full%02d", i), func(t *testing.T) {
			t.Parallel()
			k := newDiskRun(t, i+1)
			k.mount(0, max(used*i/points, page))
			k.troubled(k.rackproof(0), "the disk is full", "free space")
			k.mount(syscall.MS_REMOUNT, plenty)
			if code := k.rackproof(0); code != exitHardware {
				t.Fatalf("with space: exit %d, want %d\n%s", code, exitHardware, k.output)
			}
			k.whole()
			k.asWith(want)
		})
	}
	t.Logf("measured: a run of two machines writes %d KiB, full at %d places of it", used>>10, points)
}

// asWith compares what a run that had no space for a time came to with what it does with space.
func (k *killRun) asWith(want outcome) {
	k.t.Helper()
	got := acted(k.outcome())
	if !maps.Equal(got.results, want.results) {
		k.t.Errorf("other results than undisturbed:\n%s", difference(want.results, got.results))
	}
	for machine, acts := range got.acts {
		if !maps.Equal(acts, want.acts[machine]) {
			k.t.Errorf("%s: acts %v, undisturbed %v", machine, acts, want.acts[machine])
		}
	}
}

// The disk is full again and again, from the first write of a run to its last: each life gets
// a few pages more than the one before had, and more of them the longer no step has ended:
// what an interrupted load measured is kept as evidence, and its next life needs room beside
// it. Each ends with a clear error, leaves the journal and the evidence sound and takes no
// result back; the last one comes to what a run with space comes to.
func TestDiskFullAtEveryWrite(t *testing.T) {
	if os.Getenv("RACKPROOF_PROVE") == "" {
		t.Skip("hundreds of lives take minutes: RACKPROOF_PROVE=1 runs it")
	}
	if !ownMounts(t) {
		return
	}
	alone := newDiskRun(t, 30)
	if code := alone.rackproof(0); code != exitHardware {
		t.Fatalf("undisturbed: exit %d, want %d\n%s", code, exitHardware, alone.output)
	}
	k, pages := newDiskRun(t, 31), rand.New(rand.NewPCG(killSeed(t), 31))
	seen, size, fills := witness{killRun: k}, uint64(0), 0
	flags := uintptr(0)
	for ; size < plenty && !t.Failed(); fills++ {
		size += uint64(os.Getpagesize() * (1 + pages.IntN(16)) * (1 + seen.still/2))
		k.mount(flags, size)
		flags = syscall.MS_REMOUNT
		code := k.rackproof(0)
		if code == exitHardware {
			break
		}
		k.troubled(code, "the disk is full", "free space")
		seen.look(fills%10 == 0)
		t.Logf("full at %d KiB: %s", size>>10, seen.stand())
	}
	k.whole()
	k.asWith(acted(alone.outcome()))
	t.Logf("measured: full %d times on the way to %d KiB", fills, size>>10)
}

// A state folder that became read-only is said to be so; nothing of the run is lost.
func TestDiskReadOnly(t *testing.T) {
	if !ownMounts(t) {
		return
	}
	k := newDiskRun(t, 20)
	k.mount(0, plenty)
	if code := k.rackproof(4 * time.Second); code != -1 {
		t.Fatalf("exit %d before it was killed\n%s", code, k.output)
	}
	k.mount(syscall.MS_REMOUNT|syscall.MS_RDONLY, plenty)
	k.troubled(k.rackproof(0), "read-only", "--state DIR")
	k.mount(syscall.MS_REMOUNT, plenty)
	if code := k.rackproof(0); code != exitHardware {
		t.Errorf("carried on: exit %d, want %d\n%s", code, exitHardware, k.output)
	}
	k.whole()
}
