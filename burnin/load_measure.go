package burnin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// aloneOf are the loads that measure alone; they come first.
func aloneOf(loads []Load) []Load {
	n := slices.IndexFunc(loads, func(l Load) bool { return l.Alone == 0 })
	if n < 0 {
		n = len(loads)
	}
	return loads[:n]
}

// command is what a load runs: one that measures alone has a time of its own.
func (r *loadRun) command(l Load) string {
	if l.Alone > 0 {
		return l.Command(r.node.profile(), l.Alone)
	}
	return r.commandOf(l, r.stretchesOf(l)[0])
}

// busy reports whether a unit is one of the loads that keep the machine busy.
func (r *loadRun) busy(u unitState) bool {
	return slices.ContainsFunc(r.loads, func(l Load) bool {
		return slices.ContainsFunc(r.stretchesOf(l), func(s stretch) bool { return s.unit() == u.name })
	})
}

// measure runs what measures alone, one after the other, before anything else works. Where
// the machine is being loaded already, another process of this run has done it.
func (r *loadRun) measure(ctx context.Context) error {
	if len(r.alone) == 0 {
		return nil
	}
	report, err := r.fetch(ctx)
	if err != nil || slices.ContainsFunc(report.units, r.busy) {
		return err
	}
	r.began = time.Now()
	for _, l := range r.alone {
		if err := r.measureOne(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// measureOne starts a load that measures, or finds it running, and waits for its end.
func (r *loadRun) measureOne(ctx context.Context, l Load) error {
	if err := r.folder.start(ctx, l.Name, "load", r.command(l), l.Alone+2*overtime); err != nil {
		return err
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for late := time.Now().Add(l.Alone + overtime); ; {
		report, err := r.fetch(ctx)
		if err != nil {
			return err
		}
		r.last = report
		u := unitOf(report.units, l.Name)
		switch {
		case cut(report.ended) != nil:
			return cut(report.ended)
		case report.ended != "": // nobody went on with the next one in time
			return errSilence
		case u.state == "exit", u.state == "gone":
			return nil
		case time.Now().After(late):
			r.note(l.Name + " hangs on the node and could not be ended")
			return nil
		}
		r.node.tell(Progress{Phase: PhaseLoad, Doing: l.Name, Left: max(time.Until(late), 0)})
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// bounded ends a command that hangs: what runs alone would keep all others waiting. The
// program's own status is kept, 124 is that of timeout.
func bounded(d time.Duration, command string) string {
	return fmt.Sprintf("exec timeout -k 10 %d %s", seconds(d), command)
}

// nvbandwidth measures every GPU and every pair, by the tests that gpu.copy judges.
func nvbandwidth(_ *profiles.Profile, d time.Duration) string {
	var names []string
	for _, t := range copyTests {
		names = append(names, t.name)
	}
	return byPCI + bounded(d, "nvbandwidth -j -t "+strings.Join(names, " "))
}

// nvbandwidthLoop keeps the links busy where nothing is there that computes.
func nvbandwidthLoop(_ *profiles.Profile, d time.Duration) string {
	return fmt.Sprintf(`end=$(($(date +%%s) + %d)); rc=0
while [ "$(date +%%s)" -lt "$end" ]; do
	nvbandwidth -t host_to_device_memcpy_ce device_to_host_memcpy_ce || { rc=$?; break; }
done
exit $rc`, seconds(d))
}

// allReduce adds up the profile's size over all GPUs, and compares the results. Of a
// profile without a size it takes one that fits into every GPU.
func allReduce(p *profiles.Profile, d time.Duration) string {
	mib := 1024
	if size := p.GPU.NCCL.Size; size.Set() {
		mib = int(size.Number(profiles.MiB))
	}
	gpus := 1
	if n, set := wantedGPUs(p); set {
		gpus = n
	}
	return byPCI + bounded(d, fmt.Sprintf("all_reduce_perf -b %dM -e %dM -g %d -c 1", mib, mib, gpus))
}
