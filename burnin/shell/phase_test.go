package shell

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
)

// slowLine is a connection on which every message arrives half a round trip later, and on
// which the round trips are counted.
type slowLine struct {
	roundTrip time.Duration
	mu        sync.Mutex
	asked     int // bytes that the client sent since the server last said something
	trips     int
}

// asksNothing is the size on the wire of a packet that is no question: end of input, end
// of a channel, room for more output. To ask for a channel takes 52 bytes, for a command
// thousands.
const asksNothing = 36

func (l *slowLine) client(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked += n
}

// server counts a round trip when the server answers a question.
func (l *slowLine) server(int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked%asksNothing != 0 || l.asked > 10*asksNothing {
		l.trips++
	}
	l.asked = 0
}

// count returns the round trips since it was last called.
func (l *slowLine) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.trips
	l.trips = 0
	return n
}

// lay puts the line before a server, and returns the address at its near end.
func (l *slowLine) lay(tb testing.TB, addr string) string {
	tb.Helper()
	listen, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = listen.Close() })
	go func() {
		for {
			near, err := listen.Accept()
			if err != nil {
				return
			}
			far, err := (&net.Dialer{}).DialContext(tb.Context(), "tcp", addr)
			if err != nil {
				_ = near.Close()
				continue
			}
			go late(near, far, l.roundTrip/2, l.server)
			go late(far, near, l.roundTrip/2, l.client)
		}
	}()
	return listen.Addr().String()
}

// late copies until either end is closed, and tells of every piece as it comes.
func late(to io.WriteCloser, from io.ReadCloser, by time.Duration, tell func(n int)) {
	type piece struct {
		due  time.Time
		data []byte
	}
	pieces := make(chan piece, 4096)
	go func() {
		defer close(pieces)
		for {
			b := make([]byte, 32<<10)
			n, err := from.Read(b)
			if err != nil {
				return
			}
			tell(n)
			pieces <- piece{time.Now().Add(by), b[:n]}
		}
	}()
	for p := range pieces {
		<-time.After(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			break
		}
	}
	_, _ = to.Close(), from.Close()
	for range pieces { // let the reader end
	}
}

// farNode is a node at the end of a slow line, with the connection open.
func farNode(tb testing.TB, l *slowLine, probes []burnin.ProbeSpec) *burnin.Node {
	tb.Helper()
	s := startSSHD(tb)
	cfg, near := s.config(), l.lay(tb, s.addr)
	cfg.Keepalive = time.Hour // it asks at its own pace
	cfg.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, near)
	}
	n := &burnin.Node{Shell: dialed(tb, cfg), Origin: burnin.FromSSH, Probes: probes}
	l.count()
	return n
}

// overSlowest collects a phase, and returns what it took beyond its slowest command.
func overSlowest(tb testing.TB, n *burnin.Node, want int) time.Duration {
	tb.Helper()
	began := time.Now()
	got, err := n.Collect(tb.Context(), burnin.PhaseBefore)
	took := time.Since(began)
	if err != nil || want > 0 && len(got) != want {
		tb.Fatalf("%d evidences, %v", len(got), err)
	}
	slowest := 0.0
	for _, e := range got {
		slowest = max(slowest, e.Seconds)
	}
	return took - time.Duration(slowest*float64(time.Second))
}

// quickAndSlow are probes of which one takes its time.
func quickAndSlow() []burnin.ProbeSpec {
	before := []burnin.Phase{burnin.PhaseBefore}
	probes := []burnin.ProbeSpec{
		{Name: "slow", Command: line("sleep 1"), Phases: before},
		{Name: "each", Command: line(`echo "$1"`), Phases: before, Instances: "echo a; echo b; echo c"},
	}
	for i := range 20 {
		probes = append(probes, burnin.ProbeSpec{Name: fmt.Sprint("p", i), Command: line("echo x"), Phases: before, Tool: "sh", Version: "echo 1"})
	}
	return probes
}

// TestPhaseRoundTrips counts the questions of a phase on an open connection: a channel
// and a command, for the probes and, once in a boot, for what there is on the node.
func TestPhaseRoundTrips(t *testing.T) {
	for name, probes := range map[string][]burnin.ProbeSpec{"24 probes": quickAndSlow(), "all that run here": burnin.Probes()} {
		l := &slowLine{roundTrip: 20 * time.Millisecond}
		n := farNode(t, l, probes)
		var over []time.Duration
		for i, want := range []int{4, 2, 2, 2} {
			over = append(over, overSlowest(t, n, 0))
			if got := l.count(); got != want {
				t.Errorf("%s: phase %d took %d round trips, want %d", name, i+1, got, want)
			}
		}
		t.Logf("measured: %s %d ms over the slowest, first %d ms", name, slices.Min(over[1:]).Milliseconds(), over[0].Milliseconds())
	}
}

// TestPhaseProgress: every probe is told of as it ends, not at the end of the phase.
func TestPhaseProgress(t *testing.T) {
	for name, sh := range map[string]burnin.Shell{"ssh": dialed(t, startSSHD(t).config()), "local": Local{}} {
		told := map[string]time.Time{}
		n := &burnin.Node{Shell: sh, Probes: quickAndSlow()[:3], Progress: func(p burnin.Progress) { told[p.Doing] = time.Now() }}
		if _, err := n.Collect(t.Context(), burnin.PhaseBefore); err != nil {
			t.Fatal(name, err)
		}
		if len(told) != 5 || told["slow"].Sub(told["each@a"]) < 300*time.Millisecond {
			t.Errorf("%s: told of %v", name, told)
		}
	}
}

// BenchmarkPhase is a phase of every probe on this machine over an open connection of
// 20 ms a round trip: over-ms is what it takes beyond its slowest command.
func BenchmarkPhase(b *testing.B) {
	n := farNode(b, &slowLine{roundTrip: 20 * time.Millisecond}, burnin.Probes())
	var over time.Duration
	for b.Loop() {
		over += overSlowest(b, n, 0)
	}
	b.ReportMetric(float64(over.Milliseconds())/float64(b.N), "over-ms")
}

// TestFasterThanAnsible sets a phase of every probe, with connecting, beside the setup
// module of Ansible on the same host over the same server. The best of some runs of
// each counts.
func TestFasterThanAnsible(t *testing.T) {
	if os.Getenv("RACKPROOF_PROVE") == "" {
		t.Skip("measures time: RACKPROOF_PROVE=1 runs it")
	}
	ansible, err := exec.LookPath("ansible")
	if err != nil {
		t.Skip("needs Ansible (Debian's package ansible-core): ", err)
	}
	s := startSSHD(t)
	const atLeast, runs = 4, 5
	theirs, ours, probes := time.Hour, time.Hour, 0
	for range runs {
		theirs = min(theirs, s.setup(t, ansible))
		began := time.Now()
		sh, err := DialSSH(t.Context(), s.config())
		if err != nil {
			t.Fatal(err)
		}
		got, err := (&burnin.Node{Shell: sh, Origin: burnin.FromSSH, Probes: burnin.Probes()}).Collect(t.Context(), burnin.PhaseBefore)
		if err != nil {
			t.Fatal(err)
		}
		ours, probes = min(ours, time.Since(began)), len(got)
		_ = sh.Close()
	}
	ratio := theirs.Seconds() / ours.Seconds()
	t.Logf("measured: %d probes in %.2f s, Ansible's setup %.2f s: %.1f times as fast", probes, ours.Seconds(), theirs.Seconds(), ratio)
	if ratio < atLeast {
		t.Errorf("%.1f times as fast, want at least %d", ratio, atLeast)
	}
}

// setup runs Ansible's setup module against the server, as it comes but for the keys, and
// returns how long that took. Its own connection ends soon after.
func (s *server) setup(t *testing.T, ansible string) time.Duration {
	t.Helper()
	_, port, _ := net.SplitHostPort(s.addr)
	dir, err := os.MkdirTemp("", "a") // short: a socket is made in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cmd := exec.CommandContext(t.Context(), ansible, "all", "-i", "127.0.0.1,", "-m", "setup", "-u", currentUser(),
		"--private-key", s.userFile, "-e", "ansible_port="+port)
	cmd.Env = append(os.Environ(), "HOME="+dir, "ANSIBLE_LOCAL_TEMP="+dir, "ANSIBLE_SSH_CONTROL_PATH_DIR="+dir, "ANSIBLE_HOST_KEY_CHECKING=False",
		"ANSIBLE_SSH_ARGS=-C -o ControlMaster=auto -o ControlPersist=5s -o UserKnownHostsFile=/dev/null -o IdentitiesOnly=yes")
	said, err := os.Create(filepath.Join(dir, "said")) // no pipe: what ends later would hold it open
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = said.Close() }()
	cmd.Stdout, cmd.Stderr = said, said
	began := time.Now()
	err = cmd.Run()
	took := time.Since(began)
	if out, _ := os.ReadFile(said.Name()); err != nil || !bytes.Contains(out, []byte("SUCCESS")) {
		t.Fatalf("ansible: %v: %.2000s", err, out)
	}
	return took
}

// TestPhaseOverLoss: the connection is cut while a probe runs. What had ended is not run
// again, what ran is, and the node is left clean.
func TestPhaseOverLoss(t *testing.T) {
	t.Parallel()
	s, ran := startSSHD(t), filepath.Join(t.TempDir(), "ran")
	var conn net.Conn
	cfg := s.config()
	cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		var err error
		conn, err = (&net.Dialer{}).DialContext(ctx, network, addr)
		return conn, err
	}
	r := &burnin.Redialer{Dial: func(ctx context.Context) (burnin.Shell, error) { return DialSSH(ctx, cfg) }}
	defer func() { _ = r.Close() }()
	before := []burnin.Phase{burnin.PhaseBefore}
	cut := sync.OnceFunc(func() { _ = conn.Close() })
	n := &burnin.Node{Shell: r, Probes: []burnin.ProbeSpec{
		{Name: "quick", Command: line("echo quick >>" + ran), Phases: before},
		{Name: "slow", Command: line("echo slow >>" + ran + "; sleep 2; echo done"), Phases: before},
	}, Progress: func(burnin.Progress) { cut() }}
	got, err := n.Collect(t.Context(), burnin.PhaseBefore)
	if err != nil || len(got) != 2 {
		t.Fatalf("%d evidences, %v", len(got), err)
	}
	for _, e := range got {
		if e.Ended != burnin.EndedExit || e.Exit == nil || *e.Exit != 0 {
			t.Errorf("%s: %s %s", e.Ref(), e.Ended, e.Err)
		}
	}
	b, err := os.ReadFile(ran)
	if err != nil {
		t.Fatal(err)
	}
	if words := slices.Sorted(slices.Values(strings.Fields(string(b)))); !slices.Equal(words, []string{"quick", "slow", "slow"}) {
		t.Errorf("ran %v", words)
	}
}
