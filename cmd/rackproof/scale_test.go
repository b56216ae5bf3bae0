package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/simrack"
)

// hall is many simulated machines in a process of their own, so that what they cost is
// not counted as rackproof's.
type hall struct {
	Machines int
	Latency  time.Duration // of each answer of a BMC
	POST     time.Duration
	Load     time.Duration
	Limits   string // of the batch, beside parallel and load
}

// hallFaults are planted in every twentieth machine, in turn.
var hallFaults = []string{"gpu-x8", "dimm-missing", "nvlink-down", "crossed-cables", "fan-dead", "xid79", "nvme-worn"}

func (h hall) fault(i int) string {
	if i%20 != 7 {
		return ""
	}
	return hallFaults[i/20%len(hallFaults)]
}

// hallSaid is what the process of a hall says of it.
type hallSaid struct {
	Batch       string
	Credentials map[string]string
	Sessions    int // left open on BMCs
	Busy        []string
}

// standHall is the process of a hall: it answers every line of its input with how the
// hall is, until that ends.
func standHall(text string) error {
	var h hall
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		return err
	}
	specs := make([]simrack.MachineSpec, h.Machines)
	for i := range specs {
		specs[i] = simrack.MachineSpec{Fault: h.fault(i)}.Placed(i)
	}
	ctx, stop := profiledIn(os.Getenv(profilesIn))
	defer stop()
	rack, err := simrack.Start(ctx, simrack.Options{Machines: specs, Seed: 8, Latency: h.Latency, POSTDelay: h.POST, Load: h.Load})
	if err != nil {
		return err
	}
	batch := string(rack.BatchYAML("hall"))
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		said := hallSaid{Batch: batch, Credentials: rack.Credentials(), Sessions: rack.Sessions(), Busy: rack.Busy()}
		if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
			return err
		}
	}
	return rack.Close()
}

// hallProcess is that process as its test sees it.
type hallProcess struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

func (h hall) start(t *testing.T) *hallProcess {
	t.Helper()
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	p := &hallProcess{t: t, cmd: exec.CommandContext(t.Context(), os.Args[0])}
	p.cmd.Env = append(os.Environ(), asHall+"="+string(text))
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.out = json.NewDecoder(out)
	return p
}

func (p *hallProcess) says() (said hallSaid) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in); err != nil {
		p.t.Fatal(err)
	}
	if err := p.out.Decode(&said); err != nil {
		p.t.Fatalf("the simulated hall: %v", err)
	}
	return said
}

// end takes the hall down and says what it cost.
func (p *hallProcess) end() (cpu time.Duration) {
	p.t.Helper()
	_ = p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("the simulated hall: %v", err)
	}
	return spent(p.cmd.ProcessState)
}

func spent(s *os.ProcessState) time.Duration { return s.UserTime() + s.SystemTime() }

// hallFigures are what one run over a hall cost.
type hallFigures struct {
	wall, cpu, simulated time.Duration
	rss                  int64 // most, in bytes
}

// carried runs the whole workflow over a hall, wants the right result of every machine,
// and nothing left: no session, no load, no goroutine.
func (h hall) carried(t *testing.T) (f hallFigures) {
	t.Helper()
	rack := h.start(t)
	said := rack.says()
	dir := t.TempDir()
	batch, state := filepath.Join(dir, "batch.yaml"), filepath.Join(dir, "state")
	if err := os.WriteFile(batch, []byte(h.limited(t, said.Batch)), 0o600); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, "left")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "run", "-f", batch, "--yes", "--state", state)
	cmd.Env = append(os.Environ(), asRackproof+"=1", leftBehind+"="+left)
	for name, value := range said.Credentials {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	began := time.Now()
	out, _ := cmd.CombinedOutput()
	f.wall, f.cpu, f.rss = time.Since(began), spent(cmd.ProcessState), most(cmd.ProcessState)
	if want, code := h.exit(), cmd.ProcessState.ExitCode(); code != want {
		t.Fatalf("exit %d, want %d\n%s", code, want, tail(out))
	}
	if stacks, err := os.ReadFile(left); err != nil || len(stacks) > 0 {
		t.Errorf("goroutines left behind: %v\n%s", err, stacks)
	}
	if said = rack.says(); said.Sessions != 0 || len(said.Busy) != 0 {
		t.Errorf("%d sessions left open on BMCs, loads left on %v", said.Sessions, said.Busy)
	}
	f.simulated = rack.end()
	h.judged(t, state)
	return f
}

// limited is the batch with the limits of the hall.
func (h hall) limited(t *testing.T, batch string) string {
	t.Helper()
	var out []string
	found := false
	for line := range strings.Lines(batch) {
		if strings.HasPrefix(line, "limits:") {
			line, found = fmt.Sprintf("limits: {parallel: %d, load: %.0fs%s}\n", h.Machines, h.Load.Seconds(), h.Limits), true
		}
		out = append(out, line)
	}
	if !found {
		t.Fatal("the batch of a simulated rack states no limits")
	}
	return strings.Join(out, "")
}

func (h hall) exit() int {
	for i := range h.Machines {
		if h.fault(i) != "" {
			return exitHardware
		}
	}
	return exitPassed
}

// judged compares the reports of a run with what was planted: every fault by its cause,
// and nothing held against another machine.
func (h hall) judged(t *testing.T, state string) {
	t.Helper()
	for i := range h.Machines {
		name := simrack.MachineSpec{}.Placed(i).Name
		j, err := provision.ReadReport(provision.AttemptDir(state, "hall", name, 1))
		switch fault := h.fault(i); {
		case err != nil:
			t.Errorf("%s has no report: %v", name, err)
		case fault != "":
			demoFound(t, fault, *j, "")
		case j.Result != burnin.Passed:
			t.Errorf("%s is well, but %s: %s", name, j.Result, j.Line)
		}
	}
}

func tail(out []byte) []byte { return out[max(0, len(out)-4000):] }

// Thirty machines at once: each comes to its own result, and nothing is left of the run.
func TestHall(t *testing.T) {
	if testing.Short() {
		t.Skip("a run over thirty machines takes half a minute")
	}
	h := hall{Machines: 30, Latency: 5 * time.Millisecond, POST: time.Second, Load: 6 * time.Second, Limits: ", poll: 500ms, stagger: 50ms"}
	f := h.carried(t)
	t.Logf("%s", f.of(h))
}

// A thousand machines at once, each of which waits for five minutes in all, beside ten:
// what the run costs in time, CPU and memory.
func TestHallOfAThousand(t *testing.T) {
	if os.Getenv("RACKPROOF_PROVE") != "1" {
		t.Skip("RACKPROOF_PROVE=1 runs it; it takes a quarter of an hour")
	}
	few := hall{Machines: 10, Latency: 50 * time.Millisecond, POST: 75 * time.Second, Load: 75 * time.Second}
	many := few
	many.Machines = 1000
	if n := os.Getenv("RACKPROOF_HALL"); n != "" { // a smaller one, to look at
		var wait time.Duration
		if _, err := fmt.Sscan(n, &many.Machines, &wait); err != nil {
			t.Fatal(err)
		}
		few.POST, few.Load, many.POST, many.Load = wait, wait, wait, wait
		t.Log(many.carried(t).of(many))
		return
	}
	one, all := few.carried(t), many.carried(t)
	t.Logf("measured: %s; %s; wall %.2f times", one.of(few), all.of(many), all.wall.Seconds()/one.wall.Seconds())
	if perMachine := all.cpu.Seconds() / float64(many.Machines); perMachine > 0.25 {
		t.Errorf("%.2f CPU seconds a machine, want 0.25 at most", perMachine)
	}
	if all.rss >= 1<<30 {
		t.Errorf("%d MiB of memory, want less than 1024", all.rss>>20)
	}
	if all.wall > one.wall*13/10 {
		t.Errorf("%s for %d machines, %s for %d: want 1.3 times at most", all.wall, many.Machines, one.wall, few.Machines)
	}
}

func (f hallFigures) of(h hall) string {
	per := func(d time.Duration) float64 { return d.Seconds() / float64(h.Machines) }
	return fmt.Sprintf("%d machines in %.0f s, %.3f CPU s a machine, %d MiB (the simulated ones %.3f CPU s each)",
		h.Machines, f.wall.Seconds(), per(f.cpu), f.rss>>20, per(f.simulated))
}
