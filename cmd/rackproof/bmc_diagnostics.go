package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/redfish"
)

const diagnosticsLong = `List what the BMC can collect for its vendor's support, or collect it: with "collect"
all that is usual, or what is named. Each becomes a file in the folder of --out. A
collection takes minutes; its progress is told. The files are the vendor's and hold what
the vendor likes: serials, addresses, names. Nothing is taken out.

Examples:
  rackproof bmc 10.0.12.7 diagnostics
  rackproof bmc 10.0.12.7 diagnostics collect --out case-4711
  rackproof bmc 10.0.12.7 diagnostics collect ffdc --for 20m --max-mib 200

`

// collecting are the flags of `bmc diagnostics collect`.
type collecting struct {
	out   string
	limit time.Duration
	mib   int64
}

func (a *app) bmcDiagnostics(o *bmcOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diagnostics",
		Short: "List or collect what the vendor's support wants",
		Long:  diagnosticsLong + exitHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withRedfish(cmd.Context(), o, false, func(c *redfish.Client) error {
				list, err := c.Diagnostics(cmd.Context())
				if err != nil {
					return err
				}
				return a.printDiagnostics(list)
			})
		},
	}
	var with collecting
	collect := &cobra.Command{
		Use:   "collect [NAME…]",
		Short: "Collect all that is usual, or what is named",
		Long:  diagnosticsLong + exitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if with.limit <= 0 || with.mib <= 0 {
				return usageError(errors.New("--for and --max-mib must be more than nothing"), "rackproof bmc ADDR diagnostics collect --help")
			}
			o.silent = true // it tells more than that it waits
			return a.withRedfish(cmd.Context(), o, true, func(c *redfish.Client) error { return a.collectDiagnostics(cmd.Context(), c, args, with) })
		},
	}
	f := collect.Flags()
	f.StringVar(&with.out, "out", ".", "`folder` for the files")
	f.DurationVar(&with.limit, "for", 30*time.Minute, "give up a collection after this `time`")
	f.Int64Var(&with.mib, "max-mib", 512, "take no file larger than so many `MiB`")
	cmd.AddCommand(collect)
	return cmd
}

func (a *app) printDiagnostics(list []redfish.Diagnostic) error {
	if a.json {
		return a.printJSON(map[string]any{"diagnostics": append([]redfish.Diagnostic{}, list...)})
	}
	if len(list) == 0 {
		a.printf("this BMC offers none that is known\n")
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, d := range list {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", d.Name, map[bool]string{true: "usual", false: "if named"}[d.Usual], d.Known, d.What)
	}
	return w.Flush()
}

// collected is one line of `bmc diagnostics collect --json`.
type collected struct {
	Path string `json:"path"`
	redfish.DiagnosticFile
}

// wantedDiagnostics are those that are named, or all that are usual.
func wantedDiagnostics(list []redfish.Diagnostic, named []string) ([]string, error) {
	var known, usual []string
	for _, d := range list {
		known = append(known, d.Name)
		if d.Usual {
			usual = append(usual, d.Name)
		}
	}
	for _, n := range named {
		if len(known) > 0 && !slices.Contains(known, n) {
			return nil, fmt.Errorf("diagnostics %q: %w: the BMC offers %s", n, redfish.ErrBadValue, strings.Join(known, ", "))
		}
	}
	if len(named) == 0 {
		named = usual
	}
	if len(known) == 0 || len(named) == 0 {
		return nil, fmt.Errorf("diagnostics: %w", redfish.ErrUnsupported)
	}
	return named, nil
}

// collectDiagnostics collects one after the other; one that fails keeps none of the
// others.
func (a *app) collectDiagnostics(ctx context.Context, c *redfish.Client, names []string, with collecting) error {
	list, err := c.Diagnostics(ctx)
	if err != nil {
		return err
	}
	if names, err = wantedDiagnostics(list, names); err != nil {
		return err
	}
	if err := os.MkdirAll(with.out, 0o700); err != nil {
		return usageError(fmt.Errorf("--out: %w", err), "name a folder that can be written")
	}
	files := []collected{}
	var failed []error
	for _, n := range names {
		f, err := a.collectDiagnostic(ctx, c, n, with)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		files = append(files, f)
		if !a.json {
			a.printf("%s  %d bytes  sha256 %s\n", f.Path, f.Bytes, f.SHA256)
		}
	}
	if len(files) == 0 || ctx.Err() != nil {
		return errors.Join(failed...)
	}
	if a.json {
		if err := a.printJSON(map[string]any{"files": files}); err != nil {
			return err
		}
	}
	for _, err := range failed {
		a.progress("not collected: %v", err)
	}
	if len(failed) > 0 {
		return exitWith(exitIncomplete)
	}
	return nil
}

// collectDiagnostic puts one file in its place when it is whole.
func (a *app) collectDiagnostic(ctx context.Context, c *redfish.Client, name string, with collecting) (_ collected, err error) {
	ctx, cancel := context.WithTimeout(ctx, with.limit)
	defer cancel()
	f, err := os.CreateTemp(with.out, ".rackproof-diagnostics-*")
	if err != nil {
		return collected{}, fmt.Errorf("--out: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	last := time.Now().Add(-waitWord)
	got, err := c.CollectDiagnostic(ctx, name, f, redfish.CollectOptions{MaxBytes: with.mib << 20, Progress: func(text string) {
		if time.Since(last) >= waitWord {
			last = time.Now()
			a.progress("%s: %s", name, text)
		}
	}})
	if err := errors.Join(err, f.Close()); err != nil {
		return collected{}, err
	}
	file := got.File
	if !strings.Contains(file, name) {
		file = name + "-" + file
	}
	path := filepath.Join(with.out, file)
	if _, err := os.Lstat(path); err == nil {
		path = filepath.Join(with.out, time.Now().UTC().Format("20060102-150405-")+file)
	}
	return collected{path, got}, os.Rename(f.Name(), path)
}
