package burnin

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hostShell runs commands on this machine: enough of a Shell for tests of what
// happens on the node.
type hostShell struct{}

func (hostShell) Close() error { return nil }

func (hostShell) Run(ctx context.Context, c Command) (Output, error) {
	if c.Deadline == 0 {
		c.Deadline = time.Minute
	}
	timed, cancel := context.WithTimeout(ctx, c.Deadline)
	defer cancel()
	cmd := exec.CommandContext(timed, "/bin/sh", "-c", c.Line)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.Stdin, &out, &errs, time.Second
	began := time.Now()
	err := cmd.Run()
	o := Output{Out: out.Bytes(), Err: errs.Bytes(), Ended: EndedExit, Started: began, Seconds: time.Since(began).Seconds()}
	switch {
	case ctx.Err() != nil:
		o.Ended = EndedLost
		return o, context.Cause(ctx)
	case timed.Err() != nil:
		o.Ended = EndedTimeout
		return o, nil
	case cmd.ProcessState == nil:
		return o, err
	}
	code := cmd.ProcessState.ExitCode()
	o.Exit = &code
	return o, nil
}

// needsLinux skips where the node's half cannot run.
func needsLinux(t *testing.T) {
	t.Helper()
	for _, f := range []string{"/proc/uptime", "/usr/bin/setsid"} {
		if _, err := os.Stat(f); err != nil {
			t.Skip("the node's half needs Linux with setsid: ", err)
		}
	}
}

// claim is that of a test in a folder of its own, released at the end.
func claim(t *testing.T, run string) Claim {
	t.Helper()
	needsLinux(t)
	c := Claim{Run: run, Attempt: 1, Owner: "tech@laptop", Root: filepath.Join(t.TempDir(), "rackproof")}
	t.Cleanup(func() {
		if _, err := ReleaseNode(context.WithoutCancel(t.Context()), hostShell{}, c.Root, run); err != nil {
			t.Error("release: ", err)
		}
		if _, err := os.Stat(c.Root); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("something was left on the node: %v", err)
		}
	})
	return c
}

func acquired(t *testing.T, c Claim) *nodeFolder {
	t.Helper()
	f, err := acquire(t.Context(), hostShell{}, c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// until polls the node until good holds.
func (f *nodeFolder) until(t *testing.T, what string, offsets map[string]int64, good func(*report) bool) *report {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		r, err := f.poll(t.Context(), offsets)
		if err != nil {
			t.Fatal(err)
		}
		if good(r) {
			return r
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within 30 s: %s; last report %+v", what, r)
		}
		<-time.After(100 * time.Millisecond)
	}
}

func content(r *report, file string) string {
	for _, c := range r.chunks {
		if c.file == file {
			return string(c.data)
		}
	}
	return ""
}

func TestUnitRunsToItsEnd(t *testing.T) {
	f := acquired(t, claim(t, "r1"))
	for range 2 { // started twice, it runs once
		if err := f.start(t.Context(), "stress", "load", "echo it\\'s; echo bad >&2; sleep 1; exit 7", time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	r := f.until(t, "unit over", nil, func(r *report) bool { return r.loadsOver() })
	u := unitOf(r.units, "stress")
	if u.state != "exit" || u.exit != 7 || u.started.IsZero() || u.seconds < 0 || u.seconds > 20 {
		t.Errorf("unit %+v", u)
	}
	if content(r, "units/stress/out") != "it's\n" || content(r, "units/stress/err") != "bad\n" {
		t.Errorf("chunks %+v", r.chunks)
	}
	r = f.until(t, "rest", map[string]int64{"units/stress/out": 3, "units/stress/err": 4}, func(*report) bool { return true })
	if content(r, "units/stress/out") != "s\n" || content(r, "units/stress/err") != "" {
		t.Errorf("beyond the offsets: %+v", r.chunks)
	}
}

func TestUnitKilled(t *testing.T) {
	f := acquired(t, claim(t, "r1"))
	if err := f.start(t.Context(), "stress", "load", "sleep 300", time.Minute); err != nil {
		t.Fatal(err)
	}
	f.until(t, "unit runs", nil, func(r *report) bool { return unitOf(r.units, "stress").state == "runs" })
	pid := pidOf(t, f, "stress")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	f.until(t, "kill seen", nil, func(r *report) bool { return unitOf(r.units, "stress").state == "gone" })
	// What it had started is still ours and ends with stop.
	if len(sessionOf(t, pid)) == 0 {
		t.Fatal("no process of the session lives, want the sleep")
	}
	if stuck, err := f.stop(t.Context(), endedStop); err != nil || stuck {
		t.Fatal(stuck, err)
	}
	if left := sessionOf(t, pid); len(left) != 0 {
		t.Errorf("stop left %v", left)
	}
}

func pidOf(t *testing.T, f *nodeFolder, unit string) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(f.dir, "units", unit, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.Fields(string(b))[0])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// sessionOf lists the live processes of a session.
func sessionOf(t *testing.T, sid int) []string {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var live []string
	for _, s := range stats {
		b, err := os.ReadFile(s)
		if err != nil {
			continue
		}
		f := strings.Fields(string(b[bytes.LastIndex(b, []byte(") "))+1:]))
		if len(f) > 3 && f[0] != "Z" && f[3] == strconv.Itoa(sid) {
			live = append(live, s)
		}
	}
	return live
}

// TestStopTakesLoadsDown: within five seconds, whatever the load does with signals
// and process groups.
func TestStopTakesLoadsDown(t *testing.T) {
	f := acquired(t, claim(t, "r1"))
	line := "trap '' TERM; sh -c 'trap \"\" TERM; while :; do sleep 1; done' & while :; do sleep 1; done"
	if err := f.start(t.Context(), "deaf", "load", line, time.Minute); err != nil {
		t.Fatal(err)
	}
	f.until(t, "unit runs", nil, func(r *report) bool { return unitOf(r.units, "deaf").state == "runs" })
	pid := pidOf(t, f, "deaf")
	began := time.Now()
	stuck, err := f.stop(t.Context(), endedStop)
	if took := time.Since(began); err != nil || stuck || took > 5*time.Second {
		t.Errorf("stop took %s, stuck %v, err %v", took, stuck, err)
	}
	if left := sessionOf(t, pid); len(left) != 0 {
		t.Errorf("stop left %v", left)
	}
	if again := acquired(t, Claim{Run: "r1", Attempt: 1, Root: filepath.Dir(f.dir)}); again.ended != "stop" {
		t.Errorf("picked up with ended %q, want stop", again.ended)
	}
}

// TestHalt: another process ends the loads of a run, and not those of a stranger;
// whoever watches them sees why.
func TestHalt(t *testing.T) {
	c := claim(t, "r1")
	f := acquired(t, c)
	if err := f.start(t.Context(), "stress", "load", "sleep 300", time.Minute); err != nil {
		t.Fatal(err)
	}
	if stuck, err := HaltNode(t.Context(), hostShell{}, c.Root, "other"); err != nil || stuck {
		t.Error(stuck, err)
	}
	f.until(t, "unit runs", nil, func(r *report) bool { return unitOf(r.units, "stress").state == "runs" })
	if stuck, err := HaltNode(t.Context(), hostShell{}, c.Root, "r1"); err != nil || stuck {
		t.Error(stuck, err)
	}
	f.until(t, "stopped", nil, func(r *report) bool { return r.ended == endedStop && r.loadsOver() })
}

func TestDeadMan(t *testing.T) {
	c := claim(t, "r1")
	c.DeadMan = time.Second
	f := acquired(t, c)
	if err := f.start(t.Context(), "stress", "load", "sleep 300", time.Minute); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for { // without a poll, which would be a sign of life
		if b, _ := os.ReadFile(filepath.Join(f.dir, "ended")); string(b) == "dead-man\n" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the dead-man timer does not act")
		}
		<-time.After(100 * time.Millisecond)
	}
	r := f.until(t, "unit ended", nil, func(r *report) bool { return r.loadsOver() })
	if r.ended != "dead-man" {
		t.Errorf("ended %q", r.ended)
	}
}

func TestOverItsTime(t *testing.T) {
	f := acquired(t, claim(t, "r1"))
	if err := f.start(t.Context(), "endless", "load", "sleep 300", time.Second); err != nil {
		t.Fatal(err)
	}
	f.until(t, "ended", nil, func(r *report) bool { return r.ended == "over" && r.loadsOver() })
}

func TestSampler(t *testing.T) {
	f := acquired(t, claim(t, "r1"))
	if err := f.start(t.Context(), "sample-os", "sample", "echo it; echo", time.Minute); err != nil {
		t.Fatal(err)
	}
	r := f.until(t, "two samples", nil, func(r *report) bool { return strings.Count(content(r, "samples/sample-os"), "it\n") >= 2 })
	got, err := ParseSamples([]byte(content(r, "samples/sample-os")))
	if err != nil && !errors.Is(err, errCutSample) {
		t.Fatal(err)
	}
	for i, s := range got {
		if string(s.Out) != "it\n\n" || time.Since(s.At).Abs() > time.Minute {
			t.Errorf("sample %d: %s %q", i, s.At, s.Out)
		}
	}
	if !r.loadsOver() {
		t.Error("a sampler counts as a load")
	}
}

// What the kernel says arrives while its log is followed, not when there is a block of it:
// the line before a machine dies is the one that tells why.
func TestKernelLogArrivesAtOnce(t *testing.T) {
	f := acquired(t, claim(t, "r1"))
	tools := t.TempDir()
	const dmesg = "#!/bin/sh\ncase $1 in --help) echo ' -w, --follow' ;; --follow) echo '[ 1.0] the last words'; sleep 60 ;; esac\n"
	if err := os.WriteFile(filepath.Join(tools, "dmesg"), []byte(dmesg), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := f.start(t.Context(), followUnit, "watch", "PATH="+tools+":$PATH; "+followCommand, time.Minute); err != nil {
		t.Fatal(err)
	}
	r := f.until(t, "a line", nil, func(r *report) bool { return content(r, "units/"+followUnit+"/out") != "" })
	if u := unitOf(r.units, followUnit); u.state != "runs" || content(r, "units/"+followUnit+"/out") != "[ 1.0] the last words\n" {
		t.Errorf("unit %+v printed %q", u, content(r, "units/"+followUnit+"/out"))
	}
}

// TestHalfACommandIsNotRun: sshd closes stdin when its client is killed, and a
// command line that ends early is a line all the same.
func TestHalfACommandIsNotRun(t *testing.T) {
	f := acquired(t, claim(t, "r1"))
	const line = "sleep 1; exit 7"
	for _, sent := range []string{"", line[:7]} {
		out, err := f.call(t.Context(), "start", strings.NewReader(sent), "stress", "load", "60", strconv.Itoa(len(line)))
		if err != nil || string(out.Out) != "short\n" {
			t.Errorf("%q sent: %q, %v", sent, out.Out, err)
		}
	}
	if err := f.start(t.Context(), "stress", "load", line, time.Minute); err != nil {
		t.Fatal(err)
	}
	r := f.until(t, "unit over", nil, func(r *report) bool { return r.loadsOver() })
	if u := unitOf(r.units, "stress"); len(r.units) != 1 || u.exit != 7 {
		t.Errorf("units %+v, want the whole command once", r.units)
	}
}
