package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
)

// ran is what one command line printed and ended with.
type ran struct {
	code     int
	out, err string
}

func runMain(ctx context.Context, t *testing.T, args ...string) ran {
	t.Helper()
	var out, errs bytes.Buffer
	code := Main(ctx, append([]string{"--state", filepath.Join(t.TempDir(), "state")}, args...), strings.NewReader(""), &out, &errs)
	return ran{code, out.String(), errs.String()}
}

func TestBadInputContactsNothing(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "thesis.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args string
		says string
	}{
		{"burnin", "name one machine"},
		{"burnin --local -H a@b", "name one machine"},
		{"burnin --local --profile l40s9", `unknown profile "l40s9", did you mean "l40s-8"?`},
		{"burnin --local --spec standrad", "standard"},
		{"burnin --local --only gpus", "did you mean gpu?"},
		{"burnin --local --duration -5m", "is negative"},
		{"burnin --local --profile l40s-8 --out " + full, "holds other files (thesis.txt …)"},
		{"burnin -H 127.0.0.1:1 --profile l40s-8 --key /nonexistent/key", "/nonexistent/key"},
		{"burnin -H 127.0.0.1:1 --host-key nokey", "--host-key nokey"},
		{"burnin -H 127.0.0.1:no --profile l40s-8", `port "no"`},
		{"capture --local", "no folder for the evidence"},
		{"capture --script --local", "were all set"},
		{"judge", "either a folder or tarball, or --probe"},
		{"judge " + full, "not an evidence folder"},
		{"judge /nonexistent", "/nonexistent"},
		{"judge --probe nvidia-smi", "want [before/|load/|after/]NAME"},
		{"judge --probe nvidia-sm=/dev/null", "did you mean nvidia-smi?"},
		{"judge --probe os=/dev/null", "holds no profile"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			got := runMain(t.Context(), t, strings.Fields(tt.args)...)
			if got.code != exitUsage || !strings.Contains(got.err, tt.says) || got.out != "" {
				t.Errorf("exit %d, out %q, err %q; want exit 2 that says %q", got.code, got.out, got.err, tt.says)
			}
		})
	}
}

func TestUnreachableIsNotFinished(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	got := runMain(t.Context(), t, "burnin", "-H", addr, "--profile", "l40s-8", "--ssh-config", "none", "--json")
	var said struct {
		Error struct{ Code, Machine, Message string } `json:"error"`
	}
	if err := json.Unmarshal([]byte(got.out), &said); err != nil {
		t.Fatalf("%v: %q", err, got.out)
	}
	if got.code != exitNotFinished || said.Error.Code != "unreachable" || said.Error.Machine != "127.0.0.1" || !strings.Contains(said.Error.Message, "may still be booting") {
		t.Errorf("exit %d, %+v", got.code, said.Error)
	}
}

// openSSH starts Debian's sshd on loopback and returns the flags that reach it.
func openSSH(t *testing.T) []string {
	t.Helper()
	for _, f := range []string{"/usr/sbin/sshd", "/usr/bin/ssh-keygen", "/usr/bin/setsid"} {
		if _, err := os.Stat(f); err != nil {
			t.Skip("needs OpenSSH on Linux: ", err)
		}
	}
	if os.Geteuid() == 0 { // stays: tests of another package may have a server running
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	for _, key := range []string{"host", "user"} {
		if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	_ = l.Close()
	config := fmt.Sprintf("ListenAddress 127.0.0.1\nPort %s\nHostKey %[2]s/host\nAuthorizedKeysFile %[2]s/user.pub\nUsePAM no\nStrictModes no\nPidFile none\nPermitRootLogin yes\n", port, dir)
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	sshd := exec.CommandContext(t.Context(), "/usr/sbin/sshd", "-D", "-f", filepath.Join(dir, "config"))
	if err := sshd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sshd.Process.Kill(); _ = sshd.Wait() })
	for deadline := time.Now().Add(patience); ; {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-time.After(20 * time.Millisecond)
	}
	return []string{"-H", addr, "--key", filepath.Join(dir, "user"), "--host-key", filepath.Join(dir, "host.pub"), "--ssh-config", "none"}
}

// TestBurninOverSSH burns this machine in over a real OpenSSH server. It has no
// GPU, so under a GPU profile it fails by what was measured and never passes.
func TestBurninOverSSH(t *testing.T) {
	reach := openSSH(t)
	out := filepath.Join(t.TempDir(), "o")
	args := append([]string{"burnin", "--profile", "hgx-h100-8", "--duration", "4s", "--out", out, "--json"}, reach...)
	got := runMain(t.Context(), t, args...)
	var j burnin.Judgement
	if err := json.Unmarshal([]byte(got.out), &j); err != nil {
		t.Fatalf("%v: %q, %q", err, got.out, got.err)
	}
	if got.code != exitHardware || j.Result != burnin.Failed {
		t.Errorf("exit %d, result %s, want 3 and failed", got.code, j.Result)
	}
	if !strings.Contains(got.err, "Writes to no disk. Changes no setting. Leaves nothing.") {
		t.Errorf("no notice in %q", got.err)
	}
	count := -1.0
	for _, f := range j.Findings {
		if f.Check == "gpu.count" && f.Verdict == burnin.Fail {
			count, _ = f.Measured.(float64)
		}
	}
	if count != 0 {
		t.Errorf("gpu.count measured %v, want 0", count)
	}
	rec, err := burnin.LoadRecord(out)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range rec.Evidence {
		seen[e.Ref()] = true
		if e.Source != burnin.FromSSH {
			t.Errorf("%s came by %s", e.Ref(), e.Source)
		}
	}
	for _, ref := range []string{"before/pci-sysfs", "load/pci-sysfs", "after/pci-sysfs", "before/dmidecode", "before/block-devices", "load/loads"} {
		if !seen[ref] {
			t.Errorf("no %s in the evidence", ref)
		}
	}

	// Judged again elsewhere, from the folder: the same answer.
	again := runMain(t.Context(), t, "judge", "--json", out)
	if again.code != got.code || again.out != got.out {
		t.Errorf("judged again: exit %d, the same text: %v", again.code, again.out == got.out)
	}
	// The finished record is not gone over.
	if twice := runMain(t.Context(), t, args...); twice.code != exitUsage || !strings.Contains(twice.out, "finished record") {
		t.Errorf("again into the same folder: exit %d, %q", twice.code, twice.out)
	}
}

func TestCaptureAndJudge(t *testing.T) {
	reach := openSSH(t)
	out := filepath.Join(t.TempDir(), "o")
	if got := runMain(t.Context(), t, append([]string{"capture", "--out", out}, reach...)...); got.code != exitPassed || !strings.Contains(got.out, "pieces of evidence in "+out) {
		t.Fatalf("capture: exit %d, %q, %q", got.code, got.out, got.err)
	}
	if got := runMain(t.Context(), t, "judge", out); got.code != exitUsage || !strings.Contains(got.err, "holds no profile") {
		t.Errorf("judge without a profile: exit %d, %q", got.code, got.err)
	}
	if got := runMain(t.Context(), t, "judge", "--profile", "l40s-8", out); got.code != exitHardware || !strings.HasPrefix(got.out, "FAIL ") {
		t.Errorf("judge: exit %d, %q", got.code, got.out)
	}
	archive := filepath.Join(t.TempDir(), "m.tar.gz")
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	if err := burnin.Pack(out, f); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if got := runMain(t.Context(), t, "judge", "--profile", "l40s-8", archive); got.code != exitHardware {
		t.Errorf("judge of the tarball: exit %d, %q", got.code, got.err)
	}
}

// TestLooseFilesNeverPass: nothing was measured, so the answer is incomplete.
func TestLooseFilesNeverPass(t *testing.T) {
	file := filepath.Join(t.TempDir(), "os")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := runMain(t.Context(), t, "judge", "--profile", "hgx-h100-8", "--probe", "os="+file); got.code != exitIncomplete {
		t.Errorf("exit %d, %q, %q; want 4", got.code, got.out, got.err)
	}
}

// TestInterruptedBurnin: Ctrl-C takes the load down, and the same command goes on.
func TestInterruptedBurnin(t *testing.T) {
	if _, err := os.Stat("/usr/bin/setsid"); err != nil {
		t.Skip("needs setsid: ", err)
	}
	out := filepath.Join(t.TempDir(), "o")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan ran, 1)
	go func() {
		ended <- runMain(ctx, t, "burnin", "--local", "--profile", "l40s-8", "--duration", "60s", "--only", "cpu", "--out", out)
	}()
	started := filepath.Join(out, "load", ".stream")
	for deadline := time.Now().Add(patience); ; {
		if _, err := os.Stat(started); err == nil {
			break
		}
		select {
		case got := <-ended: // such as a machine in work by somebody else
			t.Fatalf("ended before its load began: exit %d, %s", got.code, got.err)
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("the load does not begin")
		}
	}
	cancel()
	got := <-ended
	if got.code != exitNotFinished || !strings.Contains(got.err, "the same command again goes on") {
		t.Errorf("exit %d, %q", got.code, got.err)
	}
	if _, err := os.Stat("/run/rackproof"); os.Geteuid() == 0 && err == nil {
		t.Error("something was left on the machine")
	}
	got = runMain(t.Context(), t, "burnin", "--local", "--profile", "l40s-8", "--duration", "2s", "--only", "cpu", "--out", out)
	if got.code != exitIncomplete && got.code != exitHardware {
		t.Errorf("exit %d, %q", got.code, got.err)
	}
}
