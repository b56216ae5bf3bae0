package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

// errNothingLearned is the end of `profile learn` on nodes that the profile knows already.
var errNothingLearned = errors.New("these nodes teach nothing that the profile does not say already")

// learnFlags are those of `rackproof profile learn`.
type learnFlags struct {
	profile, spec, name, consent string
	spreads                      float64
	bad                          []string
}

func profileLearnCommand(a *app) *cobra.Command {
	f := &learnFlags{}
	cmd := &cobra.Command{
		Use:   "learn --name NAME DIR…",
		Short: "Propose limits from nodes known to be good",
		Long: `Propose a profile from the evidence of good nodes: floors are the median less
--spreads spreads (1.4826 times the median deviation), never above the lowest that
was measured, never below a limit that the profile states with a source. Counts are
learned where all nodes agree. Damage and wear teach nothing.

One delivery can be bad as a whole, so nodes of two orders are asked for, and four
nodes at least; --consent names who agrees to less, and why, and stands in the
source of every limit. What the proposal would have let pass is printed beside it,
and which of --bad it lets pass. The profile goes to stdout: read it, then keep it.

Example:
  rackproof profile learn --profile hgx-h100-8 --name ours-h100 runs/*/r12u*/1 > ours-h100.yaml

` + exitHelp,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.learn(f, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.profile, "profile", "", "`name` or file of the profile to extend (default: the one the first node was judged with)")
	flags.StringVar(&f.spec, "spec", "standard", "`name` or file of the acceptance spec that the nodes are judged with")
	flags.StringVar(&f.name, "name", "", "`name` of the profile proposed")
	flags.StringVar(&f.consent, "consent", "", "`who` agrees to learn of one delivery or of few nodes, and why")
	flags.Float64Var(&f.spreads, "spreads", 3, "how many `spreads` below the median a part may be")
	flags.StringArrayVar(&f.bad, "bad", nil, "evidence of a `node` known to be bad: is it let pass? May be repeated")
	_ = cmd.MarkFlagRequired("name")
	return cmd
}

func (a *app) learn(f *learnFlags, dirs []string) error {
	if f.spreads < 0 {
		return usageError(errors.New("--spreads must not be negative"), "--spreads 3")
	}
	nodes, err := loadRecords(dirs)
	if err != nil {
		return err
	}
	bad, err := loadRecords(f.bad)
	if err != nil {
		return err
	}
	base, err := a.profileFor(f.profile, nodes[0])
	if err != nil {
		return err
	}
	spec, err := a.specFor(f.spec, nodes[0])
	if err != nil {
		return err
	}
	found, err := burnin.Learn(nodes, burnin.Lesson{Base: base, Spec: spec, Spreads: f.spreads, Consent: f.consent})
	if err != nil {
		return usageError(err, "rackproof profile learn --help")
	}
	if len(found) == 0 {
		return usageError(errNothingLearned, "nothing to do")
	}
	limits := map[string]*profiles.Limit{}
	for _, one := range found {
		limits[one.Path] = one.Limit
	}
	extends := base.Name
	if f.profile != "" {
		extends = f.profile
	}
	text, err := profiles.Draft(f.name, base.Title+", as learned", extends, limits)
	if err != nil {
		return err
	}
	proposed, err := profiles.ParseProfile(f.name+".yaml", text, a.library())
	if err != nil {
		return profileError(err)
	}
	return a.printLesson(found, text, letPass(bad, base, proposed, spec))
}

func loadRecords(paths []string) ([]*burnin.Record, error) {
	out := make([]*burnin.Record, len(paths))
	for i, path := range paths {
		rec, err := burnin.LoadRecord(path)
		if err != nil {
			return nil, usageError(err, "name evidence folders or tarballs of nodes")
		}
		out[i] = rec
	}
	return out, nil
}

// letThrough is what becomes of a bad node under a proposal.
type letThrough struct {
	Machine string `json:"machine"`
	Was     string `json:"was"` // result by the profile extended
	Is      string `json:"is"`  // result by the proposal
}

func letPass(bad []*burnin.Record, base, proposed *profiles.Profile, spec *profiles.Spec) []letThrough {
	out := make([]letThrough, len(bad))
	for i, rec := range bad {
		was, is := burnin.Judge(rec, base, spec), burnin.Judge(rec, proposed, spec)
		out[i] = letThrough{Machine: rec.Machine.Name, Was: string(was.Result), Is: string(is.Result)}
	}
	return out
}

// lessonJSON is one learned limit.
type lessonJSON struct {
	Path   string  `json:"path"`
	Limit  string  `json:"limit"`
	Values int     `json:"values"`
	Lowest float64 `json:"lowest"`
	Median float64 `json:"median"`
	Spread float64 `json:"spread"`
	Slack  float64 `json:"slack_percent"`
}

func (a *app) printLesson(found []burnin.LearnedLimit, text []byte, bad []letThrough) error {
	if a.json {
		limits := make([]lessonJSON, len(found))
		for i, l := range found {
			limits[i] = lessonJSON{l.Path, l.Limit.String(), l.Values, l.Lowest, l.Median, l.Spread, l.Slack}
		}
		return a.printJSON(map[string]any{"profile": string(text), "limits": limits, "bad": bad})
	}
	for _, l := range found {
		words := fmt.Sprintf("%s %s %s", l.Path, l.Limit.Relation, l.Limit)
		if l.Limit.Relation == profiles.Min {
			words += fmt.Sprintf(": lets pass what is %.1f %% below the median of %.6g; the lowest seen is %.6g of %d", l.Slack, l.Median, l.Lowest, l.Values)
		}
		a.progress("%s", words)
	}
	for _, b := range bad {
		a.progress("bad node %s: %s as it is, %s as proposed", b.Machine, b.Was, b.Is)
	}
	a.printf("%s", text)
	return nil
}
