package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// hostAgent is what the image runs at the other end of the port.
func hostAgent(t *testing.T, stale string) *agent {
	t.Helper()
	near, far := connPair(t)
	go func() {
		_, _ = fmt.Fprint(far, stale)
		lines := bufio.NewScanner(far)
		for lines.Scan() {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", lines.Text())
			out, _ := cmd.CombinedOutput()
			_, _ = fmt.Fprintf(far, "%src=%d\n", out, cmd.ProcessState.ExitCode())
		}
	}()
	t.Cleanup(func() { _ = errors.Join(near.Close(), far.Close()) })
	return newAgent(near)
}

func TestAgent(t *testing.T) {
	a := hostAgent(t, "left from before\nrc=0\n")
	for _, c := range []struct {
		line, want, fails string
	}{
		{line: "echo one; echo rc=text", want: "one\nrc=text\n"},
		{line: "true"},
		{line: "echo broken >&2; exit 3", want: "broken\n", fails: "status 3: broken"},
	} {
		got, err := a.run(t.Context(), c.line)
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.line, got, c.want)
		}
		if (c.fails == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %v, want %q", c.line, err, c.fails)
		}
	}
}

// Nobody listens: the line must not run later, when somebody does.
func TestAgentThatIsNotThere(t *testing.T) {
	near, far, err := socketPair("agent")
	if err != nil {
		t.Fatal(err)
	}
	a := newAgent(near)
	defer a.close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := a.launch(ctx, "echo DANGER"); !errors.Is(err, errNoAgent) {
		t.Errorf("launch: %v", err)
	}
	b := make([]byte, 4096)
	n, err := far.Read(b)
	if err != nil || strings.Contains(string(b[:n]), "DANGER") {
		t.Errorf("left in the port: %q, %v", b[:n], err)
	}
	_ = far.Close()
}
