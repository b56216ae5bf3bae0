package nodetest

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
)

func acquire(t *testing.T, h *host, run, attempt string) string {
	t.Helper()
	return h.side("acquire", []string{"", run + "-" + attempt, "somebody@there", run, attempt, "10"}, strings.NewReader("script")).out
}

// The folder is one run's until it is released or dead.
func TestFolderBelongsToOneRun(t *testing.T) {
	h := newHost(newMachine(t, "hgx-h100-8", ""), Boot{}, nil)
	none := strings.NewReader("")
	if out := acquire(t, h, "a", "1"); !strings.Contains(out, "dir /run/rackproof/a-1\nstate new\n") {
		t.Errorf("first: %q", out)
	}
	if out := acquire(t, h, "a", "1"); !strings.Contains(out, "state same\n") {
		t.Errorf("again: %q", out)
	}
	if out := acquire(t, h, "b", "1"); !strings.HasPrefix(out, "held\n") || !strings.Contains(out, "owner somebody@there\nrun a\n") {
		t.Errorf("foreign: %q", out)
	}
	if out := h.side("release", []string{"", "b"}, none).out; !strings.HasPrefix(out, "held\n") {
		t.Errorf("foreign release of a living run: %q", out)
	}
	if out := h.side("poll", []string{"/run/rackproof/b-1", "1000"}, none).out; out != "nofolder\n" {
		t.Errorf("foreign poll: %q", out)
	}
	if out := h.side("release", []string{"", "a"}, none).out; !strings.HasSuffix(out, "end\n") {
		t.Errorf("release: %q", out)
	}
	if out := acquire(t, h, "b", "1"); !strings.Contains(out, "state new\n") {
		t.Errorf("after the release: %q", out)
	}
}

// A load runs on without us, and ends when nobody has asked for too long.
func TestDeadMan(t *testing.T) {
	counted := 0
	h := newHost(newMachine(t, "hgx-h100-8", ""), Boot{}, func(string) { counted++ })
	acquire(t, h, "a", "1")
	start := func() string {
		return h.side("start", []string{"/run/rackproof/a-1", "gpu-burn", "load", "600", "19"}, strings.NewReader("exec ./gpu_burn 300")).out
	}
	if first, second := start(), start(); first != "started\n" || second != "exists\n" || counted != 1 {
		t.Errorf("start: %q, again: %q, counted %d", first, second, counted)
	}
	now := time.Now()
	soon, later := now.Add(8*time.Second), now.Add(30*time.Second)
	if s := h.snapshot(soon); s.Load < 7*time.Second || s.gpus()[0].Utilisation != 100 {
		t.Errorf("after 8 s: load %s", s.Load)
	}
	h.folder.expire(soon)
	if h.folder.ended != "" {
		t.Errorf("ended by %s within the patience", h.folder.ended)
	}
	h.folder.expire(later)
	if s := h.snapshot(later); h.folder.ended != "dead-man" || s.Load != 0 || s.gpus()[0].Utilisation != 0 {
		t.Errorf("after 30 s of silence: ended %q, load %s", h.folder.ended, s.Load)
	}
}

// Samples are drawn for every second of the load, and a poll brings each byte once.
func TestSamples(t *testing.T) {
	h := newHost(newMachine(t, "l40s-8", ""), Boot{}, nil)
	acquire(t, h, "a", "1")
	dir := "/run/rackproof/a-1"
	sample := burnin.NvidiaSMI.Spec.Sample(nil)
	h.side("start", []string{dir, "sample-nvidia-smi", "sample", "600", strconv.Itoa(len(sample))}, strings.NewReader(sample))
	h.side("start", []string{dir, "gpu-burn", "load", "600", "19"}, strings.NewReader("exec ./gpu_burn 300"))
	h.folder.units["sample-nvidia-smi"].next = time.Now().Add(-3200 * time.Millisecond)
	for _, u := range h.units {
		u.start = u.start.Add(-3200 * time.Millisecond)
	}
	out := h.side("poll", []string{dir, "1000000"}, strings.NewReader("")).out
	head, rest, ok := strings.Cut(out, "file samples/sample-nvidia-smi 0 ")
	if !ok || !strings.Contains(head, "unit gpu-burn load ") {
		t.Fatalf("poll: %.300q", out)
	}
	_, body, _ := strings.Cut(rest, "\n")
	samples, err := burnin.ParseSamples([]byte(strings.TrimSuffix(body, "\nend\n")))
	if err != nil || len(samples) != 4 {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	log, err := burnin.NvidiaSMI.Parse(&burnin.Evidence{Out: samples[3].Out, Ended: burnin.EndedExit})
	if err != nil || len(log.GPUs) != 8 || log.GPUs[0].LinkGen.V != 4 || log.GPUs[0].Utilisation.V != 100 {
		t.Errorf("sample under load: %+v, %v", log, err)
	}
	h.side("stop", []string{dir, "stop"}, strings.NewReader(""))
	if out := h.side("poll", []string{dir, "1000000", "samples/sample-nvidia-smi", itoa(len(h.folder.units["sample-nvidia-smi"].samples))}, strings.NewReader("")).out; strings.Contains(out, "file samples") || !strings.HasPrefix(out, "ended stop\n") {
		t.Errorf("second poll: %.200q", out)
	}
}

// A GPU that falls off the bus under load stays away until the next boot.
func TestGPUFallsUnderLoad(t *testing.T) {
	h := newHost(newMachine(t, "hgx-h100-8", "xid79"), Boot{}, nil)
	now := time.Now()
	if s := h.snapshot(now); len(s.gpus()) != 8 {
		t.Errorf("%d GPUs before the load", len(s.gpus()))
	}
	h.units = append(h.units, h.newUnit("gpu-burn", "load", "exec ./gpu_burn 5", time.Minute, now))
	for _, at := range []time.Duration{3 * time.Second, time.Minute} {
		s := h.snapshot(now.Add(at))
		if len(s.gpus()) != 7 || !strings.Contains(s.dmesg(), "): 79,") || !strings.Contains(s.lspci(), "(rev ff)") {
			t.Errorf("%s after the load began: %d GPUs", at, len(s.gpus()))
		}
	}
}

// A node that is off does not answer, and one that was booted anew has forgotten.
func TestDownAndUp(t *testing.T) {
	m := newMachine(t, "hgx-h100-8", "")
	n, sh := bootNode(t, m)
	run := func(sh burnin.Shell, line string) (burnin.Output, error) {
		return sh.Run(t.Context(), burnin.Command{Line: line, Deadline: 5 * time.Second})
	}
	if out, err := run(sh, "cat /proc/cmdline"); err != nil || !strings.Contains(string(out.Out), "rackproof.token=abc") {
		t.Errorf("cmdline %q, %v", out.Out, err)
	}
	if out, err := run(sh, "reboot-the-moon"); err != nil || *out.Exit != 127 {
		t.Errorf("unknown command: %+v, %v", out, err)
	}
	n.Down()
	if _, err := run(sh, "true"); err == nil {
		t.Error("a node that is down answered")
	}
	key := newSigner(t)
	if err := n.Boot(t.Context(), Boot{HostKey: key, AuthorizedKey: key.PublicKey(), BootID: "another"}); err != nil {
		t.Fatal(err)
	}
	out, err := run(dial(t, n, key, key), "cat /proc/sys/kernel/random/boot_id")
	if err != nil || strings.TrimSpace(string(out.Out)) != "another" {
		t.Errorf("boot id %q, %v", out.Out, err)
	}
	if got := n.Acts()["boot"]; got != 2 {
		t.Errorf("%d boots", got)
	}
}

// A command that hangs does not hold up the end of the node.
func TestHangEndsWithTheNode(t *testing.T) {
	n, sh := bootNode(t, newMachine(t, "hgx-h100-8", "hung-nvidia-smi"))
	done := make(chan error, 1)
	go func() {
		_, err := sh.Run(t.Context(), burnin.Command{Line: "nvidia-smi -q -x", Deadline: time.Minute})
		done <- err
	}()
	timeout := time.NewTimer(20 * time.Second)
	defer timeout.Stop()
	if out, err := sh.Run(t.Context(), burnin.Command{Line: "nvidia-smi -q -x", Deadline: 300 * time.Millisecond}); err != nil || out.Ended != burnin.EndedTimeout {
		t.Errorf("%+v, %v", out, err)
	}
	n.Down()
	select {
	case err := <-done:
		if err == nil || errors.Is(err, io.EOF) {
			t.Errorf("the hung command ended with %v", err)
		}
	case <-timeout.C:
		t.Error("the hung command outlived the node")
	}
}
