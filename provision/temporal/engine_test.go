package temporal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/enginetest"
)

// server is the address of the Temporal server that all tests share, "" where there is
// none, and noServer why.
var (
	server   string
	noServer error
)

// A history of few events goes over into a new one, so that every test crosses that.
const shortHistory = "limit.historyCount.suggestContinueAsNew=60"

func TestMain(m *testing.M) {
	if addr := os.Getenv(workerVariable); addr != "" { // we are a worker that a test kills
		workerProcess(addr)
		return
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue { // tests wait, most of the time
		_ = f.Value.Set("5")
	}
	stop, err := startServer()
	if err != nil {
		noServer = err
	}
	m.Run()
	stop()
}

// startServer starts a server on a free port of loopback.
func startServer() (stop func(), err error) {
	stop = func() {}
	program, err := filepath.Abs("../../bin/tools/temporal")
	if err != nil {
		return stop, err
	}
	if _, err := os.Stat(program); err != nil {
		return stop, errNotBuilt
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return stop, err
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if err := l.Close(); err != nil {
		return stop, err
	}
	dir, err := os.MkdirTemp("", "rackproof-temporal-")
	if err != nil {
		return stop, err
	}
	// In memory the server is lost for good ("interrupted (9)") once a call of a busy
	// machine ends in the middle of its SQL; a file is opened again.
	cmd := exec.Command(program, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", port,
		"--db-filename", filepath.Join(dir, "temporal.db"), "--sqlite-pragma", "synchronous=off", "--sqlite-pragma", "journal_mode=wal",
		"--log-level", "error", "--dynamic-config-value", shortHistory)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return stop, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	}
	addr := net.JoinHostPort("127.0.0.1", port)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for {
		var e *Engine
		if e, err = Open(ctx, Options{Address: addr}); err == nil {
			if err = e.Setup(ctx); err == nil {
				err = e.Setup(ctx) // again is nothing
			}
			_ = e.Close()
		}
		if err == nil {
			server = addr
			return stop, nil
		}
		if ctx.Err() != nil {
			return stop, fmt.Errorf("%s does not serve: %w", program, err)
		}
		pause(ctx, retold)
	}
}

// needServer skips a test where no server was built; one that does not serve is a failure.
func needServer(tb testing.TB) {
	tb.Helper()
	switch {
	case server != "":
	case errors.Is(noServer, errNotBuilt):
		tb.Skip(noServer)
	default:
		tb.Fatal(noServer)
	}
}

var errNotBuilt = errors.New("bin/tools/temporal is not there: `make temporal` builds it")

// testOptions are those of an engine of its own on the shared server: state names it.
func testOptions(state string) Options {
	sum := sha256.Sum256([]byte(state))
	return Options{
		Address: server, Site: "hall", State: state, prefix: hex.EncodeToString(sum[:5]) + "-",
		times: times{Heartbeat: 3 * time.Second, Backoff: time.Millisecond, Retry: 20 * time.Millisecond, Lease: time.Hour},
	}
}

func open(tb testing.TB, opt Options) *Engine {
	tb.Helper()
	needServer(tb)
	e, err := Open(tb.Context(), opt)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func TestEngine(t *testing.T) {
	needServer(t)
	enginetest.Run(t, func(tb testing.TB, state string, w provision.Worker, h enginetest.Hooks) enginetest.Engine {
		tb.Helper()
		opt := testOptions(state)
		opt.Worker, opt.Before, opt.After = w, h.Before, h.After
		return open(tb, opt)
	})
}

// until waits until the run is as wanted.
func until(tb testing.TB, e *Engine, id provision.RunID, ok func(*provision.Run) bool) *provision.Run {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 3*time.Minute)
	defer cancel()
	var run provision.Run
	for ev, err := range e.Watch(ctx, id, 0) {
		if err == nil {
			err = run.Apply(ev)
		}
		if err != nil {
			tb.Fatal(err)
		}
		if ok(&run) {
			return &run
		}
	}
	tb.Fatalf("the run stands at %+v", run.Machines)
	return nil
}

// A run that another version planned, or whose profile is not the one it names, is
// refused by name, and nothing is done to the machine.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*provision.Submission)
		want  string
	}{
		"plan":    {func(s *provision.Submission) { s.Plan.Version = 99 }, "planned by version 99 of the workflow"},
		"profile": {func(s *provision.Submission) { s.Batch.Resolved[s.Batch.Machines[0].ProfileSHA256] = []byte("other") }, "profile a40-4 as the run carries it is not the one that it names"},
		"spec":    {func(s *provision.Submission) { delete(s.Batch.Resolved, s.Batch.Machines[0].SpecSHA256) }, "spec standard as the run carries it is not the one that it names"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := enginetest.NewWorld()
			opt := testOptions(t.TempDir())
			opt.Worker = &provision.Bench{State: opt.State, Workflows: []provision.Workflow{w.Workflow()}, Secrets: &provision.Secrets{}}
			e := open(t, opt)
			serve(t, e)
			sub := provision.Submission{Batch: enginetest.Batch(t, "job", 1), Plan: w.Workflow().Plan()}
			c.spoil(&sub)
			if err := e.begin(t.Context(), "job", sub); err != nil {
				t.Fatal(err)
			}
			run := until(t, e, "job", func(r *provision.Run) bool { return r.Find("m1").State == provision.StateStuck })
			if m := run.Find("m1"); !strings.Contains(m.Why, c.want) || !m.Broken {
				t.Errorf("m1: %s", m.Why)
			}
			if n := len(w.Acts()); n != 0 {
				t.Errorf("%d acts on a machine of a run that was refused", n)
			}
		})
	}
}

func serve(tb testing.TB, e *Engine) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	done := make(chan error, 1)
	go func() { done <- e.Serve(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := errors.Join(<-done, e.Close()); err != nil {
			tb.Error(err)
		}
	})
}
