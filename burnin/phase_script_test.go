package burnin

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// phaseShells are the shells that a node may have as sh.
func phaseShells(t *testing.T) map[string][]string {
	t.Helper()
	needsLinux(t)
	all := map[string][]string{}
	for name, argv := range map[string][]string{"sh": {"sh"}, "dash": {"dash"}, "busybox": {"busybox", "sh"}, "bash": {"bash", "--posix"}} {
		if _, err := exec.LookPath(argv[0]); err == nil {
			all[name] = argv
		}
	}
	return all
}

// phaseCall is the script with the jobs of a test, each with a second.
func phaseCall(t *testing.T, limit int, jobs ...PhaseJob) string {
	t.Helper()
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	words := []string{"2", strconv.Itoa(limit), strings.TrimSpace(string(boot))}
	for _, j := range jobs {
		words = append(words, j.Name, strconv.Itoa(j.Lane), "1", "0", j.Command)
	}
	return nodeLine("phase", words, phaseScript)
}

func runPhase(t *testing.T, argv []string, line string) *phaseRead {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], append(argv[1:], "-c", line)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &errs, time.Second
	began := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v after %s: %s", err, time.Since(began), errs.Bytes())
	}
	got := readPhase(out.Bytes(), 4096)
	if got.err != nil || !got.whole {
		t.Fatalf("whole %v, %v: %q, %s", got.whole, got.err, out.Bytes(), errs.Bytes())
	}
	if left, _ := filepath.Glob("/dev/shm/rackproof-phase." + strconv.Itoa(cmd.Process.Pid)); len(left) > 0 {
		t.Errorf("left on the node: %v", left)
	}
	return got
}

// TestPhaseScript: what the node's half says of commands of every kind, in every shell.
func TestPhaseScript(t *testing.T) {
	stubborn := "trap '' TERM HUP INT; echo begun; while :; do sleep 1; done"
	jobs := []PhaseJob{
		{Name: "says", Lane: 0, Command: Wrap(`printf 'a\000b\nend x 0 1.00 1.00 0 0\n'; printf "it's \303\244\n" >&2; (exit 3)`)},
		{Name: "quiet", Lane: 1, Command: "cat"},
		{Name: "killed", Lane: 2, Command: Wrap("echo half; kill -9 $$")},
		{Name: "cut", Lane: 3, Command: "exec head -c 300000 /dev/zero"},
		{Name: "leaves", Lane: 4, Command: "sleep 30 & echo left"},
		{Name: "hangs", Lane: 5, Command: stubborn},
		{Name: "hangs-too", Lane: 5, Command: stubborn},
		{Name: "last", Lane: 5, Command: "echo ran"},
	}
	for name, argv := range phaseShells(t) {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			got := runPhase(t, argv, phaseCall(t, 100000, jobs...))
			if took := time.Since(began); took > 12*time.Second {
				t.Errorf("waited %s for commands that hang", took)
			}
			said := map[string]string{}
			for _, f := range got.frames {
				said[f.Name] = fmt.Sprintf("%s %d %q %q", f.Ended, f.Exit, f.Out[:min(len(f.Out), 60)], f.Err)
				if f.Name == "cut" && len(f.Out) != 100000 {
					t.Errorf("%d bytes of what was cut", len(f.Out))
				}
				if f.Done < f.Began || f.Done-f.Began > 5*time.Second {
					t.Errorf("%s took from %s to %s", f.Name, f.Began, f.Done)
				}
			}
			zeros := strings.Repeat(`\x00`, 60)
			want := map[string]string{
				"says":   `exit 3 "a\x00b\nend x 0 1.00 1.00 0 0\n\n#rackproof-end 3\n" "it's ä\n"`,
				"quiet":  `exit 0 "" ""`,
				"killed": `signal 0 "half\n" ""`,
				"cut":    `lost 0 "` + zeros + `" ""`,
				"leaves": `exit 0 "left\n" ""`,
				"hangs":  `timeout 0 "begun\n" ""`, "hangs-too": `timeout 0 "begun\n" ""`,
				"last": `exit 0 "ran\n" ""`,
			}
			for name, want := range want {
				if said[name] != want {
					t.Errorf("%s: %s, want %s", name, said[name], want)
				}
			}
			if len(said) != len(want) {
				t.Errorf("%d frames", len(said))
			}
		})
	}
}

// TestPhaseScriptNoWait: a process that a kill does not end, as one in the D state, is
// told as hung and left alone.
func TestPhaseScriptNoWait(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	for name, argv := range phaseShells(t) {
		line := phaseCall(t, 1000, PhaseJob{Name: "hangs", Command: "echo $$ >" + pid + "; echo begun; exec sleep 60"}, PhaseJob{Name: "next", Lane: 0, Command: "echo ran"})
		spared := strings.Replace(line, "\nend_group() {", "\nend_group() { return; ", 1)
		if spared == line {
			t.Fatal("the script ends processes in another way")
		}
		got := runPhase(t, argv, spared)
		if len(got.frames) != 2 || got.frames[0].Ended != EndedTimeout || string(got.frames[0].Out) != "begun\n" || string(got.frames[1].Out) != "ran\n" {
			t.Errorf("%s: %+v", name, got.frames)
		}
		kill(t, pid)
	}
}

func kill(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || n < 2 {
		t.Fatalf("pid %q, %v", b, err)
	}
	if err := syscall.Kill(-n, syscall.SIGKILL); err != nil {
		t.Errorf("the process was ended already: %v", err)
	}
}

// TestPhaseScriptKilled: who ends the phase on the node ends its probes, within moments.
func TestPhaseScriptKilled(t *testing.T) {
	alive := filepath.Join(t.TempDir(), "alive")
	for name, argv := range phaseShells(t) {
		line := phaseCall(t, 1000, PhaseJob{Name: "runs", Command: "while :; do date +%N >" + alive + "; sleep 0.1; done"})
		line = strings.Replace(line, "'1' '0'", "'60' '60'", 1)
		cmd := exec.CommandContext(t.Context(), argv[0], append(argv[1:], "-c", line)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		still := func() string { b, _ := os.ReadFile(alive); return string(b) }
		soon(t, name+": the probe begins", func() bool { return still() != "" })
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		// The next phase on the node must not take from the guard what it has to end.
		if next := runPhase(t, argv, phaseCall(t, 1000, PhaseJob{Name: "next", Command: "echo ran"})); len(next.frames) != 1 || string(next.frames[0].Out) != "ran\n" {
			t.Errorf("%s: the next phase: %+v", name, next.frames)
		}
		soon(t, name+": the probe ends", func() bool {
			last := still()
			<-time.After(400 * time.Millisecond)
			return still() == last
		})
		if err := os.Remove(alive); err != nil {
			t.Fatal(err)
		}
	}
}

func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(15 * time.Second); !is(); <-time.After(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal(what, ": not within 15 s")
		}
	}
}

// TestPhaseOnStdin: jobs that are too long for a command line travel on stdin.
func TestPhaseOnStdin(t *testing.T) {
	needsLinux(t)
	all := probes(60, "")
	long := strings.Repeat("it's long\n", 200)
	for i := range all {
		all[i].Command = said(fmt.Sprintf("cat <<'E'\n%d %sE", i, long))
	}
	got, err := (&Node{Shell: hostShell{}, Probes: all}).Collect(t.Context(), PhaseBefore)
	if err != nil || len(got) != len(all) {
		t.Fatalf("%d evidences, %v", len(got), err)
	}
	for i, e := range got {
		if body, whole := e.Body(); string(body) != fmt.Sprint(i, " ", long) || !whole {
			t.Errorf("%s: %d bytes, whole %v: %s", e.Ref(), len(body), whole, e.Err)
		}
	}
}

// TestPhaseFitsACommand: what is sent fits a word of a command, with everything that we run
// on a machine of many drives.
func TestPhaseFitsACommand(t *testing.T) {
	n := &Node{Probes: Probes()}
	looked := &bootSeen{facts: &Facts{UID: 1000, tools: map[string]bool{}}, survey: &survey{instances: map[string][]string{}}}
	for _, tool := range tools(Probes(), "sudo") {
		looked.facts.tools[tool] = true
	}
	for i := range 24 {
		for _, p := range []string{"nvme-smart", "smartctl"} {
			looked.survey.instances[p] = append(looked.survey.instances[p], fmt.Sprintf("nvme%d", i))
		}
	}
	for _, phase := range []Phase{PhaseBefore, PhaseLoad, PhaseAfter} {
		jobs := n.listJobs(phase, looked)
		c := phaseCommand("b1", phaseJobs(jobs, looked.facts, nil), nil)
		t.Logf("%s: %d jobs, %d bytes, %v", phase, len(jobs), len(c.Line), c.Deadline)
		if c.Stdin != nil {
			t.Errorf("phase %s of a machine with 24 drives is too long for a command line", phase)
		}
	}
}

// FuzzPhaseJobs: what a node is told, the other side reads back, and no text upsets it.
func FuzzPhaseJobs(f *testing.F) {
	f.Add("nvme-smart@nvme0", "set -- 'nvme0'; nvme smart-log \"$1\"\n", 3, "'2' '9' 'b1' 'os' '0' 'x'")
	f.Fuzz(func(t *testing.T, name, command string, n int, text string) {
		_, _, _ = PhaseJobs(nil, strings.NewReader(text))
		job := PhaseJob{Name: name, Command: command, Deadline: time.Duration(n&0xffff) * time.Second, AfterHang: time.Second}
		for _, jobs := range [][]PhaseJob{{job}, slices.Repeat([]PhaseJob{job}, 1+lineLimit/(20+len(name)+len(command)))} {
			c := phaseCommand("b1", jobs, nil)
			verb, args, ok := NodeCall(c.Line)
			boot, got, err := PhaseJobs(args, c.Stdin)
			if !ok || verb != "phase" || err != nil || boot != "b1" || !slices.Equal(got, jobs) {
				t.Fatalf("%q %q came back as %s %s %v, %v", name, command, verb, boot, got, err)
			}
		}
	})
}
