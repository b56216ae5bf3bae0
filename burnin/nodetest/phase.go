package nodetest

import (
	"cmp"
	"context"
	"io"
	"slices"
	"time"

	"github.com/rackproof/rackproof/burnin"
)

// told is something that a phase says, some time after it began.
type told struct {
	at   time.Duration
	text string
}

// phase answers a phase of probes as its script does on a node: a command that never
// ends takes its deadline, and those after it in its lane the short one. It ends early
// with ctx. Only jobs that hang take time.
func (h *host) phase(ctx context.Context, args []string, stdin io.Reader, out io.Writer) reply {
	bootID, jobs, err := burnin.PhaseJobs(args, stdin)
	if err != nil {
		return reply{err: err.Error() + "\n", exit: 2}
	}
	now := h.now()
	start := burnin.PhaseStart{BootID: now.BootID, Clock: now.Now, Uptime: now.Now.Sub(now.Booted)}
	_, _ = io.WriteString(out, start.String())
	if bootID != start.BootID {
		return reply{}
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	began := time.Now()
	for _, t := range h.tell(jobs, start.Uptime) {
		if wait := t.at - time.Since(began); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return reply{hang: true}
			}
		}
		if _, err := io.WriteString(out, t.text); err != nil {
			return reply{exit: 141} // killed by SIGPIPE
		}
	}
	_, _ = io.WriteString(out, burnin.PhaseDone)
	return reply{}
}

// tell answers every job, in the order in which they end.
func (h *host) tell(jobs []burnin.PhaseJob, up time.Duration) []told {
	var all []told
	var at time.Duration // in the lane
	for i, j := range jobs {
		if i > 0 && jobs[i-1].Lane != j.Lane {
			at = 0
		}
		command, wrapped := unwrap(j.Command)
		r := h.now().command(command)
		if wrapped && !r.hang {
			r.out += endLine(r.exit)
		}
		f := burnin.PhaseFrame{Name: j.Name, Ended: burnin.EndedExit, Exit: r.exit, Began: up + at, Out: []byte(r.out), Err: []byte(r.err)}
		all = append(all, told{at, burnin.PhaseBegin(j.Name, f.Began)})
		if r.hang {
			f.Ended = burnin.EndedTimeout
			if at > 0 {
				at += j.AfterHang
			} else {
				at += j.Deadline
			}
		}
		f.Done = up + at
		all = append(all, told{at, f.String()})
	}
	slices.SortStableFunc(all, func(a, b told) int { return cmp.Compare(a.at, b.at) })
	return all
}
