package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/report"
	"github.com/rackproof/rackproof/profiles"
)

// judgeFlags are those of `rackproof judge`.
type judgeFlags struct {
	profile, spec string
	probes        []string
	failOn        failOn
}

// looseSpec is what loose files are judged by: nothing says that they are of new
// parts, so lifetime limits do not hold unless a spec is named.
const looseSpec = "site"

func judgeCommand(a *app) *cobra.Command {
	f := &judgeFlags{}
	cmd := &cobra.Command{
		Use:   "judge [--profile P] (DIR | FILE.tar.gz | --probe NAME=FILE …)",
		Short: "Judge stored evidence",
		Long: `Judge stored evidence: a folder, a tarball, or loose files. Nothing is contacted.
The same evidence, profile and spec give the same answer everywhere. A folder that
was judged before holds its profile and spec; --profile and --spec go over them.

Loose files can show a fault but never pass a machine: what else they would have
to show is listed as not run.

Example:
  rackproof judge r12u07.tar.gz
  rackproof judge --profile hgx-h100-8 --probe nvidia-smi=smi.xml --probe after/nvidia-smi=smi2.xml

` + failOnHelp + "\n\n" + exitHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.judge(f, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.profile, "profile", "", "`name` or file of the profile (default: the stored one)")
	flags.StringVar(&f.spec, "spec", "", "`name` or file of the acceptance spec (default: the stored one, else standard; of loose files "+looseSpec+")")
	f.failOn.flag(cmd)
	flags.StringArrayVar(&f.probes, "probe", nil, "[before/|load/|after/]`NAME[@INSTANCE]=FILE`; may be repeated")
	return cmd
}

func (a *app) judge(f *judgeFlags, args []string) error {
	rec, err := readEvidence(f, args)
	if err != nil {
		return err
	}
	if len(f.probes) > 0 {
		for _, err := range burnin.Unreadable(rec) {
			a.progress("%v", err)
		}
	}
	p, err := a.profileFor(f.profile, rec)
	if err != nil {
		return err
	}
	if f.spec == "" && rec.Meta.Coverage == burnin.CoverPartial {
		f.spec = looseSpec
	}
	s, err := a.specFor(f.spec, rec)
	if err != nil {
		return err
	}
	return a.printJudgement(burnin.Judge(rec, p, s), &f.failOn)
}

func readEvidence(f *judgeFlags, args []string) (*burnin.Record, error) {
	if (len(args) == 1) == (len(f.probes) > 0) {
		return nil, usageError(errors.New("want either a folder or tarball, or --probe"), "rackproof judge DIR, or rackproof judge --profile P --probe nvidia-smi=FILE")
	}
	if len(args) == 1 {
		rec, err := burnin.LoadRecord(args[0])
		if err != nil {
			return nil, usageError(err, "")
		}
		return rec, nil
	}
	rec, err := burnin.LooseRecord(f.probes)
	if err != nil {
		return nil, usageError(err, "")
	}
	known := knownProbes()
	for _, e := range rec.Evidence {
		if !slices.Contains(known, e.Probe) {
			next := "one of " + strings.Join(known, ", ")
			if near := profiles.Nearest(e.Probe, known); near != "" {
				next = "did you mean " + near + "?"
			}
			return nil, usageError(fmt.Errorf("--probe %s: no check reads such a probe", e.Probe), next)
		}
	}
	return rec, nil
}

// knownProbes are the names that a probe can have: those that are run, and those that
// checks read from elsewhere.
func knownProbes() []string {
	names := map[string]bool{}
	for _, p := range burnin.Probes() {
		names[p.Name] = true
	}
	for _, c := range burnin.Checks() {
		for _, p := range c.Probes {
			names[p] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// profileFor returns the profile that was named, else the stored one.
func (a *app) profileFor(name string, rec *burnin.Record) (*profiles.Profile, error) {
	lib := a.library()
	switch {
	case name != "":
		p, err := lib.Profile(name)
		if err != nil {
			return nil, usageError(err, "rackproof profile list")
		}
		rec.Machine.Guessed = false
		return p, nil
	case len(rec.Profile) == 0:
		return nil, usageError(errors.New("this evidence holds no profile"), "--profile "+strings.Join(lib.ProfileNames(), " | "))
	}
	p, err := profiles.ParseResolved(rec.Profile)
	if err != nil {
		return nil, usageError(fmt.Errorf("stored profile: %w", err), "--profile NAME")
	}
	return p, nil
}

// specFor returns the spec that was named, else the stored one, else standard.
func (a *app) specFor(name string, rec *burnin.Record) (*profiles.Spec, error) {
	if name == "" && len(rec.Spec) > 0 {
		s, err := profiles.ParseResolvedSpec(rec.Spec)
		if err != nil {
			return nil, usageError(fmt.Errorf("stored spec: %w", err), "--spec NAME")
		}
		return s, nil
	}
	if name == "" {
		name = "standard"
	}
	s, err := a.library().Spec(name)
	if err != nil {
		return nil, usageError(err, "rackproof profile list")
	}
	return s, nil
}

// printJudgement prints a judgement and ends with its exit code.
func (a *app) printJudgement(j burnin.Judgement, on *failOn) error {
	var err error
	if a.json {
		err = a.printJSON(j)
	} else {
		err = report.Text(a.stdout, &j)
	}
	if err != nil {
		return err
	}
	return exitWith(on.worst(j.Result.ExitCode()))
}
