package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/rackproof/rackproof/burnin"
)

// Local is a burnin.Shell on this machine. Each command is a process group of its
// own, which is killed as a whole when its time is up. Safe for concurrent use.
type Local struct{}

var _ burnin.Shell = Local{}

// Close does nothing: a local shell holds nothing.
func (Local) Close() error { return nil }

// Run implements burnin.Shell.
func (Local) Run(ctx context.Context, c burnin.Command) (burnin.Output, error) {
	c = withDefaults(c)
	st := newStreams(c)
	cmd := exec.Command("/bin/sh", "-c", prelude, argZero, guardSeconds(c.Deadline), c.Line) //nolint:noctx // ended by process group below, and never waited for
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, &st.out, &st.err
	cmd.WaitDelay = time.Second // a child that was left in the background may hold our pipes
	ownGroup(cmd)
	if err := ctx.Err(); err != nil {
		return st.output(burnin.EndedLost, nil), err
	}
	if err := cmd.Start(); err != nil {
		return st.output(burnin.EndedLost, nil), fmt.Errorf("this machine: start /bin/sh: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	timer := time.NewTimer(c.Deadline)
	defer timer.Stop()
	select {
	case err := <-done:
		return localEnd(st, cmd, err)
	case <-timer.C:
		killGroup(cmd)
		return st.output(burnin.EndedTimeout, nil), nil
	case <-ctx.Done():
		killGroup(cmd)
		return st.output(burnin.EndedLost, nil), fmt.Errorf("this machine: %w", context.Cause(ctx))
	}
}

func localEnd(st *streams, cmd *exec.Cmd, err error) (burnin.Output, error) {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		code := cmd.ProcessState.ExitCode()
		return st.output(burnin.EndedExit, &code), nil
	case errors.As(err, &exit) && exit.ExitCode() < 0:
		return st.output(burnin.EndedSignal, nil), nil
	case errors.As(err, &exit):
		code := exit.ExitCode()
		return st.output(burnin.EndedExit, &code), nil
	}
	return st.output(burnin.EndedLost, nil), fmt.Errorf("this machine: %w", err)
}
