package burnin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rackproof/rackproof/profiles"
)

const (
	// bugReportTool collects what NVIDIA's support wants.
	bugReportTool = "nvidia-bug-report.sh"
	// bugReportFor is how long it may take: it asks every GPU for all, and one that is
	// lost keeps it waiting.
	bugReportFor = 10 * time.Minute
	// bugReportMiB bounds its file, which is in the node's memory for a while.
	bugReportMiB = 64
	// freezeFor bounds all that is frozen, the BMC's part too.
	freezeFor = 25 * time.Minute
)

// fault is what was found while the load ran: first its evidence is frozen, then the spec's
// policy acts.
type fault struct {
	watch  *fatalWatch
	since  time.Time     // zero = nothing was found
	words  string        // of the first
	frozen chan struct{} // closed when all is kept
}

// faultNotice says before anything runs what a fatal fault does: the collection is work on
// the node too.
func faultNotice(onFail profiles.OnFail) string {
	then := "the loads on the other parts go on"
	if onFail == profiles.StopMachine {
		then = "all loads end"
	}
	return fmt.Sprintf("At a fatal fault first keeps the kernel log, nvidia-smi -q and %s (%s at most), then %s.", bugReportTool, span(bugReportFor), then)
}

// look finds faults in what was just fetched; the first one freezes the evidence. over is
// set when the loads are to end now.
func (r *loadRun) look(ctx context.Context, group *errgroup.Group, report *report) (over bool) {
	found := r.fault.watch.look()
	for _, text := range append(found, r.dropLost(ctx, report)...) {
		if !r.fault.since.IsZero() {
			r.note("under load: " + text)
			continue
		}
		r.fault.since, r.fault.words, r.fault.frozen = time.Now(), text, make(chan struct{})
		r.note(fmt.Sprintf("under load since %s: %s; its evidence is being kept; %s", r.began.UTC().Format("15:04:05 UTC"), text, r.goesOnAs()))
		lost := r.fault.watch.lost || len(r.dropped()) > 0
		group.Go(func() error {
			defer close(r.fault.frozen)
			return r.freeze(ctx, lost)
		})
	}
	if r.fault.since.IsZero() || r.OnFail != profiles.StopMachine {
		return false
	}
	select {
	case <-r.fault.frozen:
		return true
	default:
		return false
	}
}

// doing is what the machine does, and since when with a fault.
func (r *loadRun) doing(load string) string {
	if r.fault.since.IsZero() {
		return load
	}
	return fmt.Sprintf("%s; %s since %s", load, r.fault.words, r.fault.since.UTC().Format("15:04:05 UTC"))
}

// goesOnAs says what becomes of the loads.
func (r *loadRun) goesOnAs() string {
	if r.OnFail == profiles.StopMachine {
		return "then the loads end, as the spec wants it"
	}
	return "the loads on the other parts go on until " + r.began.Add(r.span).UTC().Format("Mon 15:04 UTC")
}

// freeze keeps what a fault leaves behind before anything changes it. What cannot be kept
// is said by its evidence, and ends nothing.
func (r *loadRun) freeze(ctx context.Context, lost bool) error {
	ctx, cancel := context.WithTimeout(ctx, freezeFor)
	defer cancel()
	group, gctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return errors.Join(
			r.freezeOne(gctx, "freeze-kernel-log", "", KernelLog.Spec.Command(r.node.profile()), time.Minute),
			r.freezeOne(gctx, "freeze-nvidia-smi", "nvidia-smi", "nvidia-smi -q", r.patience(NvidiaSMI.Spec.Name)),
			r.freezeOne(gctx, "freeze-bug-report", bugReportTool, r.bugReport(lost), bugReportFor+time.Minute),
		)
	})
	if r.Freeze != nil {
		group.Go(func() error {
			got, err := r.Freeze(gctx)
			if err != nil {
				r.note("of the BMC not all could be kept: " + err.Error())
			}
			for _, e := range got {
				if err := r.Store.Add(e); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// patience is how long a probe may take on this node.
func (r *loadRun) patience(probe string) time.Duration {
	i := slices.IndexFunc(r.node.Probes, func(p ProbeSpec) bool { return p.Name == probe })
	if i < 0 {
		return probeDeadline
	}
	return deadlineOf(r.node.Probes[i])
}

// bugReport is the command line of the tool: its file goes into our folder, which is in
// memory, and comes off the node as the output. Its safe mode leaves out what hangs where
// a GPU does not answer.
func (r *loadRun) bugReport(lost bool) string {
	mode := ""
	if lost {
		mode = " --safe-mode"
	}
	return fmt.Sprintf(`cd %s || exit 1
TMPDIR=. timeout -k 10 %d %s%s --output-file bug-report.log >&2 </dev/null; rc=$?
for f in bug-report.log.gz bug-report.log; do [ -f "$f" ] && break; done
head -c %d "$f"
rm -f bug-report.log bug-report.log.gz
exit $rc`, shellQuote(r.folder.dir), seconds(bugReportFor), bugReportTool, mode, bugReportMiB<<20)
}

// asRoot runs a command as root where that asks no password.
func (r *loadRun) asRoot(command string) string {
	return r.facts.elevated(job{probe: ProbeSpec{Root: true}, command: command})
}

// freezeOne runs one command and keeps what it printed. The error is that of the store.
func (r *loadRun) freezeOne(ctx context.Context, name, tool, command string, deadline time.Duration) error {
	e := &Evidence{
		Probe: name, Phase: PhaseLoad, Command: command, Source: r.node.Origin, Started: time.Now(), BootID: r.boot,
		Ended: EndedNoTool, StandIn: r.facts.StandsIn(tool), Simulated: r.facts.Simulated(),
	}
	if r.facts.Has(tool) {
		out, err := r.node.Shell.Run(ctx, Command{Line: r.asRoot(command), Deadline: deadline, Limit: (bugReportMiB + 1) << 20})
		if ctx.Err() != nil {
			return nil // we end, which says nothing about the node
		}
		e.Out, e.Err, e.Exit, e.Ended, e.Seconds = out.Out, out.Err, out.Exit, out.Ended, out.Seconds
		if err != nil && len(e.Err) == 0 {
			e.Err = []byte(strings.TrimSpace(err.Error()) + "\n")
		}
	}
	return r.Store.Add(e)
}
