package burnin

import (
	"context"
	"time"
)

const (
	// atOnce is how many probes run at once on a node: enough that one which is slow
	// holds up no other, too few to disturb what is measured.
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
}

func (j job) name() string { return (&Evidence{Probe: j.probe.Name, Instance: j.instance}).Name() }

// collect runs the probes of a phase, without those that skip names. each, when
// not nil, is handed every evidence at once; its error ends the collection.
func (n *Node) collect(ctx context.Context, phase Phase, skip func(name string) bool, each func(*Evidence) error) ([]*Evidence, error) {
	c := &collection{node: n, phase: phase, skip: skip, each: each, got: map[string]*Evidence{}, lost: map[string]int{}}
	err := c.run(ctx)
	var all []*Evidence
	for _, j := range c.jobs {
		if e := c.got[j.name()]; e != nil {
			all = append(all, e)
		}
	}
	return all, err
}

// listJobs lists what to run in a phase on this node.
func (n *Node) listJobs(phase Phase, seen *bootSeen) []job {
	var jobs []job
	for _, p := range n.Probes {
		command := ""
		if p.Command != nil {
			command = p.Command(n.profile())
		}
		if command == "" || !p.runsIn(phase) {
			continue
		}
		switch {
		case !seen.facts.Has(p.Tool):
			jobs = append(jobs, job{probe: p, command: command, missing: true})
		case p.Instances == "":
			jobs = append(jobs, job{probe: p, command: command})
		}
		for _, instance := range seen.survey.instances[p.Name] {
			jobs = append(jobs, job{probe: p, instance: instance, command: "set -- " + shellQuote(instance) + "; " + command})
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

// elevated is the command as run: a probe that needs root gets it through sudo
// where that asks no password, and runs as it is where not, since most give less
// instead of nothing.
func (f *Facts) elevated(j job) string {
	if !j.probe.Root || f.UID == 0 || !f.Has("sudo") {
		return j.command
	}
	quoted := shellQuote(j.command)
	return "if sudo -n true 2>/dev/null; then sudo -n env LC_ALL=C /bin/sh -c " + quoted + "; else /bin/sh -c " + quoted + "; fi"
}

// phaseJobs is how the node is told of jobs. A family of which one has hung is short of
// time also where the connection was lost in between.
func phaseJobs(jobs []job, f *Facts, hung map[string]bool) []PhaseJob {
	var all []PhaseJob
	for i, lane := range lanes(jobs) {
		for _, j := range lane {
			p := PhaseJob{Name: j.name(), Lane: i, Command: Wrap(f.elevated(j)), Deadline: deadlineOf(j.probe)}
			p.AfterHang = min(p.Deadline, afterHang)
			if hung[j.probe.Family] {
				p.Deadline = p.AfterHang
			}
			all = append(all, p)
		}
	}
	return all
}

func deadlineOf(p ProbeSpec) time.Duration {
	if p.Deadline <= 0 {
		return probeDeadline
	}
	return p.Deadline
}
