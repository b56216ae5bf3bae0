package temporal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/enginetest"
)

// workerVariable makes a process of this test binary a worker on the server it names.
const workerVariable = "RACKPROOF_TEST_WORKER"

// filed is a worker whose machine is a file: one line for every act. The first one
// blocks behind its act, until it is killed.
type filed struct{ dir string }

func (f filed) acts() string { return filepath.Join(f.dir, "acts") }

func (f filed) Step(ctx context.Context, t provision.Task, rec provision.Recorder) (provision.Facts, error) {
	if t.Step.Name != "middle" {
		return provision.Facts{provision.FactResult: "passed"}, nil
	}
	if _, intended := t.Intents["boot"]; intended { // the file is the machine's answer
		if b, err := os.ReadFile(f.acts()); err == nil && len(b) > 0 {
			return provision.Facts{"asked": "yes"}, nil
		}
	}
	if err := rec.Record(ctx, provision.Intended, provision.Intent{Act: "boot", Mark: "0"}); err != nil {
		return nil, err
	}
	out, err := os.OpenFile(f.acts(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(out, "boot by %d\n", os.Getpid())
	if err := errors.Join(err, out.Sync(), out.Close()); err != nil {
		return nil, err
	}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func workerProcess(addr string) {
	server = addr
	opt := testOptions(os.Getenv(workerVariable + "_STATE"))
	opt.Worker = filed{opt.State}
	e, err := Open(context.Background(), opt)
	if err == nil {
		err = e.Serve(context.Background())
	}
	fmt.Fprintln(os.Stderr, "worker:", err)
}

func startWorker(tb testing.TB, state string) *exec.Cmd {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workerVariable+"="+server, workerVariable+"_STATE="+state)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// A worker killed with -9 in the middle of a step loses it to another worker, which
// finds the intent and asks before it acts.
func TestWorkerKilled(t *testing.T) {
	t.Parallel()
	needServer(t)
	state := t.TempDir()
	e := open(t, testOptions(state))
	defer func() { _ = e.Close() }()
	first := startWorker(t, state)
	id, err := e.Submit(t.Context(), enginetest.Batch(t, "job", 1), enginetest.NewWorld().Workflow())
	if err != nil {
		t.Fatal(err)
	}
	acts := filed{state}.acts()
	for end := time.Now().Add(time.Minute); ; pause(t.Context(), retold) {
		if b, err := os.ReadFile(acts); err == nil && len(b) > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the first worker does not act")
		}
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	killed := time.Now()
	startWorker(t, state)
	run := until(t, e, id, func(r *provision.Run) bool { return r.Finished() })
	t.Logf("finished %s after the worker was killed", time.Since(killed).Round(time.Millisecond))
	if m := run.Find("m1"); m.State != provision.StatePassed || m.Facts["asked"] != "yes" {
		t.Errorf("m1 is %s, facts %v", m.State, m.Facts)
	}
	b, err := os.ReadFile(acts)
	if err != nil || strings.Count(string(b), "\n") != 1 {
		t.Errorf("acts: %q, %v; want one", b, err)
	}
}
