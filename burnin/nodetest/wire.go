package nodetest

import (
	"bytes"
	"context"
	"io"
	"strings"
	"time"

	"github.com/rackproof/rackproof/burnin"
)

// Wire is a shell on a machine that has booted, without a network between: what it
// answers is what a Node answers over SSH. Time may be that of testing/synctest, so
// that an hour under load takes no time.
func Wire(m *Machine, b Boot) burnin.Shell {
	return &wire{newHost(m.clone(), b, func(string) {})}
}

type wire struct{ host *host }

// Run answers as a session does; a command that never ends is given up at its
// deadline.
func (w *wire) Run(ctx context.Context, c burnin.Command) (burnin.Output, error) {
	out := burnin.Output{Started: time.Now(), Ended: burnin.EndedExit}
	stdin := c.Stdin
	if stdin == nil {
		stdin = strings.NewReader("")
	}
	var kept bytes.Buffer
	stdout := c.Stdout
	if stdout == nil {
		stdout = &kept
	}
	given, cancel := context.WithTimeout(ctx, max(c.Deadline, time.Second))
	defer cancel()
	r := w.host.run(given, c.Line, stdin, stdout)
	if !r.hang {
		_, _ = io.WriteString(stdout, r.out)
		out.Out, out.Err, out.Exit = kept.Bytes(), []byte(r.err), &r.exit
		return out, ctx.Err()
	}
	<-given.Done()
	out.Ended, out.Seconds = burnin.EndedTimeout, time.Since(out.Started).Seconds()
	return out, ctx.Err()
}

func (w *wire) Close() error { return nil }

// EndLoads ends every load that runs with an exit status that is not its own, as the
// kernel does that wants their memory back.
func (w *wire) EndLoads(exit int) {
	w.host.mu.Lock()
	defer w.host.mu.Unlock()
	now := time.Now()
	for _, u := range w.host.units {
		if u.kind == "load" && now.Before(u.end()) {
			u.length, u.exit = now.Sub(u.start), exit
		}
	}
}
