package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision"
)

// burninFlags are those of `rackproof burnin`.
type burninFlags struct {
	node          nodeFlags
	profile, spec string
	duration      time.Duration
	deadMan       time.Duration
	only          []string
	writeDisks    []string
	migTest       bool
	peer          peerFlags
	out           string
	reboots       int
	release       bool
	failOn        failOn
}

func burninCommand(a *app) *cobra.Command {
	f := &burninFlags{}
	cmd := &cobra.Command{
		Use:   "burnin (-H user@host | --local)",
		Short: "Burn in one machine that is up, and judge it",
		Long: `Burn in one machine that is up: measure it idle, load it, measure it again, and
judge that against a profile. The load runs on the machine itself: when the
connection is lost or rackproof is killed, the same command again picks it up;
when nobody does for two minutes, the machine ends it.

Without --profile the best match is proposed and named, but then the machine
cannot pass: what it should be must be known from elsewhere.

With --reboots the machine is then restarted so often by its own system, and what is
there is counted behind each start: some links come up only sometimes.

Example:
  rackproof burnin -H root@10.0.13.7 --profile hgx-h100-8 --duration 10m --out r12u07
  rackproof burnin --local --only nvme --duration 2m
  rackproof burnin -H root@10.0.13.7 --peer root@10.0.13.8 --profile hgx-h100-8

` + failOnHelp + "\n\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.node.check(); err != nil {
				return err
			}
			if f.reboots < 0 || f.reboots > 0 && f.node.local {
				return usageError(errors.New("--reboots restarts the machine under test, and with --local that is this one"), "run it from another machine with -H user@host --reboots 3")
			}
			if f.release {
				return a.releaseNode(cmd.Context(), f)
			}
			return a.burnin(cmd.Context(), f)
		},
	}
	f.node.add(cmd)
	f.failOn.flag(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.profile, "profile", "", "`name` or file of the profile to judge against")
	flags.StringVar(&f.spec, "spec", "standard", "`name` or file of the acceptance spec")
	flags.DurationVar(&f.duration, "duration", 10*time.Minute, "how long to load the machine; 0 only looks")
	flags.StringSliceVar(&f.only, "only", nil, "`list` of cpu, memory, gpu, nvme, pcie: measure and load only these")
	flags.StringSliceVar(&f.writeDisks, "write-disks", nil, "`serials` of NVMe drives that may be written over, if they are empty; the spec must ask for it (loads: {nvme: write})")
	flags.BoolVar(&f.migTest, "mig-test", false, "at the end cut every GPU into the profile's MIG instances, and put it back or leave it as the profile says (gpu.mig_leave)")
	flags.IntVar(&f.reboots, "reboots", 0, "`how often` to restart the machine behind the load")
	flags.DurationVar(&f.deadMan, "dead-man", 15*time.Minute, "the machine ends its load when it has heard nothing of us for so long")
	f.peer.add(cmd)
	flags.StringVar(&f.out, "out", "", "evidence `folder` (default: in the state folder)")
	flags.BoolVar(&f.release, "release", false, "free the machine of a dead run and end")
	return cmd
}

func (a *app) releaseNode(ctx context.Context, f *burninFlags) error {
	sh, _, err := f.node.open(ctx, a.log, nil)
	if err != nil {
		return err
	}
	defer func() { _ = sh.Close() }()
	freed, err := burnin.ReleaseNode(ctx, sh, "", "")
	if err != nil {
		return nodeError(f.node.name(), err)
	}
	if a.json {
		return a.printJSON(map[string]string{"machine": f.node.name(), "released": freed})
	}
	if freed == "" {
		a.printf("%s: nothing to release\n", f.node.name())
		return nil
	}
	a.printf("%s: released %s\n", f.node.name(), freed)
	return nil
}

// times refuses those that nobody can mean.
func (f *burninFlags) times() error {
	switch {
	case f.deadMan < time.Minute:
		return usageError(fmt.Errorf("--dead-man %s would end the load at the next hiccup of the network", f.deadMan), "--dead-man 15m")
	case f.duration < 0:
		return usageError(fmt.Errorf("--duration %s is negative", f.duration), "--duration 10m")
	}
	return nil
}

// named is the profile that a person gave, nil where it is to be guessed.
func (f *burninFlags) named(lib *profiles.Library) (*profiles.Profile, error) {
	if f.profile == "" {
		return nil, nil
	}
	p, err := lib.Profile(f.profile)
	if err != nil {
		return nil, usageError(err, "rackproof profile list")
	}
	return p, nil
}

// migAsked refuses a trial of instances that the profile does not describe.
func (f *burninFlags) migAsked(p *profiles.Profile) error {
	if !f.migTest || p.GPU.MIGLeave != "" {
		return nil
	}
	return usageError(fmt.Errorf("--mig-test: profile %s does not say which instances are made and how they are left", p.Name), "a profile with gpu: {mig_layout: 7x 1g.10gb, mig_leave: removed}, or leave --mig-test out")
}

func (a *app) burnin(ctx context.Context, f *burninFlags) error {
	probes, loads, err := selectOnly(f.only)
	if err != nil {
		return err
	}
	if err := f.times(); err != nil {
		return err
	}
	lib := a.library()
	spec, err := lib.Spec(f.spec)
	if err != nil {
		return usageError(err, "rackproof profile list")
	}
	if loads, err = f.loadsFor(loads, spec); err != nil {
		return err
	}
	p, err := f.named(lib)
	if err != nil {
		return err
	}
	store, meta, err := a.attempt(f)
	if err != nil {
		return err
	}
	sh, origin, err := f.node.open(ctx, a.log, func(s string) { a.progress("%s", s) })
	if err != nil {
		return err
	}
	defer func() { _ = sh.Close() }()
	node := &burnin.Node{Shell: sh, Origin: origin, Probes: probes, Log: a.log, Progress: a.burninProgress().show}
	facts, err := node.Facts(ctx, loadTools(loads)...)
	if err != nil {
		return nodeError(f.node.name(), err)
	}
	guessed := p == nil
	if guessed {
		if p, err = a.propose(lib, facts); err != nil {
			return err
		}
	}
	node.Profile = p
	if err := f.migAsked(p); err != nil {
		return err
	}
	a.progress("%s: %s", f.node.name(), burnin.Notice(facts, loads, p, f.duration, spec.OnFail)+burnin.RebootNotice(f.reboots-len(meta.Boots)))
	claim := burnin.Claim{Run: meta.Run, Attempt: meta.Attempt, Owner: provision.Operator()}
	pair, err := a.pair(ctx, f, burnin.Pair{Node: sh, Origin: origin, Profile: p, Claim: claim, Store: store})
	if err != nil {
		return err
	}
	defer pair.close()
	a.progress("evidence: %s", store.Dir())
	o := burnin.BurnOptions{
		Node: node, Sources: []burnin.Source{&pair.Pair}, Store: store, Machine: burnin.Machine{Name: f.node.name(), Guessed: guessed}, Spec: spec.Bytes(),
		Run: meta.Run, Attempt: meta.Attempt, Owner: provision.Operator(), Rackproof: versionString(),
		Duration: f.duration, DeadMan: f.deadMan, Soak: spec.Soak, OnFail: spec.OnFail, Reboots: f.reboots, Loads: loads, Resume: true, Log: a.log,
	}
	if err := burnAndReboot(ctx, o, !meta.Ended.IsZero()); err != nil {
		return nodeError(f.node.name(), err)
	}
	rec, err := store.Record()
	if err != nil {
		return err
	}
	return a.printJudgement(burnin.Judge(rec, p, spec), &f.failOn)
}

// burnAndReboot burns in, where that is not done yet, and then makes the restarts.
func burnAndReboot(ctx context.Context, o burnin.BurnOptions, burned bool) error {
	if !burned {
		if err := burnin.Burn(ctx, o); err != nil {
			return err
		}
	}
	if o.Reboots == 0 {
		return nil
	}
	return burnin.Reboots(ctx, o)
}

// loadsFor are the loads that the spec asks for; it must ask for writes too where disks
// are named for them.
func (f *burninFlags) loadsFor(loads []burnin.Load, spec *profiles.Spec) ([]burnin.Load, error) {
	if len(f.writeDisks) > 0 && spec.Loads.NVMe != profiles.NVMeWrite {
		return nil, usageError(fmt.Errorf("--write-disks: spec %s does not ask for writes", spec.Name), "a spec with loads: {nvme: write}, or leave --write-disks out")
	}
	return burnin.LoadsFor(loads, spec, burnin.Consent{Disks: f.writeDisks, MIG: f.migTest}), nil
}

// propose names the best match of a machine for which no profile was given.
func (a *app) propose(lib *profiles.Library, facts *burnin.Facts) (*profiles.Profile, error) {
	name, why, ok := lib.Propose(profiles.Seen{Product: facts.Product, Board: facts.Board, GPUs: facts.GPUIDs})
	if !ok {
		return nil, usageError(errors.New(why), "--profile "+strings.Join(lib.ProfileNames(), " | "))
	}
	a.progress("profile %s proposed (%s); it is a guess, so the machine cannot pass: name it with --profile %s", name, why, name)
	return lib.Profile(name)
}

func loadTools(loads []burnin.Load) []string {
	tools := make([]string, 0, len(loads))
	for _, l := range loads {
		tools = append(tools, l.Tool)
	}
	return tools
}

var notFolder = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// attempt opens the evidence folder: that of an attempt which did not end, to go
// on with it, else a new one. Its run name is kept in it.
func (a *app) attempt(f *burninFlags) (*burnin.Store, burnin.Meta, error) {
	if f.out != "" {
		return openAttempt(f.out, 1, f.reboots, "name another with --out, or judge this one: rackproof judge "+f.out)
	}
	state, err := a.state()
	if err != nil {
		return nil, burnin.Meta{}, err
	}
	host := notFolder.ReplaceAllString(f.node.name(), "_")
	for n := 1; ; n++ {
		store, meta, err := openAttempt(filepath.Join(state, "burnin", host, fmt.Sprint(n)), n, f.reboots, "")
		if !errors.Is(err, errFinished) {
			return store, meta, err
		}
	}
}

var errFinished = errors.New("holds a finished record")

// openAttempt opens the folder of an attempt. One that is only owed restarts is gone on with
// by who asks for them.
func openAttempt(dir string, n, reboots int, next string) (*burnin.Store, burnin.Meta, error) {
	store, err := burnin.OpenStore(dir)
	if err != nil {
		return nil, burnin.Meta{}, usageError(err, "name a folder that can be written with --out")
	}
	meta, there, err := store.Meta()
	switch {
	case err != nil:
		return nil, meta, usageError(fmt.Errorf("%s: %w", dir, err), next)
	case !there:
		if err := emptyFolder(dir); err != nil {
			return nil, meta, usageError(err, "name an empty folder with --out")
		}
		return store, burnin.Meta{Run: "burnin-" + strings.ToLower(rand.Text()[:8]), Attempt: n}, nil
	case !meta.Ended.IsZero() && (reboots == 0 || len(meta.Boots) >= meta.Reboots):
		return nil, meta, usageError(fmt.Errorf("%s %w", dir, errFinished), next)
	}
	return store, meta, nil
}

// emptyFolder refuses a folder that holds something else.
func emptyFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s holds other files (%s …)", dir, entries[0].Name())
	}
	return nil
}
