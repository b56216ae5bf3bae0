package burnin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// atOnce is how many probes run at once on a node: enough to hide the round
	// trips, too few to disturb what is measured.
	atOnce = 4
	// afterHang bounds the probes of a family of which one has hung: the next would
	// hang too, and each must still say so itself.
	afterHang = 10 * time.Second
	// probeDeadline is that of a probe which states none.
	probeDeadline = time.Minute
)

// job is one evidence to be collected.
type job struct {
	probe    ProbeSpec
	instance string
	command  string
	missing  bool // the tool is not on the node
	index    int
}

func (j job) name() string { return (&Evidence{Probe: j.probe.Name, Instance: j.instance}).Name() }

// collect runs the probes of a phase, without those that skip names. each, when
// not nil, is handed every evidence at once; its error ends the collection.
func (n *Node) collect(ctx context.Context, phase Phase, skip func(name string) bool, each func(*Evidence) error) ([]*Evidence, error) {
	facts, err := n.Facts(ctx)
	if err != nil {
		return nil, err
	}
	found, err := n.surveyed(ctx, facts)
	if err != nil {
		return nil, err
	}
	jobs := n.jobs(phase, facts, found)
	c := &collection{node: n, phase: phase, facts: facts, found: found, each: each, got: make([]*Evidence, len(jobs)), total: len(jobs)}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, lane := range lanes(jobs) {
		group.Go(func() error {
			hung := false
			for _, j := range lane {
				if skip != nil && skip(j.name()) {
					continue
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				e, err := c.run(ctx, j, hung)
				if err != nil {
					return err
				}
				hung = hung || e.Ended == EndedTimeout
			}
			return nil
		})
	}
	err = group.Wait()
	return slices.DeleteFunc(c.got, func(e *Evidence) bool { return e == nil }), err
}

// jobs lists what to run in a phase on this node.
func (n *Node) jobs(phase Phase, facts *Facts, found *survey) []job {
	var jobs []job
	add := func(j job) {
		j.index = len(jobs)
		jobs = append(jobs, j)
	}
	for _, p := range n.Probes {
		command := ""
		if p.Command != nil {
			command = p.Command(n.profile())
		}
		if command == "" || !p.runsIn(phase) {
			continue
		}
		switch {
		case !facts.Has(p.Tool):
			add(job{probe: p, command: command, missing: true})
		case p.Instances == "":
			add(job{probe: p, command: command})
		}
		for _, instance := range found.instances[p.Name] {
			add(job{probe: p, instance: instance, command: "set -- " + shellQuote(instance) + "; " + command})
		}
	}
	return jobs
}

// lanes groups jobs that must not run at once.
func lanes(jobs []job) [][]job {
	var (
		all    [][]job
		family = map[string]int{}
	)
	for _, j := range jobs {
		at, ok := family[j.probe.Family]
		if j.probe.Family == "" || !ok {
			at = len(all)
			all = append(all, nil)
			if j.probe.Family != "" {
				family[j.probe.Family] = at
			}
		}
		all[at] = append(all[at], j)
	}
	return all
}

// collection is one phase being collected.
type collection struct {
	node  *Node
	phase Phase
	facts *Facts
	found *survey
	each  func(*Evidence) error
	total int

	mu   sync.Mutex
	got  []*Evidence
	done int
}

// run makes one evidence. The error is that of the transport or of each.
func (c *collection) run(ctx context.Context, j job, hung bool) (*Evidence, error) {
	e := &Evidence{
		Probe: j.probe.Name, Instance: j.instance, Phase: c.phase, Source: c.node.Origin, Command: j.command,
		BootID: c.facts.BootID, ToolVersion: c.found.versions[j.probe.Name], Simulated: c.facts.Simulated(),
		StandIn: c.facts.StandsIn(j.probe.Tool) || c.facts.StandsIn(j.probe.Name), Started: time.Now().UTC(), Ended: EndedNoTool,
	}
	var failed error
	if !j.missing {
		out, err := c.node.Shell.Run(ctx, Command{Line: Wrap(c.elevated(j)), Deadline: deadlineOf(j.probe, hung)})
		e.take(out)
		if err != nil && out.Ended != EndedTimeout && !errors.Is(err, errLostTwice) {
			failed = fmt.Errorf("%s: %w", e.Ref(), err)
		}
	}
	e.NodeClock = e.Started.Add(c.facts.skew).UTC().Format(time.RFC3339)
	e.Command = c.elevated(j)
	e.Seal()
	c.mu.Lock()
	c.got[j.index] = e
	c.done++
	done := c.done
	c.mu.Unlock()
	c.node.tell(Progress{Phase: c.phase, Doing: j.name(), Done: done, Total: c.total})
	c.node.log().DebugContext(ctx, "probe ended", "probe", e.Ref(), "ended", e.Ended, "seconds", e.Seconds)
	if failed != nil || c.each == nil {
		return e, failed
	}
	return e, c.each(e)
}

// elevated is the command as run: a probe that needs root gets it through sudo
// where that asks no password, and runs as it is where not, since most give less
// instead of nothing.
func (c *collection) elevated(j job) string {
	if !j.probe.Root || c.facts.UID == 0 || !c.facts.Has("sudo") {
		return j.command
	}
	quoted := shellQuote(j.command)
	return "if sudo -n true 2>/dev/null; then sudo -n env LC_ALL=C /bin/sh -c " + quoted + "; else /bin/sh -c " + quoted + "; fi"
}

func (e *Evidence) take(o Output) {
	e.Out, e.Err, e.Exit, e.Ended, e.Seconds = o.Out, o.Err, o.Exit, o.Ended, o.Seconds
	if !o.Started.IsZero() {
		e.Started = o.Started.UTC()
	}
}

func deadlineOf(p ProbeSpec, hung bool) time.Duration {
	d := p.Deadline
	if d <= 0 {
		d = probeDeadline
	}
	if hung && p.Family != "" {
		return min(d, afterHang)
	}
	return d
}
