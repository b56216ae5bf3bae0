package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/burnin/report"
)

func reportCommand(a *app) *cobra.Command {
	var formats []string
	var out string
	cmd := &cobra.Command{
		Use:   "report (RUN | DIR | FILE.tar.gz)",
		Short: "Render the test record of a run or of stored evidence",
		Long: `Render the test record of a run or of stored evidence: one page per machine, and
one over all of them. Everything on it comes from the evidence folder, which is
judged again with the profile and spec that stand in it.

Example:
  rackproof report po4711-r12 --out reports
  rackproof report ./r12u07.tar.gz --format json --out .

` + exitHelp,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			for _, f := range formats {
				if f != "html" && f != "json" {
					return usageError(fmt.Errorf("--format %s: this version writes html and json", f), "--format html,json")
				}
			}
			path, err := a.evidencePath(args[0])
			if err != nil {
				return err
			}
			return a.renderReport(args[0], path, out, formats)
		},
	}
	cmd.Flags().StringSliceVar(&formats, "format", []string{"html", "json"}, "`list` of html, json")
	cmd.Flags().StringVar(&out, "out", "reports", "`folder` to write to")
	return cmd
}

func (a *app) renderReport(name, path, out string, formats []string) error {
	ms, err := report.Folder(path)
	if err != nil {
		return usageError(err, "name a run of `rackproof status`, or an evidence folder or tarball")
	}
	batch := strings.TrimSuffix(filepath.Base(name), ".tar.gz")
	written, err := report.Write(out, batch, "", ms, formats)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"written": written})
	}
	for _, w := range written {
		a.printf("%s\n", w)
	}
	return nil
}

// evidencePath finds what the caller named: a path as it is, else a run of the
// state folder.
func (a *app) evidencePath(name string) (string, error) {
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	state, err := a.state()
	if err != nil {
		return "", err
	}
	path := filepath.Join(state, "runs", filepath.Base(name))
	if _, err := os.Stat(path); err != nil {
		return "", usageError(fmt.Errorf("%s is neither a folder, a tarball, nor a run of %s", name, state), "rackproof status")
	}
	return path, nil
}
