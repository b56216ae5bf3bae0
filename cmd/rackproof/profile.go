package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/profiles"
)

// profileCommand is `rackproof profile`: the library of profiles and acceptance specs.
func profileCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profile",
		Short: "Hardware profiles and acceptance specs",
		Long: "A profile says what a healthy model of machine looks like, an acceptance spec what\n" +
			"was agreed to be proven. Your own lie in a folder given with --profiles.\n\n" +
			"Example:\n  rackproof profile show hgx-h100-8\n\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(profileListCommand(a), profileShowCommand(a), profileCheckCommand(a), profileLearnCommand(a), profileDiffCommand(a), profileSchemaCommand(a))
	return cmd
}

// listed is one line of `profile list`.
type listed struct {
	Name   string `json:"name"`
	Title  string `json:"title"`
	SHA256 string `json:"sha256"`
}

func profileListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List profiles, parts and specs",
		Long: "List profiles of machines, the parts that a profile of your own can extend, and\n" +
			"acceptance specs, with their titles.\n\nExample:\n  rackproof profile list --json\n\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			lib := a.library()
			found := struct {
				Profiles []listed `json:"profiles"`
				Parts    []listed `json:"parts"`
				Specs    []listed `json:"specs"`
			}{}
			for _, kind := range []struct {
				names []string
				into  *[]listed
			}{{lib.ProfileNames(), &found.Profiles}, {lib.PartNames(), &found.Parts}} {
				for _, name := range kind.names {
					p, err := lib.Profile(name)
					if err != nil {
						return profileError(err)
					}
					*kind.into = append(*kind.into, listed{p.Name, p.Title, p.SHA256()})
				}
			}
			for _, name := range lib.SpecNames() {
				s, err := lib.Spec(name)
				if err != nil {
					return profileError(err)
				}
				found.Specs = append(found.Specs, listed{s.Name, s.Title, s.SHA256()})
			}
			if a.json {
				return a.printJSON(found)
			}
			return a.table(func(row func(...any)) {
				row("PROFILE", "")
				for _, p := range found.Profiles {
					row(p.Name, p.Title)
				}
				row()
				row("PART", "")
				for _, p := range found.Parts {
					row(p.Name, p.Title)
				}
				row()
				row("SPEC", "")
				for _, s := range found.Specs {
					row(s.Name, s.Title)
				}
			})
		},
	}
}

func profileShowCommand(a *app) *cobra.Command {
	var resolved bool
	cmd := &cobra.Command{
		Use:   "show NAME|FILE",
		Short: "Show the limits of a profile with their sources, or the scopes of a spec",
		Long: "Show every limit of a profile with who states it, or what an acceptance spec\n" +
			"requires. With --resolved, print the whole YAML that machines are judged with.\n\n" +
			"Example:\n  rackproof profile show hgx-h100-8\n  rackproof profile show standard\n\n" + exitHelp,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, s, err := findProfile(a.library(), args[0])
			switch {
			case err != nil:
				return profileError(err)
			case p != nil && resolved && !a.json:
				a.printf("%s", p.Bytes())
				return nil
			case p != nil && !a.json:
				return a.showLimits(p)
			case p != nil:
				return a.printJSON(map[string]any{"name": p.Name, "sha256": p.SHA256(), "profile": p})
			case a.json:
				return a.printJSON(map[string]any{"name": s.Name, "sha256": s.SHA256(), "spec": s})
			default:
				a.printf("%s", s.Bytes())
				return nil
			}
		},
	}
	cmd.Flags().BoolVar(&resolved, "resolved", false, "the whole resolved YAML, with advice and catalogues")
	return cmd
}

// findProfile gives the profile or spec in the file of that name, else the profile called so, else the spec.
func findProfile(lib *profiles.Library, name string) (*profiles.Profile, *profiles.Spec, error) {
	if ext := filepath.Ext(name); ext == ".yaml" || ext == ".yml" {
		return lib.Load(name)
	}
	p, err := lib.Profile(name)
	if !errors.As(err, new(*profiles.UnknownError)) {
		return p, nil, err
	}
	s, specErr := lib.Spec(name)
	if errors.As(specErr, new(*profiles.UnknownError)) {
		return nil, nil, err
	}
	return nil, s, specErr
}

func (a *app) showLimits(p *profiles.Profile) error {
	a.printf("%s: %s\nsha256 %s\n", p.Name, p.Title, p.SHA256())
	if p.NVLink.Headline != "" {
		a.printf("NVLink: %s\n", p.NVLink.Headline)
	}
	for _, check := range slices.Sorted(maps.Keys(p.Checks)) {
		a.printf("not applicable: %s, %s\n", check, p.Checks[check].NotApplicable)
	}
	a.printf("\n")
	return a.table(func(row func(...any)) {
		row("LIMIT", "", "", "FROM", "SOURCE")
		for path, l := range p.Limits() {
			row(path, l.Relation, shortLimit(l), l.Provenance, l.Source)
		}
	})
}

func profileCheckCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Check a profile or spec of your own",
		Long: "Check a profile or spec: units, keys, and who states each limit. Every mistake is\n" +
			"told with file, line and column.\n\nExample:\n  rackproof profile check ours.yaml\n\n" + exitHelp,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, s, err := a.library().Load(args[0])
			if err != nil {
				return profileError(err)
			}
			kind, name, sum := "profile", "", ""
			if p != nil {
				name, sum = p.Name, p.SHA256()
			} else {
				kind, name, sum = "spec", s.Name, s.SHA256()
			}
			if a.json {
				return a.printJSON(map[string]string{"file": args[0], "kind": kind, "name": name, "sha256": sum})
			}
			a.printf("%s: %s %s is valid, sha256 %s\n", args[0], kind, name, sum)
			return nil
		},
	}
}

func profileSchemaCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:       "schema [profile|spec]",
		Short:     "Print the JSON Schema, for editors",
		Long:      "Print the JSON Schema of profiles (default) or specs; editors complete and check with it.\n\nExample:\n  rackproof profile schema > profile.schema.json\n\n" + exitHelp,
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"profile", "spec"},
		RunE: func(_ *cobra.Command, args []string) error {
			write := a.library().ProfileJSONSchema
			if len(args) == 1 && args[0] == "spec" {
				write = a.library().SpecJSONSchema
			}
			schema, err := write()
			if err != nil {
				return profileError(err)
			}
			a.printf("%s", schema)
			return nil
		},
	}
}

// table prints rows in aligned columns.
func (a *app) table(rows func(row func(...any))) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	rows(func(cells ...any) {
		for i, cell := range cells {
			if i > 0 {
				_, _ = fmt.Fprint(w, "\t")
			}
			_, _ = fmt.Fprint(w, cell)
		}
		_, _ = fmt.Fprintln(w)
	})
	return w.Flush()
}

// profileError makes mistakes in a file and names that do not exist usage errors: nothing was contacted.
func profileError(err error) error {
	var problems profiles.Problems
	var unknown *profiles.UnknownError
	switch {
	case errors.As(err, &problems):
		return usageError(err, "correct the file; `rackproof profile schema` describes every key")
	case errors.As(err, &unknown):
		return usageError(err, "rackproof profile list")
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return usageError(err, "name a profile of `rackproof profile list`, or a file that can be read")
	default:
		return err
	}
}

// shortLimit is a limit as a column holds it: of many words the first, and how many there are.
func shortLimit(l *profiles.Limit) string {
	if len(l.Text) > 3 {
		return fmt.Sprintf("%s or %d others", l.Text[0], len(l.Text)-1)
	}
	return l.String()
}
