package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/profiles"
)

func profileDiffCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "diff A B",
		Short: "Compare the limits of two profiles",
		Long: "Compare two profiles, names or files: every limit that the second one has otherwise,\n" +
			"and who states it. Profiles that ask the same print nothing.\n\n" +
			"Example:\n  rackproof profile diff hgx-h100-8 dgx-h100\n\n" + exitHelp,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			var both [2]*profiles.Profile
			for i, name := range args {
				p, _, err := findProfile(a.library(), name)
				if err == nil && p == nil {
					err = usageError(fmt.Errorf("%s is an acceptance spec", name), "compare two profiles of `rackproof profile list`")
				}
				if err != nil {
					return profileError(err)
				}
				both[i] = p
			}
			return a.printDifferences(both[0].Diff(both[1]))
		},
	}
}

// differenceJSON is one line of `profile diff --json`.
type differenceJSON struct {
	Path string     `json:"path"`
	Was  *limitJSON `json:"was"`
	Is   *limitJSON `json:"is"`
}

type limitJSON struct {
	Relation   string `json:"relation"`
	Limit      string `json:"limit"`
	Provenance string `json:"provenance,omitempty"`
	Source     string `json:"source,omitempty"`
}

func (a *app) printDifferences(found []profiles.Difference) error {
	if a.json {
		out := make([]differenceJSON, len(found))
		for i, d := range found {
			out[i] = differenceJSON{Path: d.Path, Was: sideJSON(d.Was, d.WasNote), Is: sideJSON(d.Is, d.IsNote)}
		}
		return a.printJSON(map[string]any{"differences": out})
	}
	if len(found) == 0 {
		return nil
	}
	return a.table(func(row func(...any)) {
		row("LIMIT", "WAS", "IS", "SOURCE")
		for _, d := range found {
			source := ""
			if d.Is != nil {
				source = fmt.Sprintf("%s, %s", d.Is.Provenance, d.Is.Source)
			}
			row(d.Path, side(d.Was, d.WasNote), side(d.Is, d.IsNote), source)
		}
	})
}

func side(l *profiles.Limit, note string) string {
	switch {
	case l != nil:
		return fmt.Sprintf("%s %s", l.Relation, l)
	case note != "":
		return "not applicable"
	default:
		return "-"
	}
}

func sideJSON(l *profiles.Limit, note string) *limitJSON {
	switch {
	case l != nil:
		return &limitJSON{Relation: string(l.Relation), Limit: l.String(), Provenance: string(l.Provenance), Source: l.Source}
	case note != "":
		return &limitJSON{Relation: "not_applicable", Limit: note}
	default:
		return nil
	}
}
