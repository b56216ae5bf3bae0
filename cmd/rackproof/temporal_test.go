package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/provision"
)

// temporalServer starts a server on a free port of loopback and sets its namespace up.
func temporalServer(t *testing.T, k *killRun) (addr string) {
	t.Helper()
	program, err := filepath.Abs("../../bin/tools/temporal")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("bin/tools/temporal is not there: `make temporal` builds it")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	server := exec.Command(program, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", port,
		"--db-filename", filepath.Join(t.TempDir(), "temporal.db"), "--sqlite-pragma", "synchronous=off", "--sqlite-pragma", "journal_mode=wal",
		"--log-level", "error")
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	k.until("the server is set up", patience, func() bool {
		return k.startOn(filepath.Join(k.dir, "setup"), "worker", "--temporal", addr, "--setup").wait() == exitPassed
	})
	return addr
}

// remoteRun is the batch of a rack whose credentials only workers have: k's state folder
// is what they share.
type remoteRun struct {
	*killRun
	flags   []string // of the server and of the evidence
	secrets string
}

func newRemoteRun(t *testing.T, k *killRun) *remoteRun {
	t.Helper()
	r := &remoteRun{killRun: k, secrets: filepath.Join(k.dir, "secrets.yaml")}
	r.flags = []string{"--temporal", temporalServer(t, k), "--site", "hall"}
	values, err := json.Marshal(k.rack.Credentials()) // is YAML
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.secrets, values, 0o600); err != nil {
		t.Fatal(err)
	}
	batch, err := os.ReadFile(k.batch())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(k.batch(), bytes.ReplaceAll(batch, []byte("env:"), []byte("secret:")), 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

// worker starts one with a state folder of its own, and waits until it serves.
func (r *remoteRun) worker(name string) *process {
	r.t.Helper()
	p := r.startOn(filepath.Join(r.dir, name), append([]string{"worker", "--secrets", r.secrets}, r.flags...)...)
	r.until(name+" serves", patience, func() bool { return strings.Contains(p.out.String(), "worker of site hall") })
	return p
}

// caller runs a verb of somebody who has no secrets and no machine beside him.
func (r *remoteRun) caller(args ...string) *process {
	r.t.Helper()
	return r.startOn(filepath.Join(r.dir, "caller"), append(append(args, "--engine", "temporal"), r.flags...)...)
}

// A run whose worker is killed with -9 under load goes on with another one, and comes to
// the results of the other engine, with nothing done twice. Who asked for it prints table
// and report from what the workers share.
func TestTemporalWorkerKilled(t *testing.T) {
	k := newKillRun(t, 0)
	r := newRemoteRun(t, k)
	r.flags = append(r.flags, "--evidence", k.state())
	journal := newKillRun(t, 0)
	if code := journal.rackproof(0); code != exitHardware {
		t.Fatalf("journal: exit %d\n%s", code, journal.output)
	}
	want := journal.outcome()

	first := r.worker("first")
	run := r.caller("run", "-f", k.batch())
	k.until("load", patience, k.loaded)
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.wait()
	killed := time.Now()
	r.worker("second")
	if code := run.wait(); code != exitHardware {
		t.Fatalf("exit %d, want %d\n%s", code, exitHardware, run.out.String())
	}
	t.Logf("ended %s after the worker was killed", time.Since(killed).Round(time.Second))
	k.whole()
	got := k.outcome()
	if !maps.Equal(got.results, want.results) {
		t.Errorf("other results than those of the journal:\n%s", difference(want.results, got.results))
	}
	for machine, acts := range got.acts {
		if !maps.Equal(acts, want.acts[machine]) {
			t.Errorf("%s: acts %v, with the journal %v", machine, acts, want.acts[machine])
		}
	}
	out := run.out.String()
	for _, line := range []string{"good", "PASSED", "narrow", "FAILED", "exit 3"} {
		if !strings.Contains(out, line) {
			t.Errorf("the caller does not print %q:\n%s", line, out)
		}
	}
	if _, err := os.Stat(filepath.Join(provision.RunDir(k.state(), "kill"), "reports", "index.html")); err != nil {
		t.Errorf("no report: %v\n%s", err, out)
	}
	again := r.caller("run", "-f", k.batch())
	if code := again.wait(); code != exitHardware || !strings.Contains(again.out.String(), "kill is finished") {
		t.Errorf("the finished run again: exit %d\n%s", code, again.out.String())
	}
	for _, value := range k.rack.Credentials() {
		for secret := range strings.SplitSeq(value, "\n") {
			if len(secret) > 16 && strings.Contains(out, secret) && !strings.HasPrefix(secret, "--") {
				t.Error("the caller prints a secret")
			}
		}
	}
}
