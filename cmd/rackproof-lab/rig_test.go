package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/provision/lab"
)

// programs builds rackproof and rackproof-lab once, as users run them.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "rackproof-lab-")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-o", dir+"/", "../rackproof", ".").CombinedOutput()
	if err != nil {
		return dir, errors.New(string(out))
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := programs(); dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// rig is a lab and the rackproof that is run in it.
type rig struct {
	t      *testing.T
	bin    string
	state  string
	status lab.Status
}

// newRig builds a lab that is gone when the test ends.
func newRig(t *testing.T, args ...string) *rig {
	t.Helper()
	if testing.Short() {
		t.Skip("the lab takes minutes")
	}
	if err := lab.Check(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, bin: bin, state: t.TempDir()}
	r.status.Dir = filepath.Join(t.TempDir(), "lab")
	t.Cleanup(func() {
		if t.Failed() {
			r.tellLogs()
		}
		if out, code := r.lab(t.Context(), "down"); code != 0 && !strings.Contains(out, lab.ErrNoLab.Error()) {
			t.Errorf("down ended with %d: %s", code, out)
		}
	})
	out, code := r.lab(t.Context(), append([]string{"up", "--json"}, args...)...)
	if code != 0 {
		t.Fatalf("up ended with %d: %s", code, out)
	}
	if err := json.Unmarshal([]byte(out), &r.status); err != nil {
		t.Fatalf("up printed %q: %v", out, err)
	}
	return r
}

// tellLogs shows what a machine wrote last, and what was done to it.
func (r *rig) tellLogs() {
	for _, m := range r.status.Machines {
		for _, name := range []string{"chassis.log", "serial.log"} {
			b, err := os.ReadFile(filepath.Join(m.Dir, name))
			if err != nil {
				continue
			}
			r.t.Logf("%s %s:\n%s", m.Name, name, b[max(0, len(b)-4000):])
		}
	}
}

// lab runs rackproof-lab and returns its stdout and exit code.
func (r *rig) lab(ctx context.Context, args ...string) (string, int) {
	r.t.Helper()
	cmd := r.command(ctx, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		r.t.Fatal(err)
	} else if ok {
		return string(out) + stderr.String(), exit.ExitCode()
	}
	return string(out), 0
}

func (r *rig) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(r.bin, "rackproof-lab"), append([]string{"--dir", r.status.Dir}, args...)...)
	cmd.Env = append(append(os.Environ(), lab.Credentials()...), "NO_COLOR=1")
	return cmd
}

func (r *rig) fault(machine, name, value string) {
	r.t.Helper()
	args := []string{"fault", machine, name}
	if value != "" {
		args = append(args, value)
	}
	if out, code := r.lab(r.t.Context(), args...); code != 0 {
		r.t.Fatalf("fault %s %s: %s", name, value, out)
	}
}

// outcome is what a run of rackproof ended with.
type outcome struct {
	code     int
	machines map[string]burnin.Judgement
	stderr   string
}

// batch writes a batch file and returns its name.
func (r *rig) batch(o lab.BatchOptions) string {
	r.t.Helper()
	text, err := r.status.Batch(o)
	if err != nil {
		r.t.Fatal(err)
	}
	file := filepath.Join(r.state, o.Name+".yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		r.t.Fatal(err)
	}
	return file
}

// rackproof is a command that carries a batch, with its result as JSON.
func (r *rig) rackproof(file string, args ...string) *exec.Cmd {
	return r.command(r.t.Context(), append([]string{"run", "--", filepath.Join(r.bin, "rackproof"), "--state", r.state, "run", "-f", file, "--json"}, args...)...)
}

// start starts a command that ends with the test, and gives how it ended. The channel is
// closed behind that.
func (r *rig) start(cmd *exec.Cmd) <-chan error {
	r.t.Helper()
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended, over := make(chan error, 1), make(chan struct{})
	go func() {
		ended <- cmd.Wait()
		close(ended)
		close(over)
	}()
	r.t.Cleanup(func() {
		_ = cmd.Process.Kill() // none that has ended
		<-over
	})
	return ended
}

// run carries a batch to its end.
func (r *rig) run(file string, args ...string) outcome {
	r.t.Helper()
	cmd := r.rackproof(file, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	return r.outcome(err, stdout.Bytes(), stderr.String())
}

// retest tests a machine anew, in its run.
func (r *rig) retest(run, machine string) outcome {
	r.t.Helper()
	cmd := r.command(r.t.Context(), "run", "--", filepath.Join(r.bin, "rackproof"), "--state", r.state, "retest", machine, "--run", run, "--json")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	return r.outcome(err, stdout.Bytes(), stderr.String())
}

func (r *rig) outcome(err error, stdout []byte, stderr string) outcome {
	r.t.Helper()
	o := outcome{machines: map[string]burnin.Judgement{}, stderr: stderr}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		o.code = exit.ExitCode()
	} else if err != nil {
		r.t.Fatal(err)
	}
	var page struct {
		Machines []burnin.Judgement `json:"machines"`
	}
	if err := json.Unmarshal(stdout, &page); err != nil {
		r.t.Fatalf("exit %d; stdout %q; stderr %s: %v", o.code, stdout, stderr, err)
	}
	for _, m := range page.Machines {
		o.machines[m.Machine.Name] = m
	}
	return o
}

// chassis is what was done to a machine, without times.
func (r *rig) chassis(machine string) []string {
	r.t.Helper()
	var out []string
	for _, m := range r.status.Machines {
		if m.Name != machine {
			continue
		}
		b, err := os.ReadFile(filepath.Join(m.Dir, "chassis.log"))
		if err != nil && !errors.Is(err, os.ErrNotExist) { // it is made with the first act
			r.t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			_, what, _ := strings.Cut(strings.TrimSpace(line), " ")
			out = append(out, what)
		}
	}
	return out
}

// isOver reports a command that has ended, once.
func isOver(ended <-chan error) bool {
	select {
	case <-ended:
		return true
	default:
		return false
	}
}

// kill ends a command and waits for it. The command replaced itself by rackproof.
func kill(t *testing.T, cmd *exec.Cmd, ended <-chan error) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Fatal("rackproof had ended before it was killed")
	}
}

// until asks every 200 ms until what is asked is true.
func until(t *testing.T, limit time.Duration, what string, ask func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for !ask() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// machines are those of the lab as they stand now.
func (r *rig) machines() []lab.MachineStatus {
	r.t.Helper()
	out, code := r.lab(r.t.Context(), "status", "--json")
	var s lab.Status
	if err := json.Unmarshal([]byte(out), &s); code != 0 || err != nil {
		r.t.Fatalf("status ended with %d: %s", code, out)
	}
	return s.Machines
}
