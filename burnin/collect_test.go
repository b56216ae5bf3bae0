package burnin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

func said(line string) func(*profiles.Profile) string {
	return func(*profiles.Profile) string { return line }
}

func refs(all []*Evidence) string {
	var out []string
	for _, e := range all {
		out = append(out, e.Ref())
	}
	return strings.Join(out, " ")
}

func TestCollect(t *testing.T) {
	needsLinux(t)
	before, load := []Phase{PhaseBefore}, []Phase{PhaseLoad}
	n := &Node{Shell: hostShell{}, Origin: FromLocal, Probes: []ProbeSpec{
		{Name: "os", Command: said("echo hello; echo oops >&2; (exit 3)"), Phases: before, Tool: "sh", Version: "echo 'sh 1.2'"},
		{Name: "no-tool", Command: said("no-such-tool"), Phases: before, Tool: "no-such-tool"},
		{Name: "not-here", Command: said(""), Phases: before},
		{Name: "other-phase", Command: said("echo no"), Phases: load},
		{Name: "slow", Command: said("sleep 60"), Phases: before, Family: "vendor", Deadline: 300 * time.Millisecond},
		{Name: "each", Command: said(`echo "<$1>"`), Phases: before, Instances: "echo nvme0; echo '../x'; echo nvme1"},
	}}
	got, err := n.Collect(t.Context(), PhaseBefore)
	if err != nil {
		t.Fatal(err)
	}
	if refs(got) != "before/os before/no-tool before/slow before/each@nvme0 before/each@nvme1" {
		t.Fatalf("evidence %s", refs(got))
	}
	first := got[0]
	body, complete := first.Body()
	if strings.TrimSpace(string(body)) != "hello" || !complete || string(first.Err) != "oops\n" || first.Exit == nil || *first.Exit != 3 {
		t.Errorf("os: %+v", first)
	}
	if first.ToolVersion != "sh 1.2" || first.BootID == "" || first.NodeClock == "" || first.Source != FromLocal || first.SHA256Out != sum(first.Out) {
		t.Errorf("os: %+v", first)
	}
	if got[1].Ended != EndedNoTool || got[1].Exit != nil || got[1].Command != "no-such-tool" {
		t.Errorf("no-tool: %+v", got[1])
	}
	if got[2].Ended != EndedTimeout {
		t.Errorf("slow: %+v", got[2])
	}
	if body, _ := got[4].Body(); !strings.HasPrefix(string(body), "<nvme1>") {
		t.Errorf("instance: %q", body)
	}
}

// scripted answers facts and surveys, and hands every probe to run.
type scripted struct {
	run     func(line string) (Output, error)
	standIn string // a tool that the node says is a stand-in
}

func (scripted) Close() error { return nil }

func (s scripted) Run(_ context.Context, c Command) (Output, error) {
	verb, tools, ok := NodeCall(c.Line)
	switch {
	case ok && verb == "facts":
		var b strings.Builder
		for _, tool := range tools {
			fmt.Fprintf(&b, "tool %s\n", tool)
		}
		if s.standIn != "" {
			fmt.Fprintf(&b, "stand-in %s\n", s.standIn)
		}
		return Output{Out: []byte("boot b1\nuid 0\nclock 2026-11-30T14:00:00Z\n" + b.String() + "end\n"), Exit: new(int), Ended: EndedExit}, nil
	case ok && verb == "phase":
		return s.phase(tools, c)
	}
	return s.run(c.Line)
}

// phase answers with frames, as far as it gets.
func (s scripted) phase(args []string, c Command) (Output, error) {
	boot, jobs, err := PhaseJobs(args, c.Stdin)
	if err != nil {
		return Output{Ended: EndedExit, Exit: new(2), Err: []byte(err.Error())}, nil
	}
	send := func(text string) { _, _ = c.Stdout.Write([]byte(text)) }
	send(PhaseStart{BootID: boot, Clock: time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC)}.String())
	for _, j := range jobs {
		send(PhaseBegin(j.Name, time.Second))
		out, err := s.run(j.Command)
		if err != nil {
			return Output{Ended: EndedLost}, err
		}
		f := PhaseFrame{Name: j.Name, Ended: out.Ended, Began: time.Second, Done: 2 * time.Second, Out: out.Out, Err: out.Err}
		if out.Exit != nil {
			f.Exit = *out.Exit
		}
		send(f.String())
	}
	send(PhaseDone)
	return Output{Ended: EndedExit, Exit: new(int)}, nil
}

func probes(n int, family string) []ProbeSpec {
	var out []ProbeSpec
	for i := range n {
		out = append(out, ProbeSpec{Name: fmt.Sprint("p", i), Command: said(fmt.Sprint("echo ", i)), Phases: []Phase{PhaseBefore}, Family: family})
	}
	return out
}

// TestCollectFromAStandIn: what a stand-in printed says so, and nothing else does.
func TestCollectFromAStandIn(t *testing.T) {
	before := []Phase{PhaseBefore}
	n := &Node{Probes: []ProbeSpec{
		{Name: "nvlink", Command: said("x"), Phases: before, Tool: "nvidia-smi"},
		{Name: "nvidia-smi", Command: said("x"), Phases: before}, // finds its tool by itself
		{Name: "os", Command: said("x"), Phases: before},
		{Name: "lspci", Command: said("x"), Phases: before, Tool: "lspci"},
	}, Shell: scripted{standIn: "nvidia-smi", run: func(string) (Output, error) {
		return Output{Ended: EndedExit, Exit: new(int), Out: []byte("x")}, nil
	}}}
	got, err := n.Collect(t.Context(), PhaseBefore)
	if err != nil {
		t.Fatal(err)
	}
	var marked []string
	for _, e := range got {
		if e.StandIn {
			marked = append(marked, e.Probe)
		}
	}
	if !slices.Equal(marked, []string{"nvlink", "nvidia-smi"}) {
		t.Errorf("marked as a stand-in's: %v", marked)
	}
}

// TestCollectAtMostFour: on a real shell, each probe counts how many run beside it.
func TestCollectAtMostFour(t *testing.T) {
	needsLinux(t)
	for family, want := range map[string]int{"": atOnce, "nvidia-smi": 1} {
		dir := t.TempDir()
		all := probes(8, family)
		for i := range all {
			all[i].Command = said(fmt.Sprintf("cd %s && : >%d && sleep 0.3 && ls | wc -l && rm %d", dir, i, i))
		}
		got, err := (&Node{Shell: hostShell{}, Probes: all}).Collect(t.Context(), PhaseBefore)
		if err != nil || len(got) != len(all) {
			t.Fatalf("%d evidences, %v", len(got), err)
		}
		peak := 0
		for _, e := range got {
			body, _ := e.Body()
			n, err := strconv.Atoi(strings.TrimSpace(string(body)))
			if err != nil {
				t.Fatalf("%s: %q, %v", e.Ref(), body, err)
			}
			peak = max(peak, n)
		}
		if peak != want {
			t.Errorf("family %q: %d at once, want %d", family, peak, want)
		}
	}
}

// TestCollectLost: what was collected before the loss is kept, and the loss is an
// error that names the probe.
func TestCollectLost(t *testing.T) {
	gone := errors.New("cable pulled")
	n := &Node{Probes: probes(3, "one"), Shell: scripted{run: func(line string) (Output, error) {
		if strings.Contains(line, "echo 1") {
			return Output{Ended: EndedLost, Out: []byte("half")}, gone
		}
		return Output{Ended: EndedExit, Exit: new(int), Out: []byte("x")}, nil
	}}}
	got, err := n.Collect(t.Context(), PhaseBefore)
	if !errors.Is(err, gone) || !strings.Contains(err.Error(), "before/p1") {
		t.Errorf("error %v", err)
	}
	if refs(got) != "before/p0 before/p1" || got[1].Ended != EndedLost || got[1].Exit != nil {
		t.Errorf("evidence %s", refs(got))
	}
}

func TestRootThroughSudo(t *testing.T) {
	f := &Facts{UID: 1000, tools: map[string]bool{"sudo": true}}
	j := job{probe: ProbeSpec{Root: true}, command: "dmidecode; echo 'x'"}
	if got := f.elevated(j); !strings.Contains(got, `sudo -n env LC_ALL=C /bin/sh -c 'dmidecode; echo '\''x'\'''`) {
		t.Errorf("command %s", got)
	}
	f.UID = 0
	if got := f.elevated(j); got != j.command {
		t.Errorf("as root: %s", got)
	}
}

func TestFactsOfThisHost(t *testing.T) {
	needsLinux(t)
	f, _, err := askNode(t.Context(), hostShell{}, []string{"sh", "no-such-tool"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !f.Has("sh") || f.Has("no-such-tool") || f.BootID == "" || f.CPUs < 1 || f.Host == "" || f.skew.Abs() > time.Minute {
		t.Errorf("facts %+v", f)
	}
}

func TestParseFacts(t *testing.T) {
	for in, says := range map[string]string{
		"":                       "cut after 0 bytes",
		"boot b\nuid 0\n":        "cut after 13 bytes",
		"uid none\nend\n":        `uid is "none"`,
		"bash: no such file\n\n": "cut",
	} {
		if _, err := parseFacts([]byte(in)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: error %v, want %q", in, err, says)
		}
	}
}

func TestNodeCall(t *testing.T) {
	args := []string{"", "it's", "a b", "#rackproof x", "two\nlines"}
	verb, got, ok := NodeCall(nodeLine("poll", args, "echo"))
	if !ok || verb != "poll" || !slices.Equal(got, args) {
		t.Errorf("%q %q %v", verb, got, ok)
	}
	for _, line := range []string{"", "nvidia-smi -q -x", Wrap("set -- 'nvme0'; nvme list"), "set -- 'x #rackproof poll\n"} {
		if verb, args, ok := NodeCall(line); ok {
			t.Errorf("%q read as %s %q", line, verb, args)
		}
	}
}

func FuzzNodeCall(f *testing.F) {
	f.Add("set -- 'a' #rackproof poll\n", "it's")
	f.Fuzz(func(t *testing.T, line, arg string) {
		NodeCall(line)
		if verb, args, ok := NodeCall(nodeLine("poll", []string{arg}, "")); !ok || verb != "poll" || len(args) != 1 || args[0] != arg {
			t.Errorf("%q came back as %s %q %v", arg, verb, args, ok)
		}
	})
}

func FuzzParseFacts(f *testing.F) {
	f.Add([]byte("host h\nuid 0\ntool nvme\nend\n"))
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _ = parseFacts(b)
		parseSurvey(b)
	})
}

// flaky loses its connection on given commands.
type flaky struct {
	mu    sync.Mutex
	dials int
	fails int // commands to lose
	lines []string
}

func (f *flaky) dial(context.Context) (Shell, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dials++
	return f, nil
}

func (f *flaky) Close() error { return nil }

func (f *flaky) Run(_ context.Context, c Command) (Output, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines = append(f.lines, c.Line)
	if f.fails > 0 {
		f.fails--
		return Output{Ended: EndedLost}, errors.New("reset by peer")
	}
	return Output{Ended: EndedExit, Exit: new(int)}, nil
}

func TestRedialer(t *testing.T) {
	var notes []string
	f := &flaky{fails: 1}
	r := &Redialer{Dial: f.dial, Note: func(s string) { notes = append(notes, s) }}
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(t.Context(), Command{Line: "a"}); err != nil {
		t.Fatal(err)
	}
	if f.dials != 2 || strings.Join(f.lines, " ") != "a a" || len(notes) != 2 {
		t.Errorf("%d dials, lines %v, notes %q", f.dials, f.lines, notes)
	}
	f.fails = 2
	if out, err := r.Run(t.Context(), Command{Line: "b"}); !errors.Is(err, errLostTwice) || out.Ended != EndedLost {
		t.Errorf("lost twice: %+v, %v", out, err)
	}
	if _, err := r.Run(t.Context(), Command{Line: "c"}); err != nil {
		t.Errorf("after it: %v", err)
	}
}

func TestRedialerGivesUp(t *testing.T) {
	down := errors.New("silent")
	r := &Redialer{Patience: time.Millisecond, Dial: func(context.Context) (Shell, error) { return nil, down }}
	if err := r.Start(t.Context()); !errors.Is(err, down) {
		t.Errorf("start: %v", err)
	}
	if _, err := r.Run(t.Context(), Command{Line: "a"}); !errors.Is(err, ErrNodeLost) || !errors.Is(err, down) {
		t.Errorf("run: %v", err)
	}
}
