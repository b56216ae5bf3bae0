package provision

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// holdVariable makes this test binary another rackproof, with a state folder of its own: it
// leases a BMC until its standard input ends.
const holdVariable = "RACKPROOF_TEST_HOLD"

func TestHoldLease(t *testing.T) {
	dirs := strings.Split(os.Getenv(holdVariable), ":")
	if len(dirs) != 2 {
		t.Skip("the other process of TestLeaseAmongStateFolders")
	}
	lease, err := LeaseBMC(dirs[0], dirs[1], "theirs", Machine{Name: "r1u01", BMC: "192.0.2.7"})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("held") //nolint:forbidigo // to the test that started this process
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
}

// holds starts another rackproof that has a BMC; it gives it back when stdin is closed.
func holds(t *testing.T, theirs, host string, prepare func(*exec.Cmd)) (cmd *exec.Cmd, stdin io.Closer) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHoldLease$", "-test.v")
	cmd.Env = append(os.Environ(), holdVariable+"="+theirs+":"+host)
	prepare(cmd)
	stdin, errIn := cmd.StdinPipe()
	stdout, errOut := cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && lines.Text() != "held" {
	}
	return cmd, stdin
}

// Two processes with two state folders do not drive one BMC; the one that comes later says
// who has it. The kernel gives it back when its process is killed.
func TestLeaseAmongStateFolders(t *testing.T) {
	host := filepath.Join(t.TempDir(), "host")
	theirs := t.TempDir()
	cmd, stdin := holds(t, theirs, host, func(*exec.Cmd) {})
	defer func() { _ = stdin.Close() }()
	m := Machine{Name: "m1", BMC: "192.0.2.7:443"}
	state := t.TempDir()
	_, err := LeaseBMC(state, host, "ours", m)
	var held *HeldError
	want := fmt.Sprintf("pid %d ", cmd.Process.Pid)
	if !errors.As(err, &held) || !strings.HasPrefix(held.Holder, want) || !strings.Contains(held.Holder, "run theirs, machine r1u01, by "+Operator()+" with state folder "+theirs) {
		t.Fatalf("two rackproofs at one BMC: %v", err)
	}
	if alone, err := LeaseBMC(state, "", "ours", m); err != nil { // what was refused holds nothing
		t.Errorf("the state folder's own lease is kept: %v", err)
	} else if err := alone.Release(); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for range 2 {
		lease, err := LeaseBMC(state, host, "ours", m)
		if err != nil {
			t.Fatalf("behind the death of the other: %v", err)
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	info, err := os.Stat(host)
	if err != nil || !openToAll(info) {
		t.Errorf("folder %v, %v; want it open to all users", info.Mode(), err)
	}
	files, _ := os.ReadDir(host)
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o666 {
			t.Errorf("%s has mode %v, %v: another user cannot lock it", f.Name(), info.Mode(), err)
		}
	}
}

// What another user puts into the folder opens nothing outside it, and is no lease.
func TestHostLockOutsideItsFolder(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(outside, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, hostLockName("BMC 192.0.2.7"))
	for name, plant := range map[string]func() error{
		"a link":   func() error { return os.Symlink(outside, at) },
		"a folder": func() error { return os.Mkdir(at, 0o700) },
	} {
		if err := plant(); err != nil {
			t.Fatal(err)
		}
		if _, err := takeHostLease(dir, "BMC 192.0.2.7", "ours"); err == nil || !strings.Contains(err.Error(), "must be a folder with mode 1777") {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(at); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != "precious" {
		t.Errorf("a file outside was written: %q, %v", b, err)
	}
	if _, err := takeHostLease(outside, "BMC 192.0.2.7", "ours"); err == nil {
		t.Error("a file is taken for a folder")
	}
}

// What a holder wrote is printed without what moves a terminal.
func TestHolderIsPlain(t *testing.T) {
	if got := plainWords("pid 1\x1b[2J on a\nb\x00"); got != "pid 1 [2J on a b" {
		t.Errorf("%q", got)
	}
}
